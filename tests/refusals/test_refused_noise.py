"""Noise that is refused: one message that names the key and the remedy."""

from typing import Any

import pyarrow as pa
import pytest

from support.cases.people import CONFIDENTIAL, QUASI
from support.checks.refusals import ILLS, SECRET, Refuse, table_of
from tclose.errors import PolicyError
from tclose.methods.dp import dp_confidential
from tclose.policy.policy import parse_policy

ORDINAL = {"type": "ordinal", "order": ["f", "m"]}
PAY = {"epsilon": 1, "low": 0, "high": 10_000}
DP = {"name": "dp-confidential"}


class TestNoise:
    def refused(
        self, refuse_method: Refuse, pay: dict[str, Any], *fragments: str, **keys: Any
    ) -> None:
        refuse_method(DP, *fragments, attributes={"pay": {"role": CONFIDENTIAL} | pay}, **keys)

    @pytest.mark.parametrize(
        ("noise", "fragment"),
        [
            ({"epsilon": 1}, "column 'pay': noise needs low and high from the policy"),
            ({"epsilon": 1, "low": 0}, "column 'pay': noise needs low and high from the policy"),
            (PAY | {"low": 10_000}, "column 'pay': noise: bounds: high must be above low"),
            (PAY | {"step": 3}, "high - low must be a whole number of steps"),
            (PAY | {"step": 0.5}, "column 'pay': holds integers; noise needs a whole low, high"),
            (PAY | {"high": 2**40}, "steps are too many; give a larger step"),
            (PAY | {"high": 2**63 - 2**40, "step": 2**40}, "bounds: nothing beyond 2^62; give"),
            (PAY | {"high": 1e30, "step": 1e28}, "bounds: nothing beyond 2^62; give them in a lar"),
            (PAY | {"high": 2**70, "step": 2**60}, "noise.high: has an integer beyond 64 bits"),
            (PAY | {"low": -(2**70)}, "attributes.pay.noise.low: has an integer beyond 64 bits"),
            (PAY | {"step": 2**70}, "attributes.pay.noise.step: has an integer beyond 64 bits"),
            (
                PAY | {"values": [2**70]},
                "attributes.pay.noise.values: has to be text; put it in quotes",
            ),
            (PAY | {"values": ["1"]}, "column 'pay': noise.values does not go with numbers"),
            (
                PAY | {"epsilon": 0},
                "attributes.pay.noise.epsilon: has to be at least 1e-06 (given: 0)",
            ),
            (
                PAY | {"epsilon": 31},
                "attributes.pay.noise.epsilon: has to be at most 30 (given: 31)",
            ),
            (PAY | {"step": 0}, "attributes.pay.noise.step: has to be above 0 (given: 0)"),
            ({"low": 0, "high": 1}, "attributes.pay.noise.epsilon: is missing"),
        ],
    )
    def test_on_numbers(self, noise: dict[str, Any], fragment: str, refuse_method: Refuse) -> None:
        self.refused(refuse_method, {"noise": noise}, fragment)

    @pytest.mark.parametrize(
        ("column", "given", "noise", "fragment"),
        [
            ("day", {}, {}, "column 'day': is date; noise goes with numbers (low, high), ordinal"),
            ("day", {}, {"low": 0, "high": 9}, "column 'day': is date; noise.low and noise.high"),
            ("ill", {}, {}, "column 'ill': is nominal; noise goes with numbers (low, high), ordin"),
            ("ill", {}, {"values": ["flu"]}, "noise needs two values or more, each listed once"),
            ("ill", {}, {"values": ["flu", "flu"]}, "two values or more, each listed once"),
            ("sex", ORDINAL, {"values": ["f"]}, "'sex': noise.values does not go with an order"),
            ("sex", ORDINAL, {"low": 0, "high": 1}, "'sex': is ordinal; noise.low and noise.high"),
            ("sex", {"type": "ordinal", "order": ["f"]}, {}, "noise needs two values or more"),
            (
                "age",
                {"type": "nominal"},
                {"values": ["18", "old"]},
                "column 'age': values are listed that are not of type int64",
            ),
            (
                "age",
                {"type": "nominal"},
                {"values": ["18", str(2**70)]},
                "column 'age': values are listed that are not of type int64",
            ),
        ],
    )
    def test_on_other_kinds(
        self, column: str, given: Any, noise: Any, fragment: str, refuse_method: Refuse
    ) -> None:
        attribute = {"role": CONFIDENTIAL, "noise": {"epsilon": 1} | noise} | given
        others = {"age": QUASI, "day": QUASI, "pay": "identifier"}
        refuse_method(DP, fragment, attributes=others | {column: attribute})

    @pytest.mark.parametrize(
        ("values", "listed", "fragment"),
        [
            (pa.array([1, 2] * 30).cast(pa.duration("s")), ["1", "2"], "go with durations; store"),
            (pa.array([1, 2] * 30).cast(pa.time64("us")), ["8h", "9h"], "not of type time64[us]"),
            (pa.array([0] * 60).cast(pa.time64("us")), ["08:00", "08:00:00"], "each listed once"),
            (pa.array([0] * 60).cast(pa.time64("us")), ["08:00", "09:00"], "60 values that its"),
        ],
    )
    def test_on_times(
        self, values: pa.Array, listed: list[str], fragment: str, refuse_method: Refuse
    ) -> None:
        noise = {"epsilon": 1, "values": listed}
        attributes = {"pay": "identifier", "at": {"role": CONFIDENTIAL, "noise": noise}}
        refuse_method(DP, "column 'at'", fragment, attributes=attributes, table=table_of(at=values))

    @pytest.mark.parametrize(
        ("pays", "fragment"),
        [
            (pa.array([1] * 60, pa.uint8()), "'pay': low or high of noise is beyond type uint8"),
            (pa.array([1] * 60, pa.decimal128(5, 2)), "'pay': noise does not go with decimals"),
        ],
        ids=["uint8", "decimal"],
    )
    def test_on_types(self, pays: pa.Array, fragment: str, refuse_method: Refuse) -> None:
        self.refused(refuse_method, {"noise": PAY}, fragment, table=table_of(pay=pays))

    def test_values_that_are_not_listed(self, refuse_method: Refuse) -> None:
        ills = [SECRET, SECRET, *(["flu", "cold"] * 29)]
        refuse_method(
            DP,
            "column 'ill': 2 values that its noise.values do not list\n"
            "name every value that can occur in noise.values",
            table=table_of(ill=ills),
            attributes={
                "pay": "identifier",
                "ill": {"role": CONFIDENTIAL, "noise": {"epsilon": 1, "values": ["flu", "cold"]}},
            },
        )

    def test_days_that_are_not_listed(self, refuse_method: Refuse) -> None:
        noise = {"epsilon": 1, "values": ["2019-04-14", "2019-04-15"]}
        refuse_method(
            DP,
            "column 'day': 58 values that its noise.values do not list",
            attributes={"pay": "identifier", "day": {"role": CONFIDENTIAL, "noise": noise}},
        )

    @pytest.mark.parametrize(
        "keys", [{"distance": "equal"}, {"taxonomy": {"any": ILLS}}, {"subsets_by": "frequency"}]
    )
    def test_with_a_distance(self, keys: dict[str, Any], refuse_method: Refuse) -> None:
        noise = {"epsilon": 1, "values": ILLS}
        refuse_method(
            DP,
            "attributes.ill: noise: no class is held to a distance of such values; take distance, "
            "taxonomy and subsets_by out",
            attributes={
                "pay": "identifier",
                "ill": {"role": CONFIDENTIAL, "noise": noise} | keys,
            },
        )

    def test_with_a_t(self, refuse_method: Refuse) -> None:
        self.refused(
            refuse_method, {"noise": PAY, "t": 0.1}, "noise gives a t of its own; take t out"
        )

    def test_on_a_quasi_identifier(self, refuse_method: Refuse) -> None:
        refuse_method(
            DP,
            "attributes.age: noise belongs to confidential attributes only",
            attributes={"age": {"role": QUASI, "noise": PAY}},
        )

    @pytest.mark.parametrize("method", ["t-closeness-first", "mdav", "mondrian"])
    def test_under_another_method(self, method: str, refuse_method: Refuse) -> None:
        refuse_method(
            {"name": method},
            "attributes.pay: noise goes with method.name: dp-confidential",
            attributes={"pay": {"role": CONFIDENTIAL, "noise": PAY}},
        )

    def test_missing(self, refuse_method: Refuse) -> None:
        refuse_method(
            DP,
            "attributes.ill: noise is missing; dp-confidential needs its epsilon, and low and high "
            "or values",
            attributes={"pay": {"role": CONFIDENTIAL, "noise": PAY}, "ill": CONFIDENTIAL},
        )

    def test_without_the_library(
        self, refuse_method: Refuse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def absent(name: str) -> None:
            raise ModuleNotFoundError(name)

        monkeypatch.setattr(dp_confidential, "import_module", absent)
        self.refused(
            refuse_method, {"noise": PAY}, "noise needs OpenDP: install tclose with its extra 'dp'"
        )


@pytest.mark.parametrize("number", ["inf", "-inf", "nan"])
@pytest.mark.parametrize("key", ["low", "high", "step", "epsilon"])
def test_noise_needs_finite_numbers(key: str, number: str) -> None:
    noise = {"epsilon": 1, "low": 0, "high": 9} | {key: float(number)}
    document = comparable_document({"name": "dp-confidential"}) | {
        "attributes": {
            "age": "quasi-identifier",
            "pay": {"role": "confidential", "noise": noise},
        }
    }
    with pytest.raises(PolicyError, match=rf"pay\.noise\.{key}: has to be"):
        parse_policy(document)


def comparable_document(method: dict[str, Any]) -> dict[str, Any]:
    """A policy of two attributes with a method."""
    return {
        "name": "people",
        "input": {"path": "people.csv"},
        "attributes": {"age": "quasi-identifier", "pay": "confidential"},
        "privacy": {"k": 2, "t": 0.5},
        "method": method,
    }
