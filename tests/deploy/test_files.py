"""The files of deploy/ by the validators of their formats, and by what they promise."""

import http.server
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import pytest
import yaml

import tclose
from tclose.policy.policy import load_policy
from tclose.runtime.engines import local

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
RELEASE = "1.32"  # of Kubernetes, for its schemas


def program(name: str) -> str:
    """A program of this environment; skips where the development packages are not installed."""
    found = Path(sys.executable).parent / name
    if not found.exists():
        pytest.skip(f"{name} is not installed; `make test` installs it")
    return str(found)


def succeeds(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def documents() -> list[dict[str, Any]]:
    """Every object of the manifests; the worker that makes jobs is for those who name its file."""
    names = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    names += ["prefect-job-worker.yaml"]
    found = [d for name in names for d in yaml.safe_load_all((KUBERNETES / name).read_text())]
    assert len(found) >= 20
    return found


def job() -> dict[str, Any]:
    """The job that a run in a pool of type kubernetes is."""
    template = json.loads((DEPLOY / "kubernetes-pool.json").read_text())
    pool = yaml.safe_load((DEPLOY / "prefect.yaml").read_text())["definitions"]["kubernetes"]
    values = {name: v.get("default") for name, v in template["variables"]["properties"].items()}
    values |= {"name": "run", "labels": {}, "command": ["prefect", "flow-run", "execute"]}
    values |= pool["work_pool"]["job_variables"]

    def fill(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: fill(value) for key, value in part.items()}
        if isinstance(part, list):
            return [fill(value) for value in part]
        found = re.fullmatch(r"\{\{ (\w+) \}\}", part) if isinstance(part, str) else None
        if found:
            return values[found[1]]
        return part.replace("{{ name }}", "run") if isinstance(part, str) else part

    return fill(template["job_configuration"]["job_manifest"])


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every pod that the manifests lead to, by what it is."""
    for document in documents():
        spec = document.get("spec") or {}
        if document["kind"] == "Deployment":
            yield document["metadata"]["name"], spec["template"]["spec"]
        if document["kind"] == "DaskCluster":
            yield "scheduler", spec["scheduler"]["spec"]
            yield "worker", spec["worker"]["spec"]
    yield "run", job()["spec"]["template"]["spec"]


def services() -> dict[str, dict[str, Any]]:
    """Services of the compose file."""
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def is_within(path: str, folder: str) -> bool:
    return Path(path).is_relative_to(folder) or Path(folder).is_relative_to(path)


def split_volume(volume: str) -> tuple[str, list[str]]:
    """Where a volume with a name or a folder of the host is mounted, and how."""
    source, _, rest = re.sub(r"\$\{[^}]*\}", "HOST", volume).partition(":")
    target, _, options = rest.partition(":")
    return target or f"no other container's {source}", options.split(",")


class TestFormats:
    def test_dockerfile(self) -> None:
        succeeds(program("hadolint"), str(DEPLOY / "Dockerfile"))

    def test_compose(self) -> None:
        schema = ("--builtin-schema", "vendor.compose-spec")
        succeeds(program("check-jsonschema"), *schema, str(DEPLOY / "compose.yaml"))

    @pytest.mark.parametrize("document", documents(), ids=lambda d: f"{d['kind']}")
    def test_manifests(self, document: dict[str, Any]) -> None:
        validator = pytest.importorskip("kubernetes_validate")
        if document["kind"] != "DaskCluster":
            validator.validate(document, RELEASE, strict=True)

    def test_job_of_a_kubernetes_pool(self) -> None:
        validator = pytest.importorskip("kubernetes_validate")
        validator.validate(job(), RELEASE, strict=True)

    def test_pods_of_the_dask_cluster(self) -> None:
        """The operator makes pods, and a service, of what the cluster says."""
        validator = pytest.importorskip("kubernetes_validate")
        [cluster] = [d for d in documents() if d["kind"] == "DaskCluster"]
        for name, spec in pods():
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
            validator.validate(pod, RELEASE, strict=True)
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
        service["spec"] = cluster["spec"]["scheduler"]["service"]
        validator.validate(service, RELEASE, strict=True)

    def test_kustomization_names_what_is_there(self) -> None:
        kubectl = shutil.which("kubectl")
        if kubectl is None:
            pytest.skip("kubectl is not installed")
        succeeds(kubectl, "kustomize", str(KUBERNETES))

    def test_policies_are_policies(self) -> None:
        paths = list((KUBERNETES / "policies").glob("*.yaml"))
        assert paths
        for path in paths:
            assert load_policy(path).engine.scheduler == "kubernetes"


class TestPromises:
    def test_no_container_has_more_rights_than_it_needs(self) -> None:
        names = set()
        for name, pod in pods():
            names.add(name)
            assert pod["securityContext"]["runAsNonRoot"]
            assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
            for container in pod["containers"]:
                rights = container["securityContext"]
                assert rights["readOnlyRootFilesystem"]
                assert not rights["allowPrivilegeEscalation"]
                assert rights["capabilities"] == {"drop": ["ALL"]}
        assert names == {
            "scheduler", "worker", "prefect-server", "prefect-worker", "prefect-job-worker", "run"
        }  # fmt: skip
        for service in services().values():
            assert service["cap_drop"] == ["ALL"]
            assert service["read_only"]
            assert service["security_opt"] == ["no-new-privileges:true"]
            assert not str(service["user"]).startswith("0")

    def test_every_container_has_a_limit_of_memory(self) -> None:
        for name, pod in pods():
            for container in pod["containers"]:
                assert container["resources"]["limits"]["memory"], name
        for name, service in services().items():
            assert "mem_limit" in service or name == "deploy", name

    def test_dask_acts_before_the_kernel_does(self) -> None:
        """A worker's own limit is below its container's."""
        worker = dict(pods())["worker"]["containers"][0]
        assert "--memory-limit 2500MiB" in worker["args"][0]
        assert worker["resources"]["limits"]["memory"] == "3Gi"
        service = services()["worker"]
        assert "--memory-limit=${WORKER_MEMORY:-2500MiB}" in service["command"]
        assert service["mem_limit"] == "${WORKER_CONTAINER_MEMORY:-3g}"

    def test_secrets_are_named_and_never_written(self) -> None:
        secret = re.compile(r"PASSWORD|AUTH|CONNECTION_URL|KEY|TOKEN")
        for _, pod in pods():
            for entry in (e for c in pod["containers"] for e in c.get("env", ())):
                named = entry["name"].endswith(("__KEY", "_SECRET_NAME", "_SECRET_KEY"))
                if secret.search(entry["name"]) and not named:
                    assert set(entry) == {"name", "valueFrom"}
        for service in services().values():
            for name, value in (service.get("environment") or {}).items():
                if secret.search(name) and not name.endswith("__KEY"):
                    assert "${" in value, name
        example = (DEPLOY / ".env.example").read_text()
        assert re.search(r"^DATABASE_PASSWORD=$", example, re.MULTILINE)

    def test_everything_but_the_database_runs_the_one_image(self) -> None:
        image = f"tclose:{tclose.__version__}"
        own = {name: c["image"] for name, pod in pods() for c in pod["containers"]}
        assert own.pop("prefect-job-worker").startswith("prefecthq/prefect:")  # it sees no data
        assert set(own.values()) == {image}
        images = {name: service["image"] for name, service in services().items()}
        assert "postgres" in images.pop("database")
        assert set(images.values()) == {f"${{TCLOSE_IMAGE:-{image}}}"}

    def test_nothing_but_prefect_is_published_and_that_on_this_host_alone(self) -> None:
        ports = {name: s["ports"] for name, s in services().items() if "ports" in s}
        assert ports == {"prefect-server": ["127.0.0.1:4200:4200"]}
        kinds = [d["spec"]["type"] for d in documents() if d["kind"] == "Service"]
        assert kinds == ["ClusterIP"]

    def test_leases_of_prefect_outlive_its_server(self) -> None:
        """A slot whose lease is lost is never given back, and whatever needs it waits for ever."""
        pod = dict(pods())["prefect-server"]
        [container] = pod["containers"]
        environment = {one["name"]: one.get("value") for one in container["env"]}
        service = services()["prefect-server"]
        for variables in (environment, service["environment"]):
            kept = variables["PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"]
            assert kept == "prefect.server.concurrency.lease_storage.filesystem"
        [home] = re.findall(r"PREFECT_HOME=(\S+)", (DEPLOY / "Dockerfile").read_text())
        [mounted] = [m["name"] for m in container["volumeMounts"] if m["mountPath"] == home]
        [volume] = [v for v in pod["volumes"] if v["name"] == mounted]
        claims = [d["metadata"]["name"] for d in documents() if "Claim" in d["kind"]]
        assert volume["persistentVolumeClaim"]["claimName"] in claims
        assert pod["securityContext"]["fsGroup"] == 10001  # or a new volume would be root's
        assert service["volumes"] == [f"prefect:{home}"]

    @pytest.mark.parametrize("name", ["prefect-server", "scheduler"])
    def test_health_is_not_asked_for_from_a_proxy(self, name: str) -> None:
        """Docker gives containers the proxies of its own settings."""
        test = services()[name]["healthcheck"]["test"]
        asked = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        proxies = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
        with asked as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            code = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{server.server_port}", test[-1])
            done = subprocess.run(
                [sys.executable, *test[2:-1], code],
                env=os.environ | proxies,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            server.shutdown()
        assert test[:3] == ["CMD", "python", "-c"]
        assert "HTTP Error 501" in done.stderr  # the server's own answer: it knows no requests

    def test_clients_reach_the_server_without_a_proxy(self) -> None:
        for name in ("prefect-worker", "deploy"):
            environment = services()[name]["environment"]
            host = urlsplit(environment["PREFECT_API_URL"]).hostname
            for variable in ("NO_PROXY", "no_proxy"):
                assert {host, "127.0.0.1"} <= set(environment[variable].split(","))

    def test_files_stand_under_one_path_wherever_tasks_run(self) -> None:
        def mounted(name: str) -> set[str]:
            [container] = dict(pods())[name]["containers"]
            return {mount["mountPath"] for mount in container["volumeMounts"]}

        shared = {"/data", "/releases"}
        assert shared <= mounted("worker") & mounted("prefect-worker")
        assert mounted("run") == mounted("prefect-worker")
        for name in ("worker", "prefect-worker"):
            places = {volume.split(":")[-2 if volume.endswith(":ro") else -1]
                      for volume in services()[name]["volumes"]}  # fmt: skip
            assert shared <= places

    def test_runs_have_what_the_prefect_worker_has(self) -> None:
        """Certificates, and a label by which the network lets them speak to the other parts."""

        def certificates(name: str) -> dict[str, str]:
            [container] = dict(pods())[name]["containers"]
            return {e["name"]: e["value"] for e in container["env"] if "__TLS__" in e["name"]}

        assert len(certificates("run")) == 3
        assert certificates("run") == certificates("prefect-worker")
        label = job()["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"]
        allowed = json.dumps([d for d in documents() if d["kind"] == "NetworkPolicy"])
        lists = re.findall(r'"values": \[([^\]]*)\]', allowed)
        assert {label, "prefect-worker"} <= {
            word.strip('" ') for ls in lists for word in ls.split(",")
        }
        docker = yaml.safe_load((DEPLOY / "prefect.yaml").read_text())["definitions"]["docker"]
        variables = docker["work_pool"]["job_variables"]
        beside = services()["prefect-worker"]["environment"]
        for name in (n for n in beside if n != "PREFECT_API_AUTH_STRING"):
            assert variables["env"][name] == beside[name]
        targets = {volume.split(":")[1] for volume in variables["volumes"]}
        secrets = {f"/run/secrets/{name}" for name in services()["prefect-worker"]["secrets"]}
        assert targets == {"/policies", "/data", "/releases"} | secrets

    def test_runs_that_are_ended_with_their_node_are_scheduled_again(self, monkeypatch) -> None:
        """The first process of a container hears no SIGTERM unless Prefect is told to."""
        from prefect.cli.flow_run import _termination_intent

        name = "PREFECT_FLOW_RUN_EXECUTE_SIGTERM_BEHAVIOR"
        pod = job()["spec"]["template"]["spec"]
        [container] = pod["containers"]
        docker = yaml.safe_load((DEPLOY / "prefect.yaml").read_text())["definitions"]["docker"]
        of_job = {one["name"]: one["value"] for one in container["env"]}
        for variables in (of_job, docker["work_pool"]["job_variables"]["env"]):
            monkeypatch.setenv(name, variables[name])
            assert _termination_intent() == "reschedule"
        [worker] = [d for d in documents() if d["metadata"]["name"] == "prefect-worker"
                    and d["kind"] == "Deployment"]  # fmt: skip
        seconds = worker["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        assert pod["terminationGracePeriodSeconds"] == seconds == 120

    def test_compiled_code_is_on_no_volume_that_others_can_write_to(self) -> None:
        """It is run by whoever reads it; so each pod or container has a place of its own."""
        image = (DEPLOY / "Dockerfile").read_text()
        [cache] = re.findall(r"XDG_CACHE_HOME=(\S+)", image)
        [ready] = re.findall(r"TCLOSE_KERNELS=(\S+)", image)
        assert f"RUN NUMBA_CACHE_DIR={ready} " in image
        assert image.count("NUMBA_CACHE_DIR") == 1  # while it is built
        kinds = {}
        for name, pod in pods():
            volumes = {volume.pop("name"): volume for volume in pod.get("volumes", [])}
            for mount in (m for c in pod["containers"] for m in c.get("volumeMounts", [])):
                if is_within(cache, mount["mountPath"]) and not mount.get("readOnly"):
                    [kinds[name]] = volumes[mount["name"]]
        assert kinds == dict.fromkeys(("worker", "prefect-worker", "run"), "emptyDir")
        docker = yaml.safe_load((DEPLOY / "prefect.yaml").read_text())["definitions"]["docker"]
        asked = {name: service.get("volumes", []) for name, service in services().items()}
        asked["docker"] = docker["work_pool"]["job_variables"]["volumes"]
        for name, volumes in asked.items():
            for target, options in (split_volume(volume) for volume in volumes):
                assert not is_within(cache, target) or "ro" in options, name
        for name in ("worker", "prefect-worker"):
            assert cache in services()[name]["volumes"]

    def test_image_lock_is_that_of_the_project(self) -> None:
        """Workers of the image and a client of this checkout have the same versions."""
        pinned = re.compile(r"^([A-Za-z0-9._-]+)(?:\[.*?\])?==(\S+)", re.MULTILINE)
        image = dict(pinned.findall((DEPLOY / "requirements-image.lock").read_text()))
        project = dict(pinned.findall((DEPLOY.parent / "requirements.lock").read_text()))
        del project["uv"]  # which installs a lock on a developer's machine
        assert project.items() <= image.items()
        assert "kr8s" in image


class TestCommands:
    """Options that the locked Dask and Prefect do not know would be noticed by operators only."""

    @pytest.mark.parametrize("name", ["scheduler", "worker"])
    def test_dask(self, name: str) -> None:
        [container] = dict(pods())[name]["containers"]
        words = " ".join(container["args"]).replace("exec ", "").split()
        self.parse(words)
        self.parse(services()[name]["command"])

    @staticmethod
    def parse(words: list[str]) -> None:
        from distributed.cli.dask_scheduler import main as dask_scheduler
        from distributed.cli.dask_worker import main as dask_worker

        assert words[0] == "dask"
        command = {"scheduler": dask_scheduler, "worker": dask_worker}[words[1]]
        options = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert given
        assert given <= options

    @pytest.mark.parametrize("name", ["prefect-server", "prefect-worker", "prefect-job-worker"])
    def test_prefect(self, name: str) -> None:
        from prefect.cli import server, worker

        [container] = dict(pods())[name]["containers"]
        beside = [services()[name]["command"]] if name in services() else []
        for words in (container["args"], *beside):
            assert words[0] == "prefect"
            assert words[2] == "start"
            known = inspect.signature({"server": server, "worker": worker}[words[1]].start)
            options = [get_args(p.annotation)[1].name for p in known.parameters.values()]
            given = {word for word in words if word.startswith("--")}
            assert given
            assert given <= {name for names in options for name in names}

    def test_dask_reads_its_file(self) -> None:
        import dask
        import distributed  # noqa: F401 (whose defaults are among them then)

        defaults = dask.config.get("distributed")
        written = yaml.safe_load((DEPLOY / "config" / "dask.yaml").read_text())
        allocation = written["distributed"]["nanny"].pop("pre-spawn-environ")
        assert allocation == local.ALLOCATION  # as in a cluster of a run's own
        assert written["distributed"]["scheduler"]["no-workers-timeout"] == local.WITHOUT_WORKERS
        _check_keys(written["distributed"], defaults)


def _check_keys(written: Any, known: Any) -> None:
    """Every key is one of Dask's own."""
    if isinstance(written, dict) and isinstance(known, dict):
        for key, value in written.items():
            assert key in known, key
            _check_keys(value, known[key])
