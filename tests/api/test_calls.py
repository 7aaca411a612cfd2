"""Releases, plans, audits and frontiers of paths and frames."""

import copy
import importlib
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import dask
import dask.dataframe as dd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose
from support.tables.frames import QUASI, frame_document, small_table
from tclose.passes import release as passes
from tclose.runtime.scratch import temporary_folder

TABLE = small_table()


def _left_behind() -> list[str]:
    above = temporary_folder()
    return [path.name for path in above.glob("input-*")] if above.exists() else []


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    place = tmp_path_factory.mktemp("out")
    return tclose.release(TABLE.to_pandas(), frame_document(place)), place


def test_a_frame_is_released(released):
    release, place = released
    assert release.verdict == "pass"
    assert not release.already_published
    assert release.path == place / "frames" / release.release_id
    assert release.manifest.records == len(TABLE)
    assert release.audit().passed
    assert release.seconds


def test_the_same_frame_twice_is_one_release(released):
    release, place = released
    again = tclose.release(TABLE.to_pandas(), frame_document(place))
    assert again.already_published
    assert again == release


def test_another_frame_is_another_release(released):
    release, place = released
    other = tclose.release(TABLE.slice(1).to_pandas(), frame_document(place))
    assert other.release_id != release.release_id


def test_nothing_says_where_a_frame_stood(released):
    release, _ = released
    inside = json.loads((release.path / "internal/manifest.json").read_text())
    assert [file["path"] for file in inside["inputs"]] == ["memory://pandas/DataFrame"]
    scratch = str(temporary_folder())
    for path in release.path.rglob("*"):
        assert path.is_dir() or scratch.encode() not in path.read_bytes()


def test_a_frame_and_its_file_give_the_same_rows(released, tmp_path):
    release, _ = released
    pq.write_table(TABLE, tmp_path / "discharges.parquet")
    of_path = tclose.release(str(tmp_path / "discharges.parquet"), frame_document(tmp_path / "out"))
    table = tclose.release(TABLE, frame_document(tmp_path / "out"))
    assert of_path.to_pandas().equals(release.to_pandas())
    assert table.to_pandas().equals(release.to_pandas())


def test_the_policys_own_input(tmp_path):
    pq.write_table(TABLE, tmp_path / "in.parquet")
    document = frame_document(tmp_path / "out", input={"path": str(tmp_path / "in.parquet")})
    policy = tclose.load_policy(_write(tmp_path, document))
    assert isinstance(policy, tclose.Policy)
    release = tclose.release(None, policy)
    assert tclose.release(None, tmp_path / "policy.json.yaml").release_id == release.release_id
    assert tclose.release(tmp_path / "in.parquet", policy).already_published


def _write(folder, document):
    path = folder / "policy.json.yaml"  # JSON is YAML
    path.write_text(json.dumps(document))
    return path


def test_rows_come_back_alike(released):
    release, _ = released
    frame = release.to_pandas()
    assert release.to_arrow().num_rows == len(frame) == len(TABLE)
    lazy = release.to_dask().compute()
    assert lazy.to_dict("list") == frame.to_dict("list")
    assert sorted(frame["charge"]) == sorted(TABLE["charge"].to_pylist())


def test_values_of_a_dask_frame_are_not_made_texts(tmp_path):
    n = len(TABLE)
    table = TABLE.append_column("fee", pa.array([Decimal(i) / 4 for i in range(n)]))
    table = table.append_column("day", pa.array(range(n), pa.int32()).cast(pa.date32()))
    table = table.append_column("paid", pa.array([None, *[True] * (n - 1)]))
    document = frame_document(tmp_path)
    document["attributes"] |= dict.fromkeys(("fee", "day", "paid"), "non-confidential")
    release = tclose.release(table, document)
    lazy, frame = release.to_dask(), release.to_pandas()
    assert (lazy.compute().dtypes == frame.dtypes).all()
    assert lazy["fee"].compute().sum() == frame["fee"].sum()
    assert lazy["day"].compute().max() == frame["day"].max()
    assert lazy["paid"].sum().compute() == n - 1


def _by_severity(place, t):
    document = frame_document(place, privacy={"k": 5, "t": t})
    document["attributes"] |= {"severity": "non-confidential"}
    document["output"] |= {"partition_by": ["severity"]}
    return document


def test_columns_in_folders_come_back(tmp_path):
    document = _by_severity(tmp_path, t=0.6)
    release = tclose.release(TABLE, document)
    assert len(release.manifest.files) > 1
    kept = release.to_arrow()["severity"].to_pylist()
    assert sorted(kept) == sorted(TABLE["severity"].to_pylist())
    assert sorted(release.to_dask()["severity"].compute()) == sorted(kept)


