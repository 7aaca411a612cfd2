"""What a table says of persons with several records."""

import pytest

from tclose.releases.manifest.internal_manifest import ClassTracesSection, PersonTracesSection
from tclose.render.trace_rows import trace_rows


def traces_of(several: int, by_classes: ClassTracesSection | None = None) -> PersonTracesSection:
    return PersonTracesSection(
        in_several_classes=several,
        alone=3,
        below_k=1_020,
        one_value_left={"cost": 12},
        by_classes=by_classes,
    )


def test_classes_of_a_person_who_is_in_several() -> None:
    [first, second] = trace_rows(traces_of(2_000))
    found = "2,000 persons are in several; 3 persons alone, 1,020 among fewer than k"
    assert first == ("by all classes of a person", f"{found}: measured, not held")
    assert second == ("  one cost left", "12 persons, if it lasts")


def test_records_of_a_person_in_one_class() -> None:
    by_classes = ClassTracesSection(alone=0, below_k=0, one_value_left={"cost": 0})
    [first, _] = trace_rows(traces_of(0, by_classes))
    assert first == (
        "by class and number of records",
        "3 persons alone, 1,020 among fewer than k: measured, not held",
    )


@pytest.mark.parametrize("is_counted", [True, False])
def test_nothing_is_said_where_each_has_one_record(is_counted: bool) -> None:
    none = PersonTracesSection(in_several_classes=0, alone=0, below_k=0, one_value_left={"cost": 0})
    assert trace_rows(none if is_counted else None) == []
