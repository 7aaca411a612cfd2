"""Wide records: the same release whichever way columns take, in bounded memory, or a refusal."""

from collections import namedtuple
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import (
    PASSTHROUGH,
    QUASI,
    people,
    policy_for,
    release,
    write_csv,
    write_parquet,
)
from support.passes import decide_only
from tclose.data.files import input_partitions
from tclose.errors import DataError, PolicyError, VerificationError
from tclose.passes.encode.wide_columns import References
from tclose.passes.plan import plan
from tclose.passes.plan.notices import footprint
from tclose.passes.plan.notices.estimate import task_megabytes
from tclose.passes.publish import write_task
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")

N = 400
Usage = namedtuple("Usage", ["total", "used", "free"])


def wide_people(n_records=N):
    """Long texts with ties and holes, numbers, some records without a confidential value."""
    rng = np.random.default_rng(4)
    texts = np.array(["a" * 900, "a" * 900 + "b", "c" * 200, ""])[rng.integers(0, 4, n_records)]
    return people(
        n_records,
        pay=pa.array(rng.integers(0, 9, n_records), mask=rng.random(n_records) < 0.05),
        long=pa.array(texts, mask=rng.random(n_records) < 0.1),
        score=rng.choice([0.0, -0.0, 1.5], n_records),
        site=pa.array(np.array(["north", "south"])[rng.integers(0, 2, n_records)]),
        note=pa.array([f"{i % 3}" * 150 for i in range(n_records)]),
    )


def wide_policy(source, name, partition_by=()):
    attributes = {"age": QUASI, "sex": QUASI, "pay": "confidential", "long": PASSTHROUGH}
    attributes |= {"score": PASSTHROUGH, "site": PASSTHROUGH, "note": PASSTHROUGH}
    output: dict[str, Any] = {"path": str(source.parent / name), "partition_by": list(partition_by)}
    output["rows_per_file"] = 150
    return policy_for(source, attributes=attributes, missing="drop", output=output)


def by_value(monkeypatch):
    for module in (plan, input_partitions):
        monkeypatch.setattr(module, "WIDE_RECORD", 10**9)


def in_small_pieces(sizes):
    sizes.pieces(least=90)
    sizes.wide(fetched=3_000, batch=5_000, columns=2, compared=10_000)


@pytest.mark.parametrize("partition_by", [(), ("site",)], ids=str)
@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_columns_by_reference_are_those_by_value(write, partition_by, tmp_path, monkeypatch, sizes):
    source = write(tmp_path / "people.data", wide_people())
    with monkeypatch.context() as patch:
        by_value(patch)
        expected = release(wide_policy(source, "value", partition_by))
    fetched, fetch = [], References.fetch

    def counted(self, positions):
        fetched.append(positions.size)
        return fetch(self, positions)

    monkeypatch.setattr(References, "fetch", counted)
    assert release(wide_policy(source, "whole", partition_by)).data == expected.data
    in_small_pieces(sizes)
    assert release(wide_policy(source, "pieces", partition_by)).data == expected.data
    assert sum(fetched) == 2 * len(expected.table)
    assert len(fetched) > 50


def test_columns_of_which_all_decide_are_read_in_groups(tmp_path, sizes):
    """None is left for the groups that are passed through."""
    source = write_parquet(tmp_path / "people.parquet", wide_people().select(["age", "sex", "pay"]))
    attributes = {"age": QUASI, "sex": QUASI, "pay": "confidential"}

    def output(name):
        return {"path": str(tmp_path / name)}

    together, apart = (
        policy_for(source, attributes=attributes, missing="drop", output=output(name))
        for name in ("together", "apart")
    )
    expected = release(together)
    in_small_pieces(sizes)
    assert release(apart).data == expected.data


def test_a_fetched_record_of_another_is_found(tmp_path, monkeypatch):
    source = write_parquet(tmp_path / "people.parquet", wide_people())
    fetch = References.fetch
    monkeypatch.setattr(References, "fetch", lambda self, at: fetch(self, np.roll(at, 1)))
    with pytest.raises(VerificationError, match="records have other values together"):
        release(wide_policy(source, "releases"))


def test_a_file_that_does_not_read_back_is_found(tmp_path, monkeypatch):
    source = write_parquet(tmp_path / "people.parquet", wide_people())
    monkeypatch.setattr(write_task, "as_bits", lambda table: pa.table({"n": [id(table)]}))
    with pytest.raises(VerificationError, match="does not read back as it was written"):
        release(wide_policy(source, "releases"))


