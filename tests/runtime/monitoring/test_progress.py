"""A bar on a terminal, lines elsewhere, silence where it is asked for."""

import contextlib
import io
import os
import re
import subprocess
import sys
import threading
from types import SimpleNamespace

import cloudpickle
import pytest
from distributed import LocalCluster

from support.cases.discharge_policies import discharge_document, write_discharges
from support.cases.people import write_policy
from support.servers.flow_runs import wait_until
from tclose.cli.main import main
from tclose.runtime.artifacts.artifacts import Workspace
from tclose.runtime.engines.engine import InProcess, connect
from tclose.runtime.monitoring import progress as progress_module
from tclose.runtime.monitoring import work as work_module
from tclose.runtime.monitoring.progress import Listener, Progress, default_style
from tclose.runtime.monitoring.work import Work
from tclose.runtime.tasks import Task, run_tasks, share_evenly

pytestmark = pytest.mark.usefixtures("small_regions")

SIZES = [400_000, 300_000, 200_000, 100_000]

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not have this module


class Terminal(io.StringIO):
    """A stream that says it is a terminal; ``drawn`` is what stood on it, one after the other."""

    def isatty(self) -> bool:
        return True

    @property
    def drawn(self) -> list[str]:
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue())
        return [line.rstrip() for line in re.split(r"[\r\n]+", plain) if line.strip()]


