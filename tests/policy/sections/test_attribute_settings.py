"""Columns of a policy: what each becomes, what goes together, and why other keys do not."""

from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from tclose.data.files.text_formats import TextFormat
from tclose.model.attributes import Noise
from tclose.model.column_terms import Distance, Kind, Role, Scale
from tclose.policy.sections.attribute_fields import IntervalSettings
from tclose.policy.sections.attribute_settings import AttributeSettings

QUASI, CONFIDENTIAL = {"role": "quasi-identifier"}, {"role": "confidential"}
TAXONOMY = {"any": {"fruit": ["apple", "pear"], "root": ["beet"]}}


def parse(*keys: Any) -> AttributeSettings:
    merged: dict[str, Any] = {}
    for some in keys:
        merged |= some
    return AttributeSettings.model_validate(merged)


@pytest.mark.parametrize("role", list(Role))
def test_an_attribute_may_be_its_role_alone(role: Role) -> None:
    assert AttributeSettings.model_validate(str(role)) == parse({"role": role})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"role": "person", "t": 0.1}, "role: person takes no other key"),
        ({"role": "person", "label": "Who"}, "role: person takes no other key"),
        (QUASI | {"persistent": False}, "persistent belongs to confidential attributes only"),
        (QUASI | {"t": 0.1}, "t belongs to confidential attributes only"),
        (QUASI | {"noise": {"epsilon": 1}}, "noise belongs to confidential attributes only"),
        (CONFIDENTIAL | {"noise": {"epsilon": 1}, "t": 0.1}, "noise gives a t of its own"),
        (CONFIDENTIAL | {"noise": {"epsilon": 1}, "distance": "equal"}, "noise: no class is held"),
        (CONFIDENTIAL | {"noise": {"epsilon": 1}, "top": 9}, "noise has its own low, high and"),
        (CONFIDENTIAL | {"aggregate": "mean"}, "aggregate and round: false belong to quasi-"),
        (CONFIDENTIAL | {"round": False}, "aggregate and round: false belong to quasi-"),
        (CONFIDENTIAL | {"weight": 2}, "scale and weight belong to quasi-identifiers only"),
        (QUASI | {"scale": "std", "taxonomy": TAXONOMY}, "scale goes with values that have an"),
        (QUASI | {"scale": "std", "type": "boolean"}, "scale goes with values that have an"),
        (QUASI | {"type": "ordinal"}, "type: ordinal needs order"),
        (QUASI | {"order": ["a", "b"]}, "order goes with type: ordinal"),
        (QUASI | {"type": "ordinal", "order": ["1", 1]}, "order names a value twice"),
        (QUASI | {"distance": "equal"}, "distance and subsets_by belong to confidential"),
        (CONFIDENTIAL | {"distance": "hierarchical"}, "distance: hierarchical needs a taxonomy"),
        (CONFIDENTIAL | {"subsets_by": "taxonomy"}, "subsets_by: taxonomy needs a taxonomy"),
        (CONFIDENTIAL | {"distance": "ordered", "type": "nominal"}, "distance: ordered does not"),
        (CONFIDENTIAL | {"taxonomy": TAXONOMY, "type": "numeric"}, "taxonomy goes with type: nom"),
        ({"role": "identifier", "taxonomy": TAXONOMY}, "taxonomy belongs to quasi-identifiers"),
        (CONFIDENTIAL | {"intervals": {"widths": [5]}}, "intervals belong to quasi-identifiers"),
        (QUASI | {"intervals": {"widths": [5]}, "taxonomy": TAXONOMY}, "take one of them"),
        (QUASI | {"intervals": {"widths": [5]}, "type": "date"}, "intervals go with type: numeric"),
        (QUASI | {"aggregate": "ancestor"}, "aggregate: ancestor needs a taxonomy"),
        (QUASI | {"aggregate": "mode", "type": "numeric"}, "type numeric can be mean or median or"),
        (QUASI | {"aggregate": "mean", "type": "boolean"}, "type boolean can be mode or repres"),
    ],
)
def test_keys_that_do_not_go_together(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        parse(keys)


def test_a_t_of_its_own_holds_before_the_general_one() -> None:
    general = Fraction(1, 5)
    assert parse(CONFIDENTIAL).resolve("pay", general).max_emd == general
    assert parse(CONFIDENTIAL, {"t": 0.1}).resolve("pay", general).max_emd == Fraction(1, 10)
    for unheld in (parse(QUASI), parse(CONFIDENTIAL, {"noise": {"epsilon": 1}})):
        assert unheld.resolve("x", general).max_emd is None


def test_numbers_are_as_they_were_written() -> None:
    keys = {"noise": {"epsilon": 0.1, "low": 0, "high": 0.7, "step": 0.1}}
    assert parse(CONFIDENTIAL, keys).resolve("pay", Fraction(1)).noise == Noise(
        Fraction(1, 10), Fraction(0), Fraction(7, 10), Fraction(1, 10), ()
    )
    intervals = {"widths": [0.1, 0.5], "origin": 0.05}
    resolved = parse(QUASI, {"intervals": intervals}).resolve("age", Fraction(1))
    assert resolved.intervals == (("0.1", "0.5"), "0.05")


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        (QUASI, None),
        ({"role": "person"}, Kind.NOMINAL),
        (QUASI | {"taxonomy": TAXONOMY}, Kind.NOMINAL),
        (QUASI | {"prefixes": [2]}, Kind.NOMINAL),
        (QUASI | {"calendar": ["year"]}, Kind.DATE),
        (QUASI | {"missing": "category"}, Kind.NOMINAL),
        (QUASI | {"missing": "class"}, None),
        (CONFIDENTIAL | {"round": 10}, Kind.NUMERIC),
        (CONFIDENTIAL | {"bands": [1, 2]}, Kind.NUMERIC),
        (CONFIDENTIAL | {"type": "date"}, Kind.DATE),
    ],
)
def test_the_kind_that_keys_tell(keys: dict[str, Any], kind: Kind | None) -> None:
    assert parse(keys).resolve("x", Fraction(1)).kind is kind


