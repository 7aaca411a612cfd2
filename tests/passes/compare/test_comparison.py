"""Whatever goes wrong on the way, a release that is no rearrangement of the input is not made."""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    PASSTHROUGH,
    QUASI,
    people,
    policy_for,
    release,
    write_csv,
    write_parquet,
    write_policy,
)
from support.passes import replace_work
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.data import keys, value_counts
from tclose.errors import VerificationError
from tclose.methods.generalisation import value_buckets
from tclose.model.attributes import Attribute, Column, Noise
from tclose.model.column_terms import Kind, Role
from tclose.passes.compare.comparison import check_records, choose_columns
from tclose.passes.compare.digest_task import restore_folders
from tclose.passes.compare.record_digests import Compared, RecordDigest
from tclose.passes.encode import encode_task
from tclose.passes.microaggregate import aggregate_task, class_files
from tclose.passes.plan.plan_files import confidential_codes
from tclose.passes.publish import write_task
from tclose.passes.release import run_release
from tclose.passes.summarise import summarise_task
from tclose.passes.verify import key_range_task
from tclose.passes.verify.key_range_rows import released_table
from tclose.policy.policy import parse_policy
from tclose.privacy.bucket_cuts import cut_buckets
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.run import repository_of

pytestmark = pytest.mark.usefixtures("small_regions")

N_RECORDS = 300
GRADES = ["low", "mid", "high"]


@pytest.fixture(params=["parquet", "csv"])
def source(request, tmp_path):
    rng = np.random.default_rng(8)
    table = people(
        N_RECORDS,
        grade=pa.array(rng.choice(GRADES, N_RECORDS).tolist()),
        note=pa.array(rng.integers(0, 40, N_RECORDS), mask=rng.random(N_RECORDS) < 0.1),
        site=pa.array(rng.choice(["north", "south"], N_RECORDS).tolist()),
        sum=rng.integers(0, 9, N_RECORDS) / 4,
    )
    write = write_parquet if request.param == "parquet" else write_csv
    return write(tmp_path / f"people.{request.param}", table)


def make_document(source, **changes: Any) -> dict[str, Any]:
    document = policy_for(source, **changes)
    document["attributes"] |= {
        "grade": {"role": CONFIDENTIAL, "type": "ordinal", "order": GRADES},
        "note": PASSTHROUGH,
        "site": PASSTHROUGH,
        "sum": PASSTHROUGH,
    }
    return document


def check_refused(document: dict[str, Any], *said: str) -> None:
    """A run fails as one that does not verify, says which columns, and leaves nothing."""
    policy = parse_policy(document)
    with pytest.raises(VerificationError) as caught:
        run_release(policy, Progress("none"))
    for text in ("nothing was published", *said):
        assert text in str(caught.value)
    root = repository_of(policy).root
    assert not (root / "CURRENT").exists()
    assert not (root / ".work").exists()
    assert not [path for path in root.iterdir() if (path / "manifest.json").exists()]


def patch_codes(monkeypatch, change) -> None:
    """Let a bug change the codes of confidential values as records are encoded."""
    original = confidential_codes

    def changed(table, column, distribution):
        codes = original(table, column, distribution)
        return change(codes, distribution.values.size)

    monkeypatch.setattr(encode_task, "confidential_codes", changed)