def test_what_is_gone_is_said(tmp_path):
    release = tclose.release(TABLE, frame_document(tmp_path))
    (release.path / release.manifest.files[0].path).unlink()
    with pytest.raises(tclose.OutputError, match="gone or damaged"):
        release.to_pandas()
    assert not release.audit().passed


@pytest.mark.usefixtures("scratch")
def test_scratch_files_are_private_and_removed(tmp_path, monkeypatch):
    seen = {}
    run_release = passes.run_release

    def look(policy, progress):
        [folder] = temporary_folder().glob("input-*")
        seen["modes"] = [stat.S_IMODE(p.stat().st_mode) for p in (folder, *folder.iterdir())]
        return run_release(policy, progress)

    monkeypatch.setattr(passes, "run_release", look)
    tclose.release(TABLE, frame_document(tmp_path))
    assert seen["modes"] == [0o700, 0o600]
    assert _left_behind() == []


@pytest.mark.usefixtures("scratch")
def test_scratch_files_are_removed_after_a_failure(tmp_path):
    with pytest.raises(tclose.InfeasibleError):
        tclose.release(TABLE, _by_severity(tmp_path, t=0.01))
    assert _left_behind() == []
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_plan_says_what_a_release_does(tmp_path):
    plan = tclose.plan(TABLE, frame_document(tmp_path))
    assert plan.records == len(TABLE)
    assert plan.dropped == 0
    assert plan.details.release_partitions[0].records == len(TABLE)
    assert plan.estimate.megabytes > 0 < plan.estimate.seconds
    assert plan.digest in repr(plan)
    assert not list(tmp_path.iterdir())


def test_an_audit_beside_the_originals(released):
    release, place = released
    found = tclose.audit(release, data=TABLE.to_pandas(), policy=frame_document(place))
    assert found.passed
    assert found.details.originals.attackers == len(TABLE)
    assert tclose.audit(str(release.path)).passed
    with pytest.raises(tclose.UsageError, match="policy"):
        tclose.audit(release, data=TABLE)


def test_a_frontier(tmp_path):
    frontier = tclose.frontier(TABLE, frame_document(tmp_path), k=[5], t=[0.3, 0.5])
    frame = frontier.to_pandas()
    assert list(zip(frame["k"], frame["t"], strict=True)) == [(5, 0.3), (5, 0.5)]
    assert frame["feasible"].all()
    assert [point.t for point in frontier.points] == [0.3, 0.5]
    with pytest.raises(tclose.UsageError, match=r"^k 1"):
        tclose.frontier(TABLE, frame_document(tmp_path), k=[1])
    pytest.importorskip("matplotlib")
    chart = frontier.plot()
    assert chart._repr_svg_().startswith("<svg")
    assert "<style" not in chart._repr_html_()
    assert chart.save(tmp_path / "f.svg").read_text() == chart.svg


def test_results_show_themselves_and_escape_names(tmp_path):
    table = TABLE.select([*QUASI, "charge"]).rename_columns([*QUASI, "<b>&"])
    document = frame_document(tmp_path)
    roles = dict.fromkeys(QUASI, "quasi-identifier")
    document["attributes"] = roles | {"<b>&": "confidential"}
    release = tclose.release(table, document)
    check = tclose.check(table, QUASI, ["<b>&"])
    frontier = tclose.frontier(table, document, k=[5], t=[0.3])
    for result in (release, release.audit(), tclose.plan(table, document), check):
        shown = result._repr_html_()
        assert "&lt;b&gt;&amp;" in shown
        assert "<b>" not in shown
        assert "<b>&" in repr(result)
    assert frontier._repr_html_().startswith("<table>")
    assert "PASS" in repr(release)


