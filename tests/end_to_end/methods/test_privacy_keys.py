"""Each privacy key of a policy, under every method: held by an independent check, or refused."""

import copy
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases import privacy_keys
from support.cases.people import folder_of, publish
from support.cases.privacy_keys import CASES, METHODS, OTHERS, document_of, keys_of, merged
from support.checks.privacy_checks import check_held
from support.length import every
from tclose.assess.auditing.audit import audit_release
from tclose.errors import TcloseError
from tclose.policy.policy import parse_policy, policy_schema
from tclose.runtime.run import Outcome

pytestmark = pytest.mark.usefixtures("small_regions")

pytest.importorskip("opendp")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> tuple[pa.Table, Path]:
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    table = privacy_keys.table()
    pq.write_table(table, path)
    return table, path


def test_each_key_has_a_case() -> None:
    """A key that is new to policies needs one, or a word that it is not about privacy."""
    found = keys_of(policy_schema())
    assert found == OTHERS | {case.partition(", ")[0] for case in CASES}
    assert not OTHERS & set(CASES)


def try_to_publish(document: dict[str, Any]) -> Outcome | TcloseError:
    try:
        return publish(copy.deepcopy(document))
    except TcloseError as refusal:
        return refusal


@pytest.mark.parametrize(("case", "method"), every(3, product(CASES, METHODS)))
def test_held_or_refused(
    method: str, case: str, records: tuple[pa.Table, Path], tmp_path: Path
) -> None:
    """A release meets its policy, and not one that asks more by that key: so the check sees it."""
    table, source = records
    demand = CASES[case]
    document = document_of(method, source, tmp_path, demand.asked)
    made = try_to_publish(document)
    if isinstance(made, TcloseError):
        assert made.exit_code in (2, 3)
        assert not list(tmp_path.rglob("CURRENT"))
        return
    assert not demand.only or method in demand.only
    assert audit_release(made.release).findings == []
    check_held(folder_of(made), table, document)
    if "epsilon" in case:  # which no release shows
        assert made.manifest.noise["pay"].epsilon == 1
        return
    with pytest.raises((AssertionError, KeyError)):
        check_held(folder_of(made), table, merged(document, demand.stricter))


@pytest.mark.parametrize("case", CASES)
def test_some_method_holds_it(case: str, records: tuple[pa.Table, Path], tmp_path: Path) -> None:
    """A key that all methods refuse would show nothing."""
    methods = CASES[case].only or ("t-closeness-first", "dp-confidential")
    held = []
    for number, method in enumerate(methods):
        document = document_of(method, records[1], tmp_path / str(number), CASES[case].asked)
        held.append(isinstance(try_to_publish(document), Outcome))
    assert any(held)


@pytest.mark.parametrize(
    ("method", "asked", "message"),
    [
        ({"ratio": 2}, {"pay": {"distance": "equal"}}, "attributes.pay: released as its bucket"),
        (
            {"ratio": 2},
            {"pay": None, "ill": {"role": "confidential", "taxonomy": privacy_keys.ILLS}},
            "attributes.ill: released as its bucket it has the distance of ordered values; take d",
        ),
    ],
)
def test_distance_of_released_buckets(
    method: dict[str, Any], asked: dict[str, Any], message: str, records: Any, tmp_path: Path
) -> None:
    document = document_of("bucketization", records[1], tmp_path, {"attributes": asked})
    with pytest.raises(TcloseError, match=message):
        parse_policy(merged(document, {"method": method}))
    parse_policy(merged(document, {"method": {"release": "value"}}))