def sit_at_terminal(monkeypatch, columns: int = 80) -> Terminal:
    """Called in the test itself: pytest changes the streams between a fixture and its test."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    return stream


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """The only clock that progress has: its one element is the time."""
    now = [100.0]
    for module in (progress_module, work_module):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    return now


def square(_, item: int, __) -> int:
    return item * item


def run(folder, progress, *, engine=None, work=square, **sizes):
    workspace = Workspace(folder / "work")
    workspace.create()
    items = range(len(SIZES))
    return run_tasks(
        engine or InProcess(),
        workspace,
        Task("encode", "placing records", work),
        items,
        progress,
        **sizes,
    )


def test_bar_on_a_terminal_tells_of_records(monkeypatch, tmp_path):
    terminal = sit_at_terminal(monkeypatch)

    def wait_to_be_drawn(_, item: int, __) -> int:
        shown = ("0 %", "40 %", "70 %", "90 %")[item]
        wait_until(lambda: any(f" {shown}" in line for line in terminal.drawn), shown)
        return item * item

    progress = Progress(default_style(quiet=False))
    assert run(tmp_path, progress, work=wait_to_be_drawn, sizes=SIZES) == [0, 1, 4, 9]
    drawn = terminal.drawn
    underway = [line for line in drawn if "left" in line]
    assert re.fullmatch(
        r"placing records +[━╸╺]+ +\d+ % [\d.]+[kM]/1\.00M records [\d.]+[kM]/s \d+:\d\d left",
        underway[0],
    )
    assert re.search(r"100 % 1\.00M/1\.00M records [\d.]+[kM]/s \d+\.\d s$", drawn[-1])
    assert terminal.getvalue().count("\n") == 1  # the one line is drawn over, and left at the end


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_bar_stays_within_its_line(columns, tmp_path, monkeypatch):
    terminal = sit_at_terminal(monkeypatch, columns)
    run(tmp_path, Progress("bar"), sizes=SIZES)
    assert max(map(len, terminal.drawn)) <= columns
    assert not any("\u2026" in line for line in terminal.drawn)
    assert re.search(r" 100 % .*\d+\.\d s$", terminal.drawn[-1])
    assert terminal.getvalue().count("\n") == 1


def test_bar_counts_tasks_where_records_are_not_known(monkeypatch, tmp_path):
    terminal = sit_at_terminal(monkeypatch)
    run(tmp_path, Progress("bar"))
    assert re.search(r"100 % 4/4 +\d+\.\d s$", terminal.drawn[-1])


def test_bar_of_a_cluster(monkeypatch, tmp_path):
    terminal = sit_at_terminal(monkeypatch)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        connect(cluster.scheduler_address) as engine,
    ):
        assert run(tmp_path, Progress("bar"), engine=engine, sizes=SIZES) == [0, 1, 4, 9]
    assert "1.00M/1.00M records" in terminal.drawn[-1]


def test_failed_pass_leaves_the_terminal_as_it_was(monkeypatch):
    terminal = sit_at_terminal(monkeypatch)
    with contextlib.suppress(RuntimeError), Progress("bar").following("encode", 2) as step:
        step()
        raise RuntimeError
    assert "50 %" in terminal.drawn[-1]
    assert terminal.getvalue().endswith("\x1b[?25h")  # the cursor is to be seen again


def test_bar_leaves_the_streams_alone(monkeypatch):
    """What is imported meanwhile may keep them for longer than the bar lives."""
    terminal = sit_at_terminal(monkeypatch)
    before = sys.stdout
    with Progress("bar").following("encode", 1):
        assert sys.stderr is terminal
        assert sys.stdout is before


def test_short_pass_is_two_lines(tmp_path, capsys):
    run(tmp_path, Progress(default_style(quiet=False)), sizes=SIZES)
    first, last = capsys.readouterr().err.splitlines()
    assert first == "placing records: 4 tasks, 1,000,000 records"
    assert re.fullmatch(r"placing records: done in \d+\.\d s, [\d,]+ records/s", last)


def test_long_pass_tells_every_ten_seconds_or_so(capsys, clock):
    work = Work(100, n_records=1_000_000)
    with Progress("lines").following("encode", work, label="placing records") as step:
        for _ in range(100):
            clock[0] += 4
            work.records_done += 10_000
            step()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 + 33  # a line at every third task: after 12 s
    assert lines[1:3] == [
        "placing records: 3 %, 30,000 of 1,000,000 records, 2,500 records/s, about 6:28 left",
        "placing records: 6 %, 60,000 of 1,000,000 records, 2,500 records/s, about 6:16 left",
    ]
    assert lines[-1] == "placing records: done in 400.0 s, 2,500 records/s"


def test_single_task_that_takes_long_tells_every_ten_seconds_or_so(capsys, clock, monkeypatch):
    monkeypatch.setattr(progress_module, "LOOK_SECONDS", 0.001)
    with Progress("lines").following("encode", Work(1, n_records=500), label="placing records"):
        assert capsys.readouterr().err == "placing records: 1 task, 500 records\n"
        for seconds in ("0:12", "0:24"):
            clock[0] += 12
            line = wait_until(lambda: capsys.readouterr().err, "a line")
            assert line == f"placing records: 0 %, 0 of 500 records, {seconds} so far\n"


def test_what_a_listener_raises_meanwhile_ends_the_pass(clock, monkeypatch):
    heard = threading.Event()

    class Deaf(Listener):
        def hear(self, text: str, *, warns: bool) -> None:
            if "so far" in text:
                heard.set()
                raise OSError(text[:6])

        def follow(self, work: Work, text: str) -> None:
            """Keep nothing."""

    monkeypatch.setattr(progress_module, "LOOK_SECONDS", 0.001)
    progress = Progress("none", listener=Deaf())

    def work_until_heard() -> None:
        with progress.following("square", Work(1)):
            clock[0] += 12
            assert heard.wait(20)

    with pytest.raises(OSError, match="square"):
        work_until_heard()


def test_what_is_confided_is_not_kept_by_a_listener(capsys):
    """Prefect's server keeps what it hears, and more people read that than may see records."""
    heard: list[str] = []

    class Keeping(Listener):
        def hear(self, text: str, *, warns: bool) -> None:
            heard.append(text)

        def follow(self, work: Work, text: str) -> None:
            """Keep nothing."""

    progress = Progress("lines", listener=Keeping())
    progress.info("in all")
    progress.confide("round 1: loss 0.01, largest EMD 0.123456")
    Progress("none").confide("silence")
    assert heard == ["in all"]
    assert capsys.readouterr().err.splitlines() == [
        "in all",
        "round 1: loss 0.01, largest EMD 0.123456",
    ]


def test_long_pass_of_unknown_records_counts_tasks(capsys, clock):
    with Progress("lines").following(
        "infer", Work(3, tasks_before=1), label="finding types"
    ) as step:
        for _ in range(2):
            clock[0] += 20
            step()
    assert capsys.readouterr().err == (
        "finding types: 3 tasks, 1 of the tasks done before\n"
        "finding types: 66 %, 2 of 3 tasks, about 0:20 left\n"
        "finding types: done in 40.0 s\n"
    )