def test_nothing_is_printed_unless_asked_for(tmp_path, capsys):
    tclose.release(TABLE, frame_document(tmp_path / "a"))
    assert capsys.readouterr() == ("", "")
    tclose.release(TABLE, frame_document(tmp_path / "b"), progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert isinstance(err, str)


@pytest.mark.usefixtures("scratch")
@pytest.mark.parametrize(
    ("data", "error"),
    [
        (3, tclose.UsageError),
        ([1, 2], tclose.UsageError),
        (TABLE["age"], tclose.UsageError),
        (TABLE["age"].to_pandas(), tclose.UsageError),
        ("no/such/file.csv", tclose.DataError),
        (pa.table({"age": [1]}), tclose.DataError),
        (TABLE.rename_columns(["age"] * TABLE.num_columns), tclose.DataError),
    ],
)
def test_no_table(tmp_path, data, error):
    with pytest.raises(error) as raised:
        tclose.release(data, frame_document(tmp_path))
    assert raised.value.exit_code == 2
    assert _left_behind() == []


def test_a_column_is_no_table(tmp_path):
    said = r"data: is a value of type Series, which is no table; give a DataFrame"
    with pytest.raises(tclose.UsageError, match=said):
        tclose.release(TABLE["age"].to_pandas(), frame_document(tmp_path))


@pytest.mark.parametrize("policy", [None, 5, [1]])
def test_no_policy(policy):
    with pytest.raises(tclose.UsageError, match=r"policy: is .*; give a Policy, a mapping, or"):
        tclose.release(TABLE, policy)
    with pytest.raises(tclose.UsageError, match=r"policy: is .*; give the path of a YAML file"):
        tclose.load_policy(policy)


@pytest.mark.parametrize("release", [None, 5])
def test_no_release(release):
    with pytest.raises(tclose.UsageError, match=r"release: is .*; give a Release"):
        tclose.audit(release)


def test_overrides_of_a_policy(tmp_path):
    path = _write(tmp_path, frame_document(tmp_path, input={"path": "in.parquet"}))
    assert tclose.load_policy(path, "privacy.t=0.2") == tclose.load_policy(path, ["privacy.t=0.2"])
    unfit: list[Any] = [5, None, (5,)]
    for wrong in unfit:
        with pytest.raises(tclose.UsageError, match="overrides: has to be texts"):
            tclose.load_policy(path, wrong)


def test_a_frontier_of_one_k_and_one_t(tmp_path):
    document = frame_document(tmp_path, privacy={"k": 5, "t": 0.3})
    unfit: Any = "all"
    found = tclose.frontier(TABLE, document, k=10, t=0.3)
    assert [(point.k, point.t) for point in found.points] == [(5, 0.3), (10, 0.3)]
    with pytest.raises(tclose.UsageError, match="sample: has to be a whole number"):
        tclose.frontier(TABLE, document, sample=unfit)


def test_objects_that_no_file_holds_are_not_quoted(tmp_path):
    frame = TABLE.to_pandas()
    frame["charge"] = [{"secret": 1}, "secret", *range(len(frame) - 2)]
    with pytest.raises(tclose.DataError, match="column 'charge'") as raised:
        tclose.release(frame, frame_document(tmp_path))
    assert "secret" not in str(raised.value)


def test_a_bad_policy(tmp_path):
    with pytest.raises(tclose.PolicyError, match="privacy"):
        tclose.release(TABLE, frame_document(tmp_path, privacy={"k": 0}))
    with pytest.raises(tclose.PolicyError, match="cannot be read"):
        tclose.release(TABLE, tmp_path / "none.yaml")
    with pytest.raises(tclose.PolicyError, match="input"):
        tclose.release(None, frame_document(tmp_path))


def test_errors_of_others_are_not_quoted(tmp_path, monkeypatch):
    def fail(*_):
        raise ValueError("a record's value")

    monkeypatch.setattr(passes, "run_release", fail)
    with pytest.raises(tclose.TaskError, match="stopped by ValueError") as raised:
        tclose.release(TABLE, frame_document(tmp_path))
    assert "record's" not in str(raised.value)


def test_a_dask_frame_gives_the_same_rows(released, tmp_path):
    release, _ = released
    frame = dd.from_pandas(TABLE.to_pandas(), npartitions=3)
    lazy = tclose.release(frame, frame_document(tmp_path))
    assert lazy.to_pandas().to_dict("list") == release.to_pandas().to_dict("list")


def test_paths_of_a_policy_in_memory(tmp_path):
    document = frame_document(tmp_path / "out") | {"output": {"path": tmp_path / "out"}}
    assert tclose.release(TABLE, document).path.parents[1] == tmp_path / "out"


def test_a_column_in_the_index_is_said_to_be_there(tmp_path):
    frame = TABLE.to_pandas().set_index("charge")
    with pytest.raises(tclose.DataError, match=r"has no column 'charge'.*\(reset_index\)"):
        tclose.plan(frame, frame_document(tmp_path))


def test_a_chart_that_cannot_be_written(tmp_path):
    chart = tclose.Chart("<svg/>")
    assert chart.save(tmp_path / "a.svg").read_text() == "<svg/>"
    for place in (tmp_path, tmp_path / "none" / "a.svg"):
        with pytest.raises(tclose.OutputError, match="name a file in a folder that is there"):
            chart.save(place)
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


def test_no_stream_for_progress(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    assert tclose.release(TABLE, frame_document(tmp_path), progress=True).verdict == "pass"


def test_clusters_of_two_threads_take_turns(tmp_path):
    """Dask's configuration is the process's: either would have taken it from the other."""
    importlib.import_module("distributed")  # with which its defaults come
    before = copy.deepcopy(dask.config.config)

    def make(number: int) -> str:
        document = frame_document(tmp_path / str(number), engine={"workers": 1})
        return tclose.release(TABLE.slice(number), document).verdict

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(make, range(2))) == ["pass", "pass"]
    assert dask.config.config == before