def test_what_a_quasi_identifier_becomes() -> None:
    keys = {"type": "ordinal", "order": [1, "two"], "scale": "rank", "weight": 2, "round": False}
    found = parse(QUASI, keys).resolve("x", Fraction(1))
    assert (found.order, found.scale, found.weight) == (("1", "two"), Scale.RANK, 2)
    assert not found.rounded
    assert found.distance is None
    assert parse(CONFIDENTIAL, {"distance": "equal"}).resolve("x", Fraction(1)).distance is (
        Distance.EQUAL
    )


@pytest.mark.parametrize(
    ("keys", "after"),
    [
        (QUASI, {}),
        (CONFIDENTIAL | {"round": 10, "bottom": 0, "top": 90}, {"round": True}),
        (CONFIDENTIAL | {"bands": [5]}, {"type": Kind.ORDINAL, "order": ("below 5", "5 or more")}),
        (QUASI | {"missing": "category"}, {"type": Kind.NOMINAL}),
        (QUASI | {"missing": "category", "taxonomy": TAXONOMY}, {"type": None}),
        (QUASI | {"missing": "mode"}, {"type": None}),
        (QUASI | {"missing": "class"}, {"missing": "class"}),
    ],
)
def test_settings_of_prepared_values_prepare_nothing_more(
    keys: dict[str, Any], after: dict[str, Any]
) -> None:
    prepared = parse(keys).after_preparation()
    expected = {"bottom": None, "top": None, "bands": (), "missing": None} | after
    assert {key: getattr(prepared, key) for key in expected} == expected
    assert prepared.after_preparation() == prepared


@pytest.mark.parametrize(
    ("keys", "spelled"),
    [
        ({}, (",", ".", "%d.%m.%Y")),
        ({"decimal": "."}, (".", None, "%d.%m.%Y")),  # the general mark would be the same
        ({"thousands": "'"}, (",", "'", "%d.%m.%Y")),
        ({"date_format": "%Y%m%d"}, (",", ".", "%Y%m%d")),
    ],
)
def test_a_column_is_spelled_as_the_input_but_for_its_own_keys(
    keys: dict[str, Any], spelled: tuple[Any, ...]
) -> None:
    general = TextFormat(",", ".", "%d.%m.%Y")
    assert parse(QUASI, keys).text_format(general) == TextFormat(*spelled)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"widths": []}, "at least 1"),
        ({"widths": [0]}, "widths have to be numbers above 0"),
        ({"widths": [5, 12]}, "12 does not consist of whole intervals of 5; .* as 10 is"),
        ({"widths": [10, 5]}, "5 does not consist of whole intervals of 10"),
        ({"widths": [True]}, "valid (integer|number)"),
    ],
)
def test_widths_are_multiples_of_each_other(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        IntervalSettings.model_validate(keys)


def test_widths_that_are_multiples() -> None:
    assert IntervalSettings.model_validate({"widths": [0.1, 0.3, 3]}).widths == (0.1, 0.3, 3)


@pytest.mark.parametrize(
    ("noise", "key"),
    [
        ({}, "epsilon"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 31}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": 1, "step": 0}, "step"),
        ({"epsilon": 1, "mean": 2}, "mean"),
    ],
)
def test_noise_that_is_none(noise: dict[str, Any], key: str) -> None:
    with pytest.raises(ValidationError, match=f"noise.{key}"):
        parse(CONFIDENTIAL, {"noise": noise})