class TestBugs:
    def test_values_move_to_other_records(self, source, monkeypatch):
        """Every value stays as common as it was."""
        patch_codes(monkeypatch, lambda codes, _: np.roll(codes, 1))
        check_refused(make_document(source), "records have other values together", "'pay'")

    def test_two_records_swap_a_value(self, source, monkeypatch):
        original = class_files.StoredClasses.__init__

        def swapping(self, keys, sizes, codes, passthrough):
            a, b = 0, int(np.flatnonzero(codes[0] != codes[0, 0])[0])
            codes = codes.copy()
            codes[0, [a, b]] = codes[0, [b, a]]
            original(self, keys, sizes, codes, passthrough)

        monkeypatch.setattr(
            aggregate_task,
            "StoredClasses",
            type("StoredClasses", (class_files.StoredClasses,), {"__init__": swapping}),
        )
        check_refused(make_document(source), "records have other values together")

    def test_a_rank_is_off_by_one(self, source, monkeypatch):
        original = keys.Encoding.decode

        def decode(self, found):
            if self.column.name == "grade":
                found = (found + 1) % 3
            return original(self, found)

        monkeypatch.setattr(keys.Encoding, "decode", decode)
        check_refused(make_document(source), "not the input's values: 'grade'\n")

    def test_text_loses_its_end(self, tmp_path, monkeypatch):
        """What fixed-width arrays did to an order, though counted and decoded alike."""
        words = [*GRADES[:2], "mid\0"]
        table = people(N_RECORDS, grade=pa.array([words[i % 3] for i in range(N_RECORDS)]))
        document = policy_for(write_parquet(tmp_path / "people.parquet", table))
        grade = {"role": CONFIDENTIAL, "type": "ordinal", "order": words}
        document["attributes"] |= {"grade": grade}
        original = value_counts.confidential_keys

        def stripped(table, column):
            order = {t: i for i, t in enumerate(np.array(column.attribute.order).tolist())}
            if column.name != "grade":
                return original(table, column)
            return np.array([order.get(v, -1) for v in table["grade"].to_pylist()], np.int64)

        for module in (summarise_task, confidential_codes.__globals__):
            if isinstance(module, dict):
                monkeypatch.setitem(module, "confidential_keys", stripped)
            else:
                monkeypatch.setattr(module, "confidential_keys", stripped)
        check_refused(document, "not the input's values: 'grade'\n")

    def test_passthrough_values_move(self, source, monkeypatch):
        original = class_files.StoredClasses.write

        def write(self, pending):
            column = self.passthrough["x0"].combine_chunks()
            rolled = pa.concat_arrays([column.slice(1), column.slice(0, 1)])
            return original(
                replace(self, passthrough=self.passthrough.set_column(0, "x0", rolled)), pending
            )

        monkeypatch.setattr(class_files.StoredClasses, "write", write)
        check_refused(make_document(source), "records have other values together")

    def test_a_passthrough_value_changes(self, source, monkeypatch):
        original = released_table

        def released(*args):
            table = original(*args)
            place = table.schema.get_field_index("sum")
            values = table["sum"].to_numpy().copy()
            values[0] = np.nextafter(values[0], 10)
            return table.set_column(place, "sum", pa.array(values))

        monkeypatch.setattr(key_range_task, "released_table", released)
        check_refused(make_document(source), "not the input's values: 'sum'\n")

    def test_a_record_stands_in_the_place_of_another(self, source, monkeypatch):
        original = released_table

        def released(*args):
            table = original(*args)
            return pa.concat_tables([table.slice(0, 1), table.slice(0, 1), table.slice(2)])

        monkeypatch.setattr(key_range_task, "released_table", released)
        check_refused(make_document(source), "not the input's values")

    @pytest.mark.parametrize("partition_by", [["site"], ["site", "sex"]])
    def test_folders_change_places(self, partition_by, source, monkeypatch):
        original = write_task._folder_names
        other = {"site=north": "site=south", "site=south": "site=north"}

        def names(made, prefix):
            return [other.get(name, name) for name in original(made, prefix)]

        output = {"path": str(source.parent / "releases"), "partition_by": partition_by}
        document = make_document(source, output=output, privacy={"k": 2, "t": 0.6})
        assert release(document).manifest["values"]["compared"][-2:] == ["site", "sum"]
        monkeypatch.setattr(write_task, "_folder_names", names)
        check_refused(document | {"name": "other"}, "in another order")

    def test_buckets_are_those_of_other_values(self, source, monkeypatch):
        original = cut_buckets

        def cut(*args):
            found = original(*args)
            of_code = found.of_code.copy()
            border = int(np.flatnonzero(np.diff(of_code))[0])
            of_code[[border, border + 1]] = of_code[[border + 1, border]]
            return replace(found, of_code=of_code)

        document = make_document(source, method={"name": "bucketization", "ratio": 2})
        document["privacy"] = {"k": 3}
        document["attributes"]["grade"] = PASSTHROUGH
        made = release(document)
        assert made.manifest["values"]["as_buckets"] == ["pay"]
        assert set(made.manifest["values"]["compared"]) == {"pay", "grade", "note", "site", "sum"}
        monkeypatch.setattr(value_buckets, "cut_buckets", cut)
        check_refused(document | {"name": "other"}, "in another order")

    def test_incomplete_records_are_mixed_up(self, tmp_path, monkeypatch):
        """Another record is left out than the one that lacks a value; as many are."""
        pays = pa.array([None, *range(N_RECORDS - 1)], pa.int64())
        table = people(N_RECORDS, pay=pays, note=pa.array(range(N_RECORDS)))
        document = policy_for(write_parquet(tmp_path / "people.parquet", table), missing="drop")
        document["attributes"]["note"] = PASSTHROUGH
        original = encode_task._order_passthrough

        def order_passthrough(plan, kept, order):
            notes = pa.array([0, *kept["note"].to_pylist()[1:]])
            return original(
                plan, kept.set_column(kept.schema.get_field_index("note"), "note", notes), order
            )

        assert release(document).manifest["values"]["records"] == N_RECORDS - 1
        monkeypatch.setattr(encode_task, "_order_passthrough", order_passthrough)
        check_refused(document | {"name": "other"}, "not the input's values: 'note'")


def test_status_and_message(source, tmp_path, monkeypatch, capsys):
    patch_codes(monkeypatch, lambda codes, _: np.roll(codes, 1))
    policy = write_policy(tmp_path / "policy.yaml", make_document(source))
    assert main(["run", str(policy), "--quiet"]) == 3
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "'pay', 'grade', 'note', 'site', 'sum'" in said


