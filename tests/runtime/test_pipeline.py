"""Pipelines: what is read was written before, and passes use what they declare and nothing else."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tclose.errors import OutputError, TaskError
from tclose.passes.release import RELEASE, TRIAL
from tclose.passes.verify.verdict import VERDICT
from tclose.policy.policy import parse_policy
from tclose.runtime import tasks
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, PendingFiles, Workspace
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import Pass, PassContext, Pipeline, run_pipeline
from tclose.runtime.run import INSPECTION, SECONDS, Run
from tclose.runtime.tasks import Task

NUMBER, DOUBLE, LOG = Artifact("number", int), Artifact("double", int), Artifact("log", list[str])


TEXT = FileArtifact("double/text", Path)


def double(_: Workspace, item: int, pending: PendingFiles) -> int:
    pending.new(TEXT).write_text(str(item))
    return 2 * item


DOUBLE_TASK = Task("double", "doubling", double, (TEXT,))


def work(context: PassContext) -> None:
    [found] = context.map(DOUBLE_TASK, [context.read(NUMBER)])
    context.write(DOUBLE, found)


ONE = Pass("one", "Doubles.", (NUMBER,), (DOUBLE,), work, (DOUBLE_TASK,), own=(LOG,))


@pytest.fixture
def run(tmp_path) -> Run:
    policy = parse_policy(
        {"name": "x", "input": {"path": "x"}, "attributes": {"a": "quasi-identifier"},
         "privacy": {"k": 2}}
    )  # fmt: skip
    run = Run(policy, "trial", tmp_path / "work", InProcess())
    run.workspace.create()
    run.workspace.save(NUMBER, 21)
    return run


def test_pass_reads_works_and_writes(run):
    run_pipeline(Pipeline((NUMBER,), (ONE,)), run, Progress("none"))
    assert run.workspace.load(DOUBLE) == 42
    assert run.workspace.find(LOG) is None
    assert run.workspace.load(SECONDS)["one"] >= 0


def test_what_nobody_wrote_cannot_be_read():
    with pytest.raises(ValueError, match="one reads number, which is not written yet"):
        Pipeline((), (ONE,))


def test_what_is_there_is_not_written_again():
    with pytest.raises(ValueError, match="one writes double, which is there already"):
        Pipeline((NUMBER, DOUBLE), (ONE,))
    with pytest.raises(ValueError, match="writes log"):
        Pipeline((NUMBER, LOG), (ONE,))


def test_what_is_one_pass_s_own_is_nobody_else_s():
    with pytest.raises(ValueError, match="two reads log, which is not written yet"):
        Pipeline((NUMBER,), (ONE, Pass("two", "", (LOG,), (), lambda _: None)))


@pytest.mark.parametrize("other", [Artifact("double", float), Artifact("double", int, version=2)])
def test_what_is_read_has_the_form_that_was_written(other):
    with pytest.raises(ValueError, match="two reads double as it was not written"):
        Pipeline((NUMBER,), (ONE, Pass("two", "", (other,), (), lambda _: None)))


def test_pass_uses_what_it_declares_alone(run):
    def reads(context: PassContext) -> None:
        context.read(DOUBLE)

    def writes(context: PassContext) -> None:
        context.write(NUMBER, 1)

    for other in (reads, writes):
        one = Pass("other", "", reads=(NUMBER,), writes=(), work=other)
        with pytest.raises(LookupError, match="pass other does not declare"):
            run_pipeline(Pipeline((NUMBER,), (one,)), run, Progress("none"))


def test_task_uses_what_its_pass_declares_alone(run):
    run.workspace.save(DOUBLE, 42)

    def reads(workspace: Workspace, _: int, __: PendingFiles) -> int:
        return workspace.load(DOUBLE)

    def shares(workspace: Workspace, _: int, __: PendingFiles) -> int:
        return workspace.load_shared(DOUBLE)

    def writes(workspace: Workspace, item: int, _: PendingFiles) -> int:
        workspace.save(NUMBER, item)
        return item

    def reads_file(workspace: Workspace, item: int, _: PendingFiles) -> int:
        return len(workspace.file(TEXT, item).read_text())

    def writes_file(_: Workspace, item: int, pending: PendingFiles) -> int:
        return pending.new(TEXT).write_text(str(item))

    functions = (reads, shares, writes, reads_file, writes_file)
    for number, function in enumerate(functions):
        task = Task(f"reach{number}", "", function)
        one = Pass("other", "", (NUMBER,), (), partial(map_one, task), (task,))
        with pytest.raises(TaskError, match="stopped by LookupError"):
            run_pipeline(Pipeline((NUMBER,), (one,)), run, Progress("none"))
    assert run.workspace.load(NUMBER) == 21


def test_threads_that_begin_together_share_one_value(run, monkeypatch):
    read = []
    load = Workspace.load

    def slow(workspace: Workspace, artifact: Artifact[int]) -> int:
        read.append(artifact)
        time.sleep(0.05)
        return load(workspace, artifact)

    monkeypatch.setattr(Workspace, "load", slow)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: run.workspace.load_shared(NUMBER), range(4)))
    assert found == [21] * 4
    assert read == [NUMBER]


def test_pass_does_its_own_tasks_alone(run):
    one = Pass("other", "", (), (), partial(map_one, DOUBLE_TASK))
    with pytest.raises(LookupError, match="pass other does not declare task double"):
        run_pipeline(Pipeline((), (one,)), run, Progress("none"))


def test_large_task_gives_back_what_it_took(run, monkeypatch):
    freed = []
    monkeypatch.setattr(tasks, "free_memory", lambda: freed.append(True))
    for task in (DOUBLE_TASK, replace(DOUBLE_TASK, is_large=True)):
        run.workspace.remove()
        assert not freed
        one = Pass("other", "", (), (), partial(map_one, task), (task,))
        run_pipeline(Pipeline((), (one,)), run, Progress("none"))
    assert freed == [True]


def test_file_is_named_after_its_task():
    with pytest.raises(ValueError, match="task other writes files that are named after another"):
        Task("other", "", double, (TEXT,))


def test_files_of_a_task_are_read_by_what_comes_after():
    reader = Pass("two", "", (TEXT,), (), lambda _: None)
    assert Pipeline((NUMBER,), (ONE, reader)).passes == (ONE, reader)
    with pytest.raises(ValueError, match="two reads double/text, which is not written yet"):
        Pipeline((NUMBER,), (reader, ONE))


def test_until_is_the_beginning():
    pipeline = Pipeline((NUMBER,), (ONE, Pass("two", "", (DOUBLE,), (), lambda _: None)))
    assert [one.name for one in pipeline.until(DOUBLE).passes] == ["one"]
    with pytest.raises(ValueError, match="no pass writes log"):
        pipeline.until(LOG)


def test_release_is_a_pipeline_and_a_trial_publishes_nothing():
    names = [one.name for one in RELEASE.passes]
    made = ["summarise", "plan", "encode", "microaggregate", "verify", "publish"]
    assert names == ["inspect", *made]
    assert list(RELEASE.after(INSPECTION).versions) == made
    assert [one.name for one in TRIAL.passes] == names[:-1]
    assert VERDICT in TRIAL.passes[-1].writes


def test_after_is_the_rest_and_given_what_was_written():
    pipeline = Pipeline((NUMBER,), (ONE, Pass("two", "", (DOUBLE, TEXT), (), lambda _: None)))
    rest = pipeline.after(DOUBLE)
    assert [one.name for one in rest.passes] == ["two"]
    assert set(rest.given) == {NUMBER, DOUBLE, TEXT}


class TestCheckpoints:
    def test_value_of_another_version_is_made_again(self, run):
        assert run.workspace.find(Artifact("number", int, version=2)) is None
        with pytest.raises(OutputError, match="number is missing or damaged; run again"):
            run.workspace.load(Artifact("number", int, version=2))

    @pytest.mark.parametrize("place", range(0, 120, 7))
    def test_damage_is_seen(self, run, place):
        path = run.root / "values" / "number.record"
        content = bytearray(path.read_bytes())
        content[place % len(content)] ^= 1
        path.write_bytes(bytes(content))
        assert run.workspace.find(NUMBER) is None

    def test_task_of_another_version_is_done_again(self, run):
        done: list[int] = []

        def counted(_: Workspace, item: int, pending: PendingFiles) -> int:
            done.append(item)
            pending.new(pending.declared[0]).touch()
            return item

        def again(version: int, file_version: int) -> None:
            files = (FileArtifact("counted/empty", Path, file_version),)
            task = Task("counted", "counting", counted, files, version)
            one = Pass("p", "", (), (), lambda context: take(context.map(task, [1, 2])), (task,))
            run_pipeline(Pipeline((), (one,)), run, Progress("none"))

        def take(found: list[int]) -> None:
            assert found == [1, 2]

        for versions in ((1, 1), (1, 1), (2, 1), (2, 1), (2, 2)):
            again(*versions)
        of_each = [sorted(done[i : i + 2]) for i in range(0, len(done), 2)]  # side by side
        assert of_each == [[1, 2]] * 3

    def test_no_working_file_is_a_pickle(self, run):
        run_pipeline(Pipeline((NUMBER,), (ONE,)), run, Progress("none"))
        for path in run.root.rglob("*.record"):
            digest, head, value = path.read_bytes().split(b"\n")
            assert len(digest) == 64
            assert head.startswith(b"{")
            assert value[:1] in b'0123456789"{['


def map_one(task: Task, context: PassContext) -> None:
    context.map(task, [1])


def test_result_has_to_be_declared(run):
    def undeclared(_: Any, item: int, __: Any):
        return item

    task = Task("undeclared", "", undeclared)
    with pytest.raises(KeyError):
        run_pipeline(
            Pipeline((), (Pass("p", "", (), (), partial(map_one, task), (task,)),)),
            run,
            Progress("none"),
        )
