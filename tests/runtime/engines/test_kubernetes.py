"""Clusters of the Dask operator: their addresses, and making one, against a stand-in for the API.

The stand-in is a server on loopback that keeps DaskClusters; a scheduler that runs already takes
the place of what the operator would start.
"""

import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import dask
import pytest
import yaml
from distributed import LocalCluster

from support.servers.clusters import ROOT
from tclose.errors import ClusterError, PolicyError, UnreachableError
from tclose.policy.sections.engine_settings import EngineSettings, KubernetesSettings
from tclose.runtime.engines import kubernetes, scheduler
from tclose.runtime.engines.engine import connect, local_address
from tclose.runtime.engines.scheduler import check_scheduler

pytestmark = pytest.mark.usefixtures("small_regions")

MANIFEST = ROOT / "deploy" / "kubernetes" / "dask-cluster.yaml"
CLUSTERS = "/apis/kubernetes.dask.org/v1/namespaces/night/daskclusters"


def settings_of(**keys: Any) -> EngineSettings:
    keys = {"cluster": "tclose", "namespace": "night"} | keys
    return EngineSettings(scheduler="kubernetes", kubernetes=KubernetesSettings(**keys))


class Api(http.server.BaseHTTPRequestHandler):
    """As much of Kubernetes' API as keeps DaskClusters."""

    kept: ClassVar[dict[str, Any]] = {}
    seen: ClassVar[list[Any]] = []
    allowed: ClassVar[bool] = True

    def answer(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        if self.path.startswith("/version"):
            self.answer(200, {"major": "1", "minor": "32", "gitVersion": "v1.32.0"})
        else:
            self.answer(404, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed or not self.path.startswith(CLUSTERS):
            self.answer(403, {"kind": "Status", "message": "is forbidden", "code": 403})
            return
        self.kept[body["metadata"]["name"]] = body
        self.seen.append(body)
        self.answer(201, body)

    def do_DELETE(self) -> None:
        name = self.path.partition("?")[0].rpartition("/")[2]
        self.answer(200, self.kept.pop(name))

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Api]]:
    pytest.importorskip("kr8s")
    Api.kept, Api.seen, Api.allowed = {}, [], True
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        named = {"name": "here", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
        context = {"name": "here", "context": {"cluster": "here", "user": "here"}}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [named],
            "users": [{"name": "here", "user": {"token": "t"}}],
            "contexts": [context],
            "current-context": "here",
        }
        (tmp_path / "config").write_text(yaml.safe_dump(config))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        yield Api
        server.shutdown()
        thread.join()


@pytest.fixture
def operated(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names of services that were asked for; each leads to a scheduler that runs already."""
    asked: list[str] = []
    with LocalCluster(
        n_workers=1,
        processes=False,
        host="127.0.0.1",
        protocol="tcp",
        dashboard_address="127.0.0.1:0",
    ) as cluster:

        def address(settings: Any, protocol: str) -> str:
            asked.append(real(settings, protocol))
            return cluster.scheduler_address

        real = kubernetes.service_address
        monkeypatch.setattr(kubernetes, "service_address", address)
        yield asked


def test_service_is_named_as_the_operator_names_it() -> None:
    settings = settings_of(port=9000).kubernetes
    assert kubernetes.service_address(settings, "tls") == "tls://tclose-scheduler.night:9000"


def test_standing_cluster_is_reached_without_kubernetes_being_asked(
    operated: list[str],
) -> None:
    settings = settings_of()
    check_scheduler(settings)
    with local_address(settings, 0) as address, connect(address) as engine:
        assert list(engine.run(abs, [-3])) == [(0, 3)]
    assert set(operated) == {"tcp://tclose-scheduler.night:8786"}


def test_protocol_is_that_of_the_certificates(operated: list[str]) -> None:
    with (
        dask.config.set({"distributed.comm.tls.ca-file": "ca.pem"}),
        local_address(settings_of(), 0),
    ):
        pass
    assert operated == ["tls://tclose-scheduler.night:8786"]


def test_standing_cluster_that_is_not_there(answer_within: Callable[[float], None]) -> None:
    answer_within(0.5)
    settings = settings_of(cluster="absent", namespace="invalid")
    with pytest.raises(UnreachableError, match=r"tcp://absent-scheduler\.invalid:8786: no Dask"):
        check_scheduler(settings)


class TestClusterOfARun:
    def test_is_made_from_the_manifest_and_removed(
        self, api: type[Api], operated: list[str]
    ) -> None:
        settings = settings_of(manifest=str(MANIFEST)).model_copy(update={"workers": 5})
        check_scheduler(settings)
        assert api.seen == []
        with local_address(settings, 0) as address, connect(address) as engine:
            assert list(engine.run(abs, [-3])) == [(0, 3)]
            [name] = api.kept
        assert api.kept == {}

        [made] = api.seen
        assert name.startswith("tclose-")
        assert operated == [f"tcp://{name}-scheduler.night:8786"]
        written = yaml.safe_load(MANIFEST.read_text())
        assert made["metadata"]["namespace"] == "night"
        assert made["spec"]["worker"]["replicas"] == 5
        selector = made["spec"]["scheduler"]["service"]["selector"]
        assert selector["dask.org/cluster-name"] == name
        assert made["spec"]["worker"]["spec"] == written["spec"]["worker"]["spec"]
        assert made["spec"]["scheduler"]["spec"] == written["spec"]["scheduler"]["spec"]

    def test_is_removed_after_a_failure_too(self, api: type[Api], operated: list[str]) -> None:
        settings = settings_of(manifest=str(MANIFEST))
        with contextlib.suppress(KeyError), local_address(settings, 0):
            assert len(api.kept) == 1
            raise KeyError
        assert len(api.seen) == 1
        assert api.kept == {}

    def test_is_removed_when_its_scheduler_never_answers(
        self, api: type[Api], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(scheduler, "START_SECONDS", 0.1)
        monkeypatch.setattr(scheduler, "SECONDS_BETWEEN_PROBES", 0.05)
        settings = settings_of(manifest=str(MANIFEST))
        with (
            pytest.raises(UnreachableError, match=r"no answer in 0\.1 seconds.*kubectl get events"),
            local_address(settings, 0),
        ):
            pass
        assert len(api.seen) == 1
        assert api.kept == {}

    def test_that_may_not_be_made_is_told_with_the_remedy(self, api: type[Api]) -> None:
        api.allowed = False
        settings = settings_of(manifest=str(MANIFEST))
        with (
            pytest.raises(ClusterError, match=r"namespace night \(HTTP 403\).*may create"),
            local_address(settings, 0),
        ):
            pass


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read as YAML"),
        ("a: [", "cannot be read as YAML"),
        ("kind: Pod\n", "has to hold one DaskCluster with workers"),
        ("kind: DaskCluster\nspec: {}\n", "has to hold one DaskCluster with workers"),
    ],
)
def test_manifests_that_are_none(text: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(PolicyError, match=message):
        check_scheduler(settings_of(manifest=str(path)))
