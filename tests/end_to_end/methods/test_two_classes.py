"""As many classes as 2 k records, or a few more, can have: two, not one."""

from itertools import combinations, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import CONFIDENTIAL, QUASI, policy_for, release
from support.length import every
from support.naive import naive_kernels as naive
from tclose.assess.auditing.audit import audit_release

pytestmark = pytest.mark.usefixtures("small_regions")

K = 6
# Two groups of ages, each with every pay.
AGES = [1, 3, 4, 5, 7, 8, 51, 52, 54, 55, 57, 58, 59]
PAYS = {
    "distinct": [0, 11, 2, 9, 4, 7, 6, 5, 8, 3, 10, 1, 12],
    "ties": [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 2],
}
METHODS: dict[str, dict[str, Any]] = {
    "t-closeness-first": {},
    "t-closeness-first, full": {"refine": "full"},
    "t-closeness-first, off": {"refine": "off"},
    "t-closeness-first, table": {"scope": "table"},
    "t-closeness-first, paper": {"class_size": "paper"},
    "k-anonymity-first": {},
    "microaggregate-and-merge": {},
    "mdav": {},
    "v-mdav": {},
    "mondrian": {},
    "incognito": {},
    "sabre": {},
    "bucketization": {"ratio": 2},
}


def smallest_t(pays: list[int]) -> float:
    """Least t of two classes of K records or more, the larger distance of both: all tried."""
    found = []
    for size in range(K, len(pays) - K + 1):
        for chosen in combinations(range(len(pays)), size):
            parts = [
                [p for i, p in enumerate(pays) if (i in chosen) == inside] for inside in (1, 0)
            ]
            found.append(max(naive.ordered_emd(part, pays) for part in parts))
    return float(min(found))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("method", "n_records", "pays"), every(3, product(METHODS, [2 * K, 2 * K + 1], PAYS))
)
def test_two_classes(method: str, n_records: int, pays: str, tmp_path: Path) -> None:
    t = 0.25
    given = PAYS[pays][:n_records]
    assert smallest_t(given) < t
    pq.write_table(pa.table({"age": AGES[:n_records], "pay": given}), tmp_path / "in.parquet")
    name = method.partition(", ")[0]
    age: dict[str, Any] = {"role": QUASI}
    if name == "incognito":
        age["intervals"] = {"widths": [50]}
    document = policy_for(
        tmp_path / "in.parquet",
        attributes={"age": age, "pay": CONFIDENTIAL},
        privacy={"k": K, "t": t},
        method={"name": name} | METHODS[method],
    )
    made = release(document)
    assert made.class_sizes(["age"]) == [n_records // 2, n_records - n_records // 2]
    assert audit_release(made.folder).findings == []


def test_one_class_where_t_allows_no_two(tmp_path: Path) -> None:
    """Eleven have one pay and one another, whose class is far from the table, as is the other."""
    pays = [0] * 11 + [1]
    t = 0.05
    assert smallest_t(pays) > t
    pq.write_table(pa.table({"age": AGES[:12], "pay": pays}), tmp_path / "in.parquet")
    document = policy_for(
        tmp_path / "in.parquet",
        attributes={"age": QUASI, "pay": CONFIDENTIAL},
        privacy={"k": K, "t": t},
    )
    assert release(document).class_sizes(["age"]) == [12]