def texts_of(n_records, n_bytes):
    raw = np.random.default_rng(1).integers(97, 123, n_records * n_bytes, dtype=np.uint8)
    ends = np.arange(0, raw.size + 1, n_bytes, dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(raw)]
    return pa.Array.from_buffers(pa.string(), n_records, buffers)


def long_policy(source, memory, **output):
    attributes = {"age": QUASI, "sex": QUASI, "pay": "confidential", "text": PASSTHROUGH}
    place = {"path": str(source.parent / "releases")} | output
    engine = {"workers": 1, "memory_per_worker": memory}
    document = policy_for(source, attributes=attributes, output=place, engine=engine)
    return document | {"method": {"refine": "off"}}


@pytest.mark.nightly
def test_a_worker_holds_less_than_the_records(tmp_path):
    """720 MB of texts, by a worker of 650 MB."""
    source = tmp_path / "people.parquet"
    table = people(120_000, text=texts_of(120_000, 6_000))
    pq.write_table(table, source, compression="none", use_dictionary=False)
    made = release(long_policy(source, "650MB", rows_per_file=10_000))
    assert sum(len(text) for text in made.table["text"].to_pylist()) == 6_000 * 120_000


def plan_of(document, tmp_path):
    return decide_only(parse_policy(document), tmp_path / "scratch", Progress("none"))[0]


def test_one_long_value_is_refused_before_it_is_decoded(tmp_path):
    texts = ["short"] * 2_000
    texts[700] = "x" * 60_000_000
    source = write_parquet(tmp_path / "people.parquet", people(2_000, text=texts))
    with pytest.raises(
        DataError, match=r"file people\.parquet: column 'text' has values.* of up to 60,0.* 300 MB"
    ):
        plan_of(long_policy(source, "300MB"), tmp_path)
    with pytest.raises(DataError, match="column 'text'"):
        release(long_policy(source, "300MB"))


def test_a_dictionary_that_is_larger_than_the_disk_is_refused(tmp_path, monkeypatch):
    places = pa.DictionaryArray.from_arrays(pa.array([0] * 50_000, pa.int32()), ["x" * 1_000_000])
    source = write_parquet(tmp_path / "people.parquet", people(50_000, text=places))
    monkeypatch.setattr(
        "tclose.passes.plan.notices.footprint.shutil.disk_usage", lambda _: Usage(0, 0, 10**9)
    )
    with pytest.raises(DataError, match=r"columns take 50,\d+ MB when .* there are 1,000 MB"):
        plan_of(long_policy(source, "1GB"), tmp_path)


def test_room_that_is_nearly_none_is_told_in_kilobytes(tmp_path, monkeypatch):
    source = write_parquet(tmp_path / "people.parquet", people(400))
    monkeypatch.setattr(
        "tclose.passes.plan.notices.footprint.shutil.disk_usage", lambda _: Usage(0, 0, 2_000)
    )
    with pytest.raises(
        DataError, match=r"take \d+ kB when .* about \d+ kB, and there are 2 kB in /"
    ):
        plan_of(policy_for(source), tmp_path)


def test_records_that_do_not_fit_together_are_refused(tmp_path):
    table = people(30_000, text=texts_of(30_000, 6_000))
    source = write_parquet(tmp_path / "people.parquet", table)
    with pytest.raises(DataError, match=r"records of 6,\d+ bytes take about 400 MB to read, and"):
        plan_of(long_policy(source, "300MB"), tmp_path / "least")
    with pytest.raises(
        PolicyError, match=r"needs about \d+ MB.*pass-through columns have 6,008 bytes.*'text'"
    ):
        plan_of(long_policy(source, "400MB"), tmp_path / "less")
    made = plan_of(long_policy(source, "1GB"), tmp_path / "more")
    assert 500 < task_megabytes(made) < 1_000


@pytest.mark.nightly
def test_many_long_quasi_identifiers_are_refused(tmp_path):
    table = people(20_000, text=texts_of(20_000, 2_000))
    source = write_parquet(tmp_path / "people.parquet", table)
    document = long_policy(source, "400MB")
    document["attributes"] |= {"text": QUASI}
    with pytest.raises(DataError, match=r"to read, 4\d MB of texts in quasi-identifiers and"):
        plan_of(document, tmp_path / "least")
    document["engine"] = {}
    made = plan_of(document, tmp_path / "more")
    assert 400e6 > footprint.text_bytes(made) > 8 * table["text"].nbytes
    with pytest.raises(PolicyError, match="have many long texts: group them"):
        footprint.refuse_wide(made, 500_000_000)
    footprint.refuse_wide(made, 700_000_000)
