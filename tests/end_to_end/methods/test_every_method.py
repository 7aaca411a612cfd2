"""Every method from a policy: released, verified, audited, and true by an independent look."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import LocalCluster

from support.cases.discharge_policies import data_digests
from support.cases.method_cases import CASES, CONFIDENTIAL, EACH, N_RECORDS, QUASI, STAGE
from support.cases.patients import patient_document, write_patients
from support.cases.people import folder_of, publish
from support.checks.released import check_release, classes_in, read_rows
from support.length import every
from support.sizes import Sizes
from tclose.assess.auditing.audit import audit_release
from tclose.methods.method import registered_methods
from tclose.methods.microaggregation.microaggregation import Microaggregation

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.mark.parametrize("case", CASES)
def test_release_is_what_it_says(case: str, source: Path, table: pa.Table, tmp_path: Path) -> None:
    method, keys = CASES[case]
    document = patient_document(source, tmp_path, method, **keys)
    made = publish(document)
    assert made.manifest.verdict == "pass"
    assert made.manifest.method == method["name"]
    assert made.manifest.classes.n_classes > 3
    assert audit_release(made.release).findings == []
    check_release(folder_of(made), table, document)


@pytest.fixture(scope="module")
def clusters() -> Iterator[list[str]]:
    """Addresses of a cluster of two workers and, at length, of one of one."""
    with contextlib.ExitStack() as stack:
        made = [
            LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
            )
            for n_workers in every(2, (2, 1))
        ]
        yield [stack.enter_context(cluster).scheduler_address for cluster in made]


class TestRegions:
    """The same bytes whatever runs the tasks and however the input is cut, in several regions."""

    @pytest.fixture(autouse=True)
    def four_regions(self, sizes: Sizes, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes.regions(500)
        monkeypatch.setattr(Microaggregation, "max_records", 500)

    @pytest.mark.parametrize("case", every(3, EACH[1:]))
    def test_bytes(
        self,
        case: str,
        source: Path,
        table: pa.Table,
        clusters: list[str],
        tmp_path: Path,
        sizes: Sizes,
    ) -> None:
        method, keys = CASES[case]
        document = patient_document(source, tmp_path / "here", method, **keys)
        made = publish(document)
        assert audit_release(made.release).findings == []
        check_release(folder_of(made), table, document)
        plan = json.loads((made.release / "internal" / "plan.json").read_text())
        assert plan["release_partitions"][0]["regions"] == (
            1 if registered_methods()[method["name"]].whole_table else 4
        )
        expected = data_digests(folder_of(made))
        for number, address in enumerate(clusters):
            document["engine"] = {"scheduler": address}
            document["output"] = {"path": str(tmp_path / f"{number}")}
            assert data_digests(folder_of(publish(document))) == expected
        sizes.pieces(rows=400, least=1)
        cut = write_patients(tmp_path / "cut", N_RECORDS, cuts=3)
        document = patient_document(cut, tmp_path / "out", method, **keys)
        assert data_digests(folder_of(publish(document))) == expected

    @pytest.mark.parametrize("case", ["mondrian", "merge", "k first"])
    def test_region_that_is_above_t_as_a_whole_is_joined(
        self, case: str, source: Path, table: pa.Table, tmp_path: Path
    ) -> None:
        """The table has no distance to itself, so there is always a release."""
        tight = {"stage": STAGE | {"t": 0.002}}
        method, _ = CASES[case]
        document = patient_document(
            source, tmp_path, method, privacy={"k": 5, "t": 0.01}, attributes=tight
        )
        check_release(folder_of(publish(document)), table, document)


def test_mondrian_cuts_between_the_leaves_of_a_taxonomy(tmp_path: Path) -> None:
    """By the alphabet a half would hold towns of both branches, which only the root covers."""
    towns = ["a-east", "b-west", "c-east", "d-west"] * 50
    ways = {"any": {"west": ["b-west", "d-west"], "east": ["a-east", "c-east"]}}
    table = pa.table({"id": range(200), "town": towns, "pay": [i // 4 for i in range(200)]})
    pq.write_table(table, tmp_path / "in.parquet")
    document = patient_document(tmp_path / "in.parquet", tmp_path, {"name": "mondrian"})
    document["attributes"] = {
        "id": "non-confidential",
        "town": {"role": QUASI, "taxonomy": ways},
        "pay": CONFIDENTIAL,
    }
    document["privacy"] = {"k": 80, "t": 0.5}
    rows = check_release(folder_of(publish(document)), table, document)
    assert sorted(rows["town"].unique()) == ["east", "west"]


def test_helpers_can_fail(source: Path, table: pa.Table, tmp_path: Path) -> None:
    """The independent look finds a forged row: else it would prove nothing."""
    method, keys = CASES["mondrian"]
    document = patient_document(source, tmp_path, method, **keys)
    made = publish(document)
    tight = document | {"privacy": {"k": 5, "t": 0.01}}
    with pytest.raises(AssertionError):
        check_release(folder_of(made), table, tight)
    with pytest.raises(AssertionError):
        check_release(folder_of(made), table, document | {"privacy": {"k": 50, "t": 0.2}})
    moved = table.set_column(1, "age", pa.array(np.roll(table["age"].to_numpy(), 1)))
    with pytest.raises(AssertionError):
        check_release(folder_of(made), moved, document)
    assert len(classes_in(read_rows(folder_of(made)), document)) == made.manifest.classes.n_classes
