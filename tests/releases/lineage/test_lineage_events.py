"""Lineage: what is told of a run, to whom, in the form that OpenLineage gives it."""

import importlib
import json
import pkgutil
import threading
import uuid
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import attr
import jsonschema
import pytest
import yaml
from openlineage.client import OpenLineageClient, generated
from openlineage.client.event_v2 import RunState

from support.cases.people import people, policy_for, publish, write_parquet
from support.passes import decide_only, find_pass, replace_work
from tclose.errors import DataError, InfeasibleError, LostError, TaskError, TcloseError
from tclose.passes.release import open_release, run_release
from tclose.policy.policy import parse_policy
from tclose.releases.lineage import facets, run_events
from tclose.releases.lineage.emit import emit_events
from tclose.releases.repository.repository import ReleaseRepository
from tclose.runtime import open_run
from tclose.runtime.monitoring import lineage_events
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import PassContext

pytestmark = pytest.mark.usefixtures("small_regions")

SCHEMA = Path(run_events.__file__).with_name("schemas") / "PrivacyDatasetFacet.json"


def facet_classes() -> dict[str, Any]:
    """The classes that are generated from OpenLineage's published schemas, by these."""
    found = {}
    for module in pkgutil.iter_modules(generated.__path__, f"{generated.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and attr.has(value) and hasattr(value, "_get_schema"):
                found[value._get_schema()] = value
    return found


FACETS = facet_classes()


def check_facets(given: dict[str, Any]) -> None:
    """Every facet has the keys of its schema: those that it needs, and no others."""
    for name, facet in given.items():
        assert facet["_producer"].startswith("urn:tclose:")
        if name == "tclose_privacy":
            jsonschema.validate(facet, json.loads(SCHEMA.read_text()))
            continue
        fields = attr.fields(FACETS[facet["_schemaURL"]])
        allowed = {field.name for field in fields}
        needed = {f.name for f in fields if f.default is attr.NOTHING}
        assert needed <= facet.keys() <= allowed, name


def check_event(event: dict[str, Any]) -> None:
    """An event is what the schema of run events says."""
    assert event["schemaURL"].startswith("https://openlineage.io/spec/2-0-2/OpenLineage.json#")
    assert event["producer"].startswith("urn:tclose:")
    assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
    assert str(uuid.UUID(event["run"]["runId"])) == event["run"]["runId"]
    assert event["eventType"] in {state.name for state in RunState}
    check_facets(event["run"]["facets"])
    check_facets(event["job"]["facets"])
    for dataset in (*event["inputs"], *event["outputs"]):
        assert dataset["namespace"]
        assert dataset["name"]
        check_facets(dataset["facets"])
        check_facets(dataset.get("outputFacets", {}))


@pytest.fixture(autouse=True)
def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """No heartbeat on a slow machine; tests of heartbeats ask for them."""
    monkeypatch.setattr(lineage_events, "SECONDS_OF_SILENCE", 3_600.0)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """What a server on loopback is told, over HTTP."""
    told: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{server.server_port}")
    yield told
    server.shutdown()
    server.server_close()


def kinds(told: list[dict[str, Any]]) -> list[str]:
    return [event["eventType"] for event in told]


def make(folder: Path) -> Any:
    return parse_policy(policy_for(write_parquet(folder / "people.parquet", people())))


def test_published_run_is_reported_once_published(heard, tmp_path):
    made = run_release(make(tmp_path), Progress("none"))
    assert kinds(heard) == ["START", "COMPLETE"]
    for event in heard:
        check_event(event)
    lines = (made.release / "internal" / "lineage.jsonl").read_text().splitlines()
    for event in heard:
        del event["run"]["facets"]["tags"]  # the client's own, of its version
    assert [json.loads(line) for line in lines] == heard
    (output,) = heard[-1]["outputs"]
    assert output["facets"]["version"]["datasetVersion"] == made.release.name
    privacy, manifest = output["facets"]["tclose_privacy"], made.manifest.to_json()["privacy"]
    assert privacy["k"] == manifest["k"]
    assert {n: t["largestEmd"] for n, t in privacy["t"].items()} == {
        n: t["largest_emd"] for n, t in manifest["t"].items()
    }
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == made.manifest.records


def test_second_run_tells_nothing(heard, tmp_path):
    policy = make(tmp_path)
    run_release(policy, Progress("none"))
    heard.clear()
    run_release(policy, Progress("none"))
    assert heard == []


def test_plan_tells_nothing(heard, tmp_path):
    decide_only(make(tmp_path), tmp_path / "scratch", Progress("none"))
    assert heard == []


def test_input_has_a_version_that_tells_nothing_without_the_key(heard, tmp_path):
    run_release(make(tmp_path), Progress("none"))
    (tmp_path / "again").mkdir()
    run_release(make(tmp_path / "again"), Progress("none"))
    versions = [event["inputs"][0]["facets"]["version"]["datasetVersion"] for event in heard]
    assert versions[0] == versions[1]
    assert versions[1] != versions[2]  # of the same bytes, under another output's key
    assert versions[2] == versions[3]


@pytest.mark.parametrize(
    ("error", "kind", "kept"),
    [
        (DataError("column age: no"), "FAIL", False),
        (RuntimeError("with a record's values"), "FAIL", True),
        (KeyboardInterrupt(), "ABORT", True),
    ],
)
def test_end_without_a_release_is_reported(error, kind, kept, heard, tmp_path, monkeypatch):
    def failing(_: PassContext) -> None:
        raise error

    replace_work(monkeypatch, "verify", failing)
    with pytest.raises(type(error)):
        run_release(make(tmp_path), Progress("none"))
    assert kinds(heard) == ["START", kind]
    for event in heard:
        check_event(event)
    assert "a record's values" not in json.dumps(heard)
    assert bool(list(tmp_path.rglob(".failed/*.jsonl"))) == kept


def test_partition_is_not_named_to_who_listens(heard, tmp_path):
    """The user's own message names it, and so quotes a value that was never published."""
    table = people(town=["canary-value"] * 20 + ["Bonn"] * 40, pay=list(range(60)))
    path = write_parquet(tmp_path / "people.parquet", table)
    document = policy_for(path, privacy={"k": 3, "t": 0.1})
    document["output"]["partition_by"] = ["town"]
    document["attributes"] |= {"town": "non-confidential"}
    with pytest.raises(InfeasibleError, match="canary-value"):
        publish(document)
    assert kinds(heard) == ["START", "FAIL"]
    message = heard[1]["run"]["facets"]["errorMessage"]["message"]
    assert message.startswith("a partition: 'pay' is at distance")
    assert "canary-value" not in json.dumps(heard)


def test_run_that_ended_without_a_word_is_ended_by_the_next(heard, tmp_path, monkeypatch):
    def failing(_: PassContext) -> None:
        raise RuntimeError

    policy = make(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(lineage_events, "end", lambda *_, **__: None)
        replace_work(patch, "verify", failing)
        with pytest.raises(RuntimeError):
            run_release(policy, Progress("none"))
    run_release(policy, Progress("none"))
    assert kinds(heard) == ["START", "ABORT", "START", "COMPLETE"]
    runs = [event["run"]["runId"] for event in heard]
    assert runs[0] == runs[1]
    assert runs[1] != runs[2]
    assert runs[2] == runs[3]
    assert runs[2] in heard[1]["run"]["facets"]["errorMessage"]["message"]


def stop_at(monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException) -> None:
    """Let a step of the repository fail, as one of a disk that is full."""

    def failing(*_: Any) -> None:
        raise error

    monkeypatch.setattr(ReleaseRepository, step, failing)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_run_that_ends_after_its_release_is_published_has_made_it(
    error, heard, tmp_path, monkeypatch
):
    policy = make(tmp_path)
    with monkeypatch.context() as patch:
        stop_at(patch, "set_current", error)
        with pytest.raises((LostError, KeyboardInterrupt)) as caught:
            run_release(policy, Progress("none"))
    if isinstance(error, OSError):
        assert "release 'people': was published, but CURRENT was not moved to it" in str(caught)
    assert kinds(heard) == ["START", "COMPLETE"]
    check_event(heard[-1])
    made = run_release(policy, Progress("none"))
    assert made.already_published
    assert made.current == made.release.name
    lines = (made.release / "internal" / "lineage.jsonl").read_text().splitlines()
    for event in heard:
        del event["run"]["facets"]["tags"]
    assert [json.loads(line) for line in lines] == heard[:2]


@pytest.mark.parametrize(("step", "kind"), [("set_current", "COMPLETE"), ("commit", "ABORT")])
def test_killed_run_is_ended_by_one_of_other_content(step, kind, heard, tmp_path, monkeypatch):
    policy = make(tmp_path)
    with monkeypatch.context() as patch:
        for ending in ("end", "complete"):  # as a kill, it leaves all as it is
            patch.setattr(lineage_events, ending, lambda *_, **__: None)
        patch.setattr(open_run, "_abandon", lambda *_: None)
        stop_at(patch, step, RuntimeError())
        with pytest.raises((TaskError, RuntimeError)):
            run_release(policy, Progress("none"))
    run_release(policy.model_copy(update={"seed": 7}), Progress("none"))
    assert kinds(heard) == ["START", kind, "START", "COMPLETE"]
    assert heard[0]["run"]["runId"] == heard[1]["run"]["runId"] != heard[2]["run"]["runId"]
    check_event(heard[1])


def test_long_run_says_that_it_goes_on(heard, tmp_path, monkeypatch):
    monkeypatch.setattr(lineage_events, "SECONDS_OF_SILENCE", 0)
    run_release(make(tmp_path), Progress("none"))
    assert set(kinds(heard)[1:-1]) == {"RUNNING"}
    assert kinds(heard)[:: len(heard) - 1] == ["START", "COMPLETE"]
    for event in heard:
        check_event(event)


def test_long_pass_sends_heartbeats(heard, tmp_path, monkeypatch, sizes):
    """Not only when it has ended."""

    def failing(context: PassContext) -> None:
        summarise(context)
        assert kinds(heard) == ["START", "RUNNING", "RUNNING"]
        raise DataError("enough")

    summarise = find_pass("summarise").work
    monkeypatch.setattr(lineage_events, "SECONDS_OF_SILENCE", 0)
    replace_work(monkeypatch, "summarise", failing)
    path = write_parquet(tmp_path / "people.parquet", people(), row_group_size=30)
    sizes.pieces(rows=30, least=30)
    with pytest.raises(DataError, match="enough"):
        publish(policy_for(path))


def test_flow_run_is_the_parent(heard, tmp_path):
    flow_run = "6c1fb2a4-9b7e-4dd1-8f43-7d0c0d7a5e11"
    with (
        pytest.raises(TcloseError),
        open_release(make(tmp_path), Progress("none"), flow_run=flow_run),
    ):
        pass  # ends before its release was published
    parent = heard[0]["run"]["facets"]["parent"]
    assert parent["run"]["runId"] == flow_run
    assert (parent["job"]["namespace"], parent["job"]["name"]) == ("prefect", "release")


def test_file_is_written_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(tmp_path / "events.jsonl"))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
    run_release(make(tmp_path), Progress("none"))
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    assert kinds([json.loads(line) for line in lines]) == ["START", "COMPLETE"]


def test_file_of_the_working_folder_says_nothing(tmp_path, monkeypatch):
    """It would come before the address in the environment."""
    (tmp_path / "here").mkdir()
    planted = {"type": "file", "log_file_path": str(tmp_path / "theirs"), "append": True}
    (tmp_path / "here" / "openlineage.yml").write_text(yaml.safe_dump({"transport": planted}))
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9")
    assert [type(c.transport).__name__ for c in made_clients(monkeypatch)] == ["HttpTransport"]
    named = tmp_path / "named.yml"
    planted["log_file_path"] = str(tmp_path / "ours")
    named.write_text(yaml.safe_dump({"transport": planted}))
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(named))
    assert [type(c.transport).__name__ for c in made_clients(monkeypatch)] == ["FileTransport"]


def made_clients(monkeypatch) -> list[Any]:
    """Every client that emitting makes."""
    made: list[Any] = []

    class Noted(OpenLineageClient):
        def __init__(self, *given, **more):
            super().__init__(*given, **more)
            made.append(self)

    with monkeypatch.context() as patched:
        patched.setattr("openlineage.client.OpenLineageClient", Noted)
        assert emit_events([]) == ""
    return made


@pytest.mark.parametrize("style", ["lines", "none"])
def test_nobody_there_is_said_once_and_fails_nothing(style, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "http")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__RETRY", '{"total": 0}')
    assert run_release(make(tmp_path), Progress(style)).release.is_dir()
    said = capsys.readouterr().err
    assert said.count("lineage: events were not emitted") == 1
    assert "Traceback" not in said


def test_schema_of_the_privacy_facet_is_one():
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == facets.PRIVACY_SCHEMA