def test_what_was_compared_is_said(source, capsys):
    made = release(make_document(source))
    assert made.manifest["values"] == {
        "compared": ["pay", "grade", "note", "site", "sum"],
        "as_buckets": [],
        "left_out": {},
        "records": N_RECORDS,
        "result": "identical",
    }
    assert audit_release(made.folder).findings == []
    assert main(["show", str(made.folder)]) == 0
    assert "identical to the input's in pay, grade, note, site, sum" in capsys.readouterr().out
    assert (
        "compared with those of the input in pay, grade"
        in (made.folder / "dictionary.md").read_text()
    )


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("compared", ["pay"], "the columns are not those of the release"),
        ("left_out", {"age": "noise"}, "the columns are not those of the release"),
        ("as_buckets", ["pay"], "the columns are not those of the release"),
        ("records", N_RECORDS - 1, "records differs"),
        ("result", "similar", "values.result"),
    ],
)
def test_edited_statements_are_found(key, value, said, source):
    made = release(make_document(source))
    edited = made.manifest | {"values": made.manifest["values"] | {key: value}}
    (made.folder / "manifest.json").write_text(json.dumps(edited))
    assert said in " ".join(audit_release(made.folder).findings)


def test_files_that_change_between_two_runs_are_found(source, monkeypatch):
    """Even where the record beside a working file was written anew, digest and all."""
    document = make_document(source)
    policy = parse_policy(document)

    def broken(_):
        raise RuntimeError

    with monkeypatch.context() as patch:
        replace_work(patch, "publish", broken)
        with pytest.raises(RuntimeError):
            run_release(policy, Progress("none"))
    (work,) = (source.parent / "releases" / "people" / ".work").iterdir()
    victim = work / "verify" / "000000.released"
    table = pa.ipc.open_file(victim.read_bytes()).read_all()
    values = table["sum"].to_numpy().copy()
    values[0] += 0.25
    table = table.set_column(table.schema.get_field_index("sum"), "sum", pa.array(values))
    with pa.OSFile(str(victim), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    record = victim.with_suffix(".record")
    _, head, result = record.read_bytes().split(b"\n")
    kept = json.loads(head)
    kept["digests"]["released"] = hashlib.sha256(victim.read_bytes()).hexdigest()
    payload = json.dumps(kept).encode() + b"\n" + result
    record.write_bytes(hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)
    check_refused(document, "not the input's values: 'sum'")


def test_a_plan_digests_nothing_and_makes_no_key(source, tmp_path):
    policy = write_policy(tmp_path / "policy.yaml", make_document(source))
    assert main(["plan", str(policy), "--quiet"]) == 0
    assert not (tmp_path / "releases").exists()


class TestChoice:
    def column(self, name: str, role: Role, **keys: Any) -> Column:
        return Column(Attribute(name, role, **keys), Kind.NUMERIC, pa.int64())

    def test_columns(self):
        noise = Noise(epsilon=Fraction(1))
        columns = [
            self.column("age", Role.QUASI_IDENTIFIER),
            self.column("pay", Role.CONFIDENTIAL),
            self.column("hours", Role.CONFIDENTIAL, noise=noise),
            self.column("note", Role.NON_CONFIDENTIAL),
            self.column("site", Role.NON_CONFIDENTIAL),
        ]
        assert choose_columns(columns, ("site",), buckets=False) == Compared(
            columns=("pay", "note", "site"),
            needed=("age", "pay", "hours", "site"),
            as_values=("pay",),
            left_out=(("hours", "released with noise"),),
        )
        assert choose_columns(columns, (), buckets=True).bucketed == ("pay",)

    def test_folders_are_read_as_the_columns_they_are(self):
        table = pa.table({"x": [1, 2]})
        types = {"a b": pa.dictionary(pa.int8(), pa.string()), "n": pa.int16(), "y": pa.bool_()}
        path = "data/a b=%2F%C3%A9%00/n=-3/y=true/part-00000.parquet"
        whole = restore_folders(table, path, types)
        assert whole.to_pylist()[1] == {"x": 2, "a b": "/é\0", "n": -3, "y": True}

    def test_folders_of_generalised_values_are_left_out(self):
        table = pa.table({"x": [1, 2]})
        whole = restore_folders(
            table, "data/age=%5B18%2C 25%5D/site=a/p.parquet", {"site": pa.string()}
        )
        assert whole.to_pylist()[0] == {"x": 1, "site": "a"}


def test_counts_are_named():
    one, two = (RecordDigest(n, np.zeros((2, 2), dtype=np.uint64)) for n in (1, 2))
    with pytest.raises(VerificationError, match="has 1 complete records, the files 2 rows"):
        check_records(Compared(("x",), ()), one, two)


def test_quasi_identifiers_alone_may_differ(source):
    """Aggregates are no values of records: nothing is said of them."""
    made = release(make_document(source))
    assert QUASI not in {
        column["role"]
        for column in made.manifest["columns"]
        if column["name"] in made.manifest["values"]["compared"]
    }
    assert pq.read_table(made.folder / made.paths[0]).num_columns == 7
