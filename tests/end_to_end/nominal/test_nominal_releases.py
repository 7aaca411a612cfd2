"""Nominal confidential attributes on the whole path, checked from the files by other means."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from support.cases.nominal_cases import (
    EQUAL,
    HIERARCHICAL,
    N_RECORDS,
    TREE,
    check_release,
    document,
    patients,
    with_illness,
)
from support.cases.people import CONFIDENTIAL, PASSTHROUGH, QUASI, release
from support.naive import naive_kernels as naive
from support.naive import naive_taxonomy
from tclose.assess.auditing.audit import audit_release
from tclose.errors import InfeasibleError
from tclose.passes.microaggregate.shares.representatives import MORE_LOSS

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.mark.parametrize("losses", ["absolute", "relative"])
@pytest.mark.parametrize("refine", ["off", "fast"])
@pytest.mark.parametrize(
    ("illness", "distance"),
    [
        (EQUAL, "equal"),
        (HIERARCHICAL, "hierarchical"),
        (HIERARCHICAL | {"subsets_by": "frequency"}, "hierarchical"),
        (HIERARCHICAL | {"distance": "equal"}, "equal"),
        (HIERARCHICAL | {"distance": "equal", "subsets_by": "frequency"}, "equal"),
    ],
    ids=["equal", "tree", "tree-by-frequency", "equal-by-tree", "equal-by-frequency"],
)
def test_release_is_close(illness, distance, refine, losses, source, tmp_path):
    method = {"refine": refine, "losses": losses}
    changes = {"attributes": with_illness(illness), "method": method}
    made = release(document(source, tmp_path, **changes))
    frame = check_release(made, distance, 0.15)
    assert sorted(frame["illness"]) == sorted(patients()["illness"].to_pylist())
    # By default categories keep their shares, for which so much more may be lost.
    if (losses, refine) != ("relative", "off"):  # clusters then keep numbers for categories
        assert made.manifest["information_loss"]["total"] < 0.015 * (1 + MORE_LOSS)
    if losses == "relative":
        shares = made.internal["exact_information_loss"]["of_one_class"].values()
        assert sum(shares) / len(shares) < 0.185 * (1 + MORE_LOSS)


def test_refinement_loses_less(source, tmp_path):
    losses = [
        release(document(source, tmp_path / refine, method={"refine": refine})).manifest[
            "information_loss"
        ]["total"]
        for refine in ("off", "fast")
    ]
    assert losses[1] < 0.9 * losses[0]


@pytest.mark.parametrize("written", ["yaml", "csv"])
def test_taxonomy_of_a_file_is_that_of_the_policy(written, source, tmp_path):
    path = tmp_path / f"illnesses.{written}"
    if written == "yaml":
        path.write_text(yaml.safe_dump(naive_taxonomy.to_document(TREE), sort_keys=False))
    else:
        path.write_text("".join(";".join(row) + "\n" for row in naive_taxonomy.to_rows(TREE)))
    from_file = with_illness({"role": CONFIDENTIAL, "taxonomy": str(path)})
    made = release(document(source, tmp_path / "a", attributes=from_file))
    expected = release(document(source, tmp_path / "b"))
    assert made.data == expected.data
    assert made.manifest["columns"] == expected.manifest["columns"]
    assert made.manifest["columns"][-1]["taxonomy"] == naive_taxonomy.to_rows(TREE)


def test_distance_is_the_least_work_of_any_transport(source, tmp_path):
    """Solved as a linear program, for each class of few records."""
    made = release(document(source, tmp_path, method={"refine": 2}))
    frame = made.frame
    table = frame["illness"].tolist()
    found = max(
        naive_taxonomy.transport(
            members.tolist(), table, lambda a, b: naive_taxonomy.distance(TREE, a, b)
        )
        for _, members in frame.groupby(["age", "sex", "weight"])["illness"]
    )
    said = made.manifest["privacy"]["t"]["illness"]["largest_emd"]
    assert said == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("refine", ["off", "fast"])
@pytest.mark.parametrize("first", ["illness", "pay"])
def test_beside_an_ordered_attribute(first, refine, source, tmp_path):
    """Subsets follow the one with the smaller t; classes are within both."""
    limits = {"illness": 0.25, "pay": 0.25} | {first: 0.15}
    roles = with_illness(
        HIERARCHICAL | {"t": limits["illness"]}, pay={"role": CONFIDENTIAL, "t": limits["pay"]}
    )
    made = release(document(source, tmp_path, attributes=roles, method={"refine": refine}))
    frame = check_release(made, "hierarchical", limits["illness"])
    groups = frame.groupby(["age", "sex", "weight"])["pay"]
    found = max(naive.ordered_emd(pay.tolist(), frame["pay"].tolist()) for _, pay in groups)
    of_pay = made.manifest["privacy"]["t"]["pay"]
    assert of_pay["distance"] == "ordered"
    assert of_pay["largest_emd"] == pytest.approx(float(found), abs=1e-12)
    assert found <= Fraction(str(limits["pay"]))


@pytest.mark.parametrize("refine", ["off", "fast"])
def test_beside_another_nominal_one(refine, source, tmp_path):
    roles = with_illness(HIERARCHICAL, site={"role": CONFIDENTIAL, "t": 0.2})
    made = release(document(source, tmp_path, attributes=roles, method={"refine": refine}))
    frame = check_release(made, "hierarchical", 0.15)
    groups = frame.groupby(["age", "sex", "weight"])["site"]
    found = max(naive_taxonomy.equal_emd(s.tolist(), frame["site"].tolist()) for _, s in groups)
    assert made.manifest["privacy"]["t"]["site"]["largest_emd"] == pytest.approx(float(found))
    assert found <= Fraction(1, 5)


@pytest.mark.parametrize("illness", [EQUAL, HIERARCHICAL], ids=["equal", "tree"])
@pytest.mark.parametrize("refine", ["off", "fast"])
def test_in_hard_partitions(refine, illness, source, tmp_path):
    """Some files lack some illnesses, so that each numbers its own in another way."""
    changes = {
        "attributes": with_illness(illness, site=PASSTHROUGH),
        "output": {"path": str(tmp_path), "partition_by": ["site"]},
        "privacy": {"k": 4, "t": 0.2},
        "method": {"refine": refine},
    }
    made = release(document(source, tmp_path, **changes))
    distance = "hierarchical" if "taxonomy" in illness else "equal"
    frame = check_release(made, distance, 0.2, ("site", "age", "sex", "weight"))
    expected = patients().to_pandas()
    for columns in (["site", "illness"],):
        counts = frame.astype({"site": str}).value_counts(columns)
        assert counts.to_dict() == expected.value_counts(columns).to_dict()


def test_partition_far_from_the_table_is_proved_infeasible(tmp_path):
    table = patients()
    north = np.array(table["site"].to_pylist()) == "north"
    illness = np.where(north, "embolism", table["illness"].to_numpy(zero_copy_only=False))
    path = tmp_path / "in.parquet"
    pq.write_table(table.set_column(4, "illness", pa.array(illness)), path)
    changes = {
        "attributes": with_illness(HIERARCHICAL, site=PASSTHROUGH),
        "output": {"path": str(tmp_path / "out"), "partition_by": ["site"]},
    }
    far = {
        site: naive_taxonomy.hierarchical_emd(TREE, illness[of_site].tolist(), illness.tolist())
        for site, of_site in (("north", north), ("south", ~north))
    }
    site = max(far, key=far.__getitem__)
    assert far[site] > Fraction(3, 20)
    words = rf"site={site}: .*'illness' is at distance {float(far[site]):.5f}"
    with pytest.raises(InfeasibleError, match=words) as refused:
        release(document(path, tmp_path / "out", **changes))
    assert "embolism" not in str(refused.value)
    assert not list((tmp_path / "out").rglob("*.parquet"))


def in_partitions(source: Path, place: Path, **more: Any) -> dict[str, Any]:
    """Of everything some: two confidential attributes, hard partitions, refined."""
    changes = {
        "attributes": with_illness(
            HIERARCHICAL, pay={"role": CONFIDENTIAL, "t": 0.3}, site=PASSTHROUGH
        ),
        "output": {"path": str(place), "partition_by": ["site"]},
        "privacy": {"k": 4, "t": 0.2},
        "method": {"refine": 3},
    }
    return document(source, place, **changes | more)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "in.parquet"
    pq.write_table(patients(), path)
    return path


@pytest.fixture(scope="module")
def expected(whole, tmp_path_factory) -> dict[str, bytes]:
    return release(in_partitions(whole, tmp_path_factory.mktemp("expected"))).data


class TestSameBytes:
    @pytest.mark.parametrize("workers", [1, 2])
    def test_whatever_the_workers(self, workers, whole, expected, tmp_path):
        asked = in_partitions(whole, tmp_path, engine={"workers": workers})
        assert release(asked).data == expected

    @pytest.mark.parametrize("file_sizes", [(1, 5, 400, 794), (600, 600)])
    def test_whatever_the_cut(self, file_sizes, expected, tmp_path, sizes):
        """First files of one record and of five: they know few of the illnesses."""
        folder, table, start = tmp_path / "in", patients(), 0
        folder.mkdir()
        for number, size in enumerate(file_sizes):
            pq.write_table(
                table.slice(start, size), folder / f"{number}.parquet", row_group_size=70
            )
            start += size
        sizes.pieces(rows=200, least=50)
        assert release(in_partitions(folder, tmp_path / "out")).data == expected

    def test_whatever_the_type_of_the_text(self, expected, tmp_path):
        table = patients()
        listed = table["illness"].combine_chunks().dictionary_encode()
        path = tmp_path / "in.parquet"
        pq.write_table(table.set_column(4, "illness", listed), path)
        assert release(in_partitions(path, tmp_path / "out")).data == expected


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("code", pa.array([(i * i) % 7 for i in range(N_RECORDS)])),
        ("code", pa.array([((i * i) % 7) / 2 - 1 for i in range(N_RECORDS)])),
        ("code", pa.array([i % 3 == 0 for i in range(N_RECORDS)])),
    ],
    ids=["integers", "floats", "booleans"],
)
@pytest.mark.parametrize("declared", [{}, {"type": "nominal"}], ids=["own", "nominal"])
def test_any_type_may_be_equally_far(declared, column, values, tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(patients().append_column(column, values), path)
    roles = {"age": QUASI, "sex": QUASI, column: {"role": CONFIDENTIAL, "distance": "equal"}}
    roles[column] |= declared
    made = release(document(path, tmp_path / "out", attributes=roles, method={"refine": 2}))
    frame = made.frame
    assert audit_release(made.folder).findings == []
    assert sorted(frame[column]) == sorted(values.to_pylist())
    found = max(
        naive_taxonomy.equal_emd(members.tolist(), frame[column].tolist())
        for _, members in frame.groupby(["age", "sex"])[column]
    )
    assert found <= Fraction(3, 20)
    said = made.manifest["privacy"]["t"][column]
    assert said["distance"] == "equal"
    assert said["largest_emd"] == pytest.approx(float(found), abs=1e-12)


def test_without_a_search_a_larger_t_does_not_end_in_fewer_classes(tmp_path):
    """Nearly all clusters of k are above t where few values are as far from each other."""
    rng = np.random.default_rng(1)
    columns = {name: rng.normal(size=5_000).round(4) for name in ("age", "weight", "height")}
    early = np.where(columns["weight"] > 0.6, "b", "a")
    table = columns | {"shift": np.where(columns["age"] > 1.6, "c", early)}
    pq.write_table(pa.table(table), tmp_path / "in.parquet")

    def made(t):
        attributes = dict.fromkeys(columns, QUASI) | {"shift": CONFIDENTIAL}
        privacy, method = {"k": 5, "t": t}, {"refine": "off"}
        changes = {"attributes": attributes, "privacy": privacy, "method": method}
        return release(document(tmp_path / "in.parquet", tmp_path, **changes)).manifest

    smaller, larger = made(0.03), made(0.1)
    assert larger["information_loss"]["total"] < smaller["information_loss"]["total"]
    assert larger["classes"]["n_classes"] > 2 * smaller["classes"]["n_classes"]
    assert larger["classes"]["largest"] < 50
