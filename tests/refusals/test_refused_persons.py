"""Persons that cannot be counted, or that are too few: refused before any class is made."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    N_PEOPLE,
    QUASI,
    people,
    policy_for,
    release,
    write_csv,
    write_parquet,
)
from support.checks.refusals import Refuse
from tclose.errors import InfeasibleError
from tclose.methods.method import registered_methods
from tclose.model.column_terms import Role
from tclose.policy.person_role import check_person_role
from tclose.policy.sections.attribute_settings import AttributeSettings

ABLE = [name for name, method in registered_methods().items() if method.counts_persons]
NAMES = [f"p{i // 2}" for i in range(N_PEOPLE)]


def counted(source: Path, **changes: Any) -> dict[str, Any]:
    """A policy for `people` with a column of persons."""
    document = policy_for(source, **changes)
    document["attributes"] = document["attributes"] | {"who": "person"}
    return document


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_parquet(tmp_path / "people.parquet", people(who=NAMES))


def test_method_that_counts_records(source: Path, refuse: Refuse) -> None:
    refuse(
        counted(source, method={"name": "mondrian"}),
        "attributes.who: mondrian counts records, not persons; take method.name: "
        f"{' or '.join(ABLE)}, or make the column an identifier",
    )


def test_all_methods_that_do() -> None:
    attributes = {"who": AttributeSettings(role=Role.PERSON)}
    others = [name for name in registered_methods() if name not in ABLE]
    assert len(others) > 3
    for name in others:
        with pytest.raises(ValueError, match=f"attributes.who: {name} counts records"):
            check_person_role(attributes, registered_methods()[name].model_construct(), ())
    for name in ABLE:
        check_person_role(attributes, registered_methods()[name].model_construct(), ())


def test_model_that_counts_records(source: Path, refuse: Refuse) -> None:
    models = [{"name": "distinct-l-diversity", "l": 2}]
    refuse(
        counted(source, privacy={"k": 3, "t": 0.3, "models": models}),
        "privacy.models: distinct-l-diversity counts records, and 'who' has role: person; take",
    )


def test_representatives_over_time(source: Path, refuse: Refuse) -> None:
    """What one is depends on all classes, so that those that stay would release others."""
    document = counted(source, privacy={"k": 3, "t": 0.3, "over_time": {"k": 3, "t": 0.3}})
    document["attributes"]["sex"] = {"role": "quasi-identifier", "aggregate": "representative"}
    refuse(
        document,
        "privacy.over_time: does not go with aggregate: representative of 'sex', as classes that "
        "stay would release other values each time; take the aggregate out",
    )


def test_two_columns(source: Path, refuse: Refuse) -> None:
    document = counted(source)
    document["attributes"]["sex"] = "person"
    refuse(document, "attributes: 'sex' and 'who' both have role: person; a record is of one")


@pytest.mark.parametrize("key", [{"type": "nominal"}, {"decimal": ","}, {"round": True}])
def test_other_keys(key: dict[str, Any], source: Path, refuse: Refuse) -> None:
    document = counted(source)
    document["attributes"]["who"] = {"role": "person"} | key
    refuse(document, "attributes.who: role: person takes no other key; values that are equal are")


def test_values_that_do_not_last_of_nobody(source: Path, refuse: Refuse) -> None:
    document = policy_for(source)
    document["attributes"] |= {
        "who": "identifier",
        "pay": {"role": CONFIDENTIAL, "persistent": False},
    }
    refuse(document, "attributes.pay: persistent goes with a column of role person; give it to")


def test_quasi_identifiers_that_last(source: Path, refuse: Refuse) -> None:
    document = counted(source)
    document["attributes"]["age"] = {"role": "quasi-identifier", "persistent": False}
    refuse(document, "attributes.age: persistent belongs to confidential attributes only")


def test_folders_of_persons(source: Path, refuse: Refuse) -> None:
    document = counted(source)
    document["output"] |= {"partition_by": ["who"]}
    refuse(
        document, "output.partition_by: 'who' has to be a quasi-identifier or a non-confidential"
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.arange(N_PEOPLE) / 2, "double"),
        ([datetime.date(2024, 1, 1)] * N_PEOPLE, "date32"),
        (np.arange(N_PEOPLE) > 7, "bool"),
    ],
)
def test_types_that_do_not_say_who(values: Any, said: str, tmp_path: Path, refuse: Refuse) -> None:
    source = write_parquet(tmp_path / "people.parquet", people(who=pa.array(values)))
    refuse(counted(source), f"column 'who': type {said}", "store persons as text or integers")


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_missing_persons(write: Any, tmp_path: Path, refuse: Refuse) -> None:
    holes = pa.array(NAMES, mask=np.arange(N_PEOPLE) % 20 == 0)
    source = write(tmp_path / "people.x", people(who=holes))
    refuse(counted(source), "column 'who': 3 missing values", "missing: drop")


@pytest.mark.parametrize(
    ("n_persons", "there"), [(1, "there is 1 person"), (2, "there are 2 pers")]
)
def test_fewer_persons_than_k(n_persons: int, there: str, tmp_path: Path, refuse: Refuse) -> None:
    who = [f"p{i % n_persons}" for i in range(N_PEOPLE)]
    source = write_parquet(tmp_path / "people.parquet", people(who=who))
    refuse(
        counted(source), f"privacy.k: 3 is more than the persons of the {N_PEOPLE} records", there
    )


def test_partition_of_few_persons(tmp_path: Path) -> None:
    """Each has 30 records, one of them of two persons."""
    year = np.repeat([2023, 2024], N_PEOPLE // 2)
    who = [f"p{i}" if i < N_PEOPLE // 2 else f"q{i % 2}" for i in range(N_PEOPLE)]
    source = write_parquet(tmp_path / "people.parquet", people(who=who, year=year))
    document = counted(source, privacy={"k": 3})
    document["attributes"] |= {"year": "non-confidential", "pay": {"role": CONFIDENTIAL, "t": 0.9}}
    document["output"] |= {"partition_by": ["year"]}
    with pytest.raises(InfeasibleError, match="as one class: it has fewer than 3 persons, or is"):
        release(document)


def test_role_is_known() -> None:
    assert Role("person") is Role.PERSON


OVER = {"k": 2, "t": 0.5}
HOLD = {"departures": "hold"}


@pytest.mark.parametrize(
    ("changes", "fragments"),
    [
        (
            {"attributes": {"who": "identifier"}},
            ("privacy.over_time: needs a column of role person", "or take over_time out"),
        ),
        (
            {"method": {"name": "k-anonymity-first"}, "attributes": {"who": "identifier"}},
            ("privacy.over_time: needs a column of role person",),
        ),
        (
            {"attributes": {"pay": "non-confidential", "more": "non-confidential"}},
            ("privacy.over_time: needs a confidential attribute", "take over_time out"),
        ),
        (
            {"output": {"partition_by": ["age"]}},
            ("privacy.over_time: does not go with output.partition_by", "take either out"),
        ),
        (
            {"privacy": {"joint": [{"attributes": ["pay", "more"], "t": 0.9}]}},
            ("privacy.over_time: does not go with privacy.joint", "take either out"),
        ),
        ({"privacy": {"over_time": OVER | {"k": 1}}}, ("over_time.k: has to be at least 2",)),
        ({"privacy": {"over_time": OVER | {"t": 0}}}, ("over_time.t: has to be",)),
        ({"privacy": {"over_time": OVER | {"window": 1}}}, ("over_time.window: has to be",)),
        (
            {"privacy": {"over_time": OVER | {"departures": "keep"}}},
            ("report", "unite", "hold", "drop", "refuse"),
        ),
        *(
            (
                {"attributes": {name: settings}, "privacy": {"over_time": OVER | HOLD}},
                (f"departures: hold does not go with {name!r}, which {why}", "departures: drop"),
            )
            for name, settings, why in [
                ("sex", "non-confidential", "is non-confidential: a value of the release before"),
                ("pay", {"role": CONFIDENTIAL, "persistent": False}, "is not persistent"),
                ("pay", {"role": CONFIDENTIAL, "top": 8_000}, "is prepared as it is read"),
                ("sex", {"role": QUASI, "prefixes": [1]}, "is released as groups"),
            ]
        ),
        (
            {"privacy": {"over_time": OVER | {"hold": {"at_most": "5%"}}}},
            ("over_time.hold: goes with departures: hold", "or take hold out"),
        ),
        (
            {"privacy": {"over_time": OVER | HOLD | {"hold": {"at_most": "60%"}}}},
            ("over_time.hold.at_most: has to be at most 0.5",),
        ),
        ({"privacy": {"over_time": OVER | {"churn": 0.6}}}, ("over_time.churn: has to be",)),
        ({"privacy": {"over_time": None}}, ("series: goes with privacy.over_time", "take series")),
        ({"series": "a/b"}, ("series: ",)),
    ],
)
def test_what_is_not_held_over_time(
    changes: dict[str, Any], fragments: tuple[str, ...], source: Path, refuse: Refuse
) -> None:
    document = counted(source) | {"series": "people"}
    document["attributes"] = document["attributes"] | {"more": CONFIDENTIAL}
    document["privacy"] = document["privacy"] | {"over_time": OVER}
    for key, value in changes.items():
        merged = document.get(key, {}) | value if isinstance(value, dict) else value
        document[key] = merged
    refuse(document, *fragments)