def test_resumed_pass_counts_what_was_done_before(tmp_path, capsys):
    run(tmp_path, Progress("none"), sizes=SIZES)
    Workspace(tmp_path / "work").task_files("encode", 3).path("record").unlink()
    progress = Progress("lines")
    assert run(tmp_path, progress, sizes=SIZES) == [0, 1, 4, 9]
    first = capsys.readouterr().err.splitlines()[0]
    assert first == "placing records: 4 tasks, 1,000,000 records, 3 of the tasks done before"
    (work,) = progress.works
    assert (work.tasks_before, work.tasks_done) == (3, 1)
    assert (work.records_before, work.records_done) == (900_000, 100_000)
    assert work.records_per_second == pytest.approx(100_000 / work.seconds)


def test_time_left_goes_by_records_of_this_run_and_is_counted_down(clock):
    work = Work(10, 1_000, 2, 200, tasks_done=1, records_done=400, started=94.0, seconds=4.0)
    assert work.share == 0.6
    assert work.records_per_second == 100
    assert work.seconds_left == pytest.approx(2.0)  # 4 s of 400 records, 2 s ago
    clock[0] += 4
    assert work.seconds_left is None  # more has passed than was thought
    assert Work(10, tasks_before=4).seconds_left is None
    assert Work(0).share == 1.0
    assert Work(0).seconds_left == 0.0


@pytest.mark.parametrize(("n_records", "n_items"), [(10, 3), (2, 5), (0, 1), (7, 7)])
def test_even_shares_are_all_records(n_records, n_items):
    shares = share_evenly(n_records, n_items)
    assert sum(shares) == n_records
    assert len(shares) == n_items
    assert max(shares) - min(shares) <= 1


@pytest.mark.parametrize(
    ("is_terminal", "term", "quiet", "style"),
    [
        (True, "xterm-256color", False, "bar"),
        (True, "dumb", False, "lines"),
        (False, "xterm", False, "lines"),
        (True, "xterm", True, "none"),
    ],
)
def test_style(is_terminal, term, quiet, style, monkeypatch):
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stderr", Terminal() if is_terminal else io.StringIO())
    assert default_style(quiet) == style


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policy")
    path = write_discharges(folder / "discharges.parquet", 5_000)
    document = discharge_document(path, folder / "releases", method={"refine": "off"})
    return write_policy(folder / "policy.yaml", document)


@pytest.mark.parametrize("command", ["run", "plan"])
def test_bar_and_silence_of_commands(command, policy, tmp_path, monkeypatch, capsys):
    terminal = sit_at_terminal(monkeypatch)
    apart = [f"--set=output.path={tmp_path}/{seed}" for seed in (1, 2)]  # no release beside another
    assert main([command, str(policy), "--set=seed=1", apart[0]]) == 0
    assert any("100 %" in line for line in terminal.drawn)
    terminal.truncate(0)
    assert main([command, str(policy), "--set=seed=2", apart[1], "--quiet"]) == 0
    assert terminal.getvalue() == ""
    assert capsys.readouterr().out


def test_silence_is_of_everything_but_errors(policy, monkeypatch):
    terminal = sit_at_terminal(monkeypatch)
    assert main(["run", str(policy), "--quiet", "--set=privacy.k=6000"]) == 2
    assert terminal.getvalue().startswith("tclose: privacy.k: 6000")
    assert terminal.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("run", "--set=seed=3", "--set=engine.workers=1"), id="run"),
        pytest.param(("flow", "--set=seed=4"), id="flow", marks=pytest.mark.nightly),
    ],
)
def test_nothing_else_breaks_the_silence(arguments, policy, tmp_path):
    """Neither Dask nor Prefect, in processes of their own, nor a warning."""
    command, *more = arguments
    ended = subprocess.run(
        [sys.executable, "-m", "tclose", command, str(policy), "--quiet", *more],
        env=os.environ | {"PREFECT_HOME": str(tmp_path)},
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"PASS" in ended.stdout
