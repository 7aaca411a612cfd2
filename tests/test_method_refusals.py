"""What methods and their keys are refused for: one message that names the key and the remedy."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli import main
from pipeline.errors import PolicyError
from pipeline.settings import parse_policy
from pipeline.stages.methods import dp_confidential
from support.cases import people, policy_for, tree, write_policy

QUASI, CONFIDENTIAL = "quasi-identifier", "confidential"
SECRET = "Quecksilber4711"
ORDINAL = {"type": "ordinal", "order": ["f", "m"]}
PAY = {"epsilon": 1, "low": 0, "high": 10_000}
ILLS = ["flu", "cold", "ulcer"]
DP = {"name": "dp-confidential"}

Refuse = Callable[..., str]


def table_of(n_records: int = 60, **columns: Any) -> pa.Table:
    """People with an illness, a day and a site; pays are far from each other."""
    rng = np.random.default_rng(5)
    days = pa.array((18_000 + np.arange(n_records) % 90).astype(np.int32)).cast(pa.date32())
    own = {"ill": rng.choice(ILLS, n_records), "day": days, "site": ["a", "b"] * (n_records // 2)}
    return people(n_records, **(own | columns))


@pytest.fixture
def refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Refuse:
    """Plan and run a policy over a table; both have to refuse it alike, and to leave nothing.

    ``planned``: the plan's status where only verification can tell.
    """

    def run(
        method: dict[str, Any],
        *fragments: str,
        table: pa.Table | None = None,
        attributes: dict[str, Any] | None = None,
        status: int = 2,
        planned: int | None = None,
        **keys: Any,
    ) -> str:
        source = tmp_path / "people.parquet"
        pq.write_table(table or table_of(), source)
        roles = {"age": QUASI, "sex": QUASI, "pay": CONFIDENTIAL} | (attributes or {})
        partition_by = keys.pop("partition_by", [])
        document = policy_for(source, method=method, unlisted="drop", attributes=roles, **keys)
        document["output"]["partition_by"] = partition_by
        policy = write_policy(tmp_path / "policy.yaml", document)
        before = tree(tmp_path)
        assert main(["plan", str(policy), "--quiet"]) == (status if planned is None else planned)
        told = capsys.readouterr()
        assert tree(tmp_path) == before
        assert main(["run", str(policy), "--quiet"]) == status
        printed, message = capsys.readouterr()
        if planned is None:
            assert told == ("", message)
        else:
            assert re.search("feasible +perhaps: ", told.out)
        assert printed == ""
        assert message.startswith("tclose: ")
        assert "Traceback" not in message
        assert SECRET not in message
        for fragment in fragments:
            assert fragment in message
        left = {p for p in tree(tmp_path) if ".failed" not in p and p not in before}
        assert left <= {"releases", "releases/.release-key", "releases/people", LOCK}
        assert status == 3 or not left
        return message

    return run


LOCK = "releases/people/.lock"


class TestKeys:
    @pytest.mark.parametrize(
        ("method", "fragment"),
        [
            ({"name": "mdav-2"}, "method.name: has to be 't-closeness-first', 'mdav', 'v-mdav',"),
            ({"name": "mondrian", "refine": "fast"}, "refine does not go with mondrian, take it"),
            ({"name": "incognito", "refine": 3}, "refine does not go with incognito, take it out"),
            ({"name": "sabre", "refine": "1min"}, "refine does not go with sabre, take it out"),
            (
                {"name": "bucketization", "ratio": 2, "refine": "full"},
                "refine does not go with bucketization, take it out",
            ),
            ({"name": "mdav", "gamma": 1}, "gamma goes with v-mdav or microaggregate-and-merge or"),
            ({"name": "mdav", "block_clusters": 9}, "block_clusters goes with t-closeness-first,"),
            ({"name": "sabre", "class_size": 9}, "class_size goes with t-closeness-first, not wi"),
            (
                {"name": "v-mdav", "start": "v-mdav"},
                "start goes with microaggregate-and-merge or dp",
            ),
            ({"name": "mondrian", "ratio": 2}, "ratio goes with bucketization, not with mondrian"),
            ({"buckets": 2}, "buckets goes with bucketization, not with t-closeness-first"),
            ({"name": "bucketization"}, "bucketization needs its ratio, as in ratio: 2"),
            ({"name": "bucketization", "ratio": 1}, "method.ratio: has to be above 1 (given: 1)"),
            (
                {"name": "bucketization", "ratio": 2, "buckets": 1},
                "method.buckets: has to be at least 2 (given: 1)",
            ),
            ({"name": "v-mdav", "gamma": -0.1}, "method.gamma: has to be at least 0"),
            ({"name": "incognito", "scope": "table"}, "scope goes with t-closeness-first or mondr"),
            ({"name": "sabre", "scope": "table"}, "or dp-confidential, not with sabre"),
            (
                {"name": "bucketization", "ratio": 2, "scope": "table"},
                "or dp-confidential, not with bucketization",
            ),
            (
                {"name": "microaggregate-and-merge", "gamma": 0.5},
                "gamma goes with start: v-mdav, not with mdav",
            ),
            (
                {"scope": "table", "block_clusters": 9},
                "block_clusters goes with scope: blocks, not with scope: table",
            ),
        ],
    )
    def test_method(self, method: dict[str, Any], fragment: str, refuse: Refuse) -> None:
        refuse(method, fragment)

    @pytest.mark.parametrize("method", ["mondrian", "incognito", "sabre", "bucketization"])
    def test_refine_off_may_be_said(self, method: str, tmp_path: Path) -> None:
        pq.write_table(table_of(), tmp_path / "people.parquet")
        document = policy_for(tmp_path / "people.parquet", unlisted="drop")
        document["method"] = {"name": method, "refine": "off"}
        if method == "bucketization":
            document["method"]["ratio"] = 2
        policy = write_policy(tmp_path / "policy.yaml", document)
        assert main(["run", str(policy), "--quiet"]) == 0


class TestMethods:
    @pytest.mark.parametrize("method", ["mdav", "v-mdav"])
    def test_above_t(self, method: str, refuse: Refuse) -> None:
        refuse(
            {"name": method},
            "verification failed; nothing was published",
            "t of pay: asked at most 0.05, found",
            f"{method} knows nothing of t: take method.name: microaggregate-and-merge or "
            "t-closeness-first, or a larger t",
            privacy={"k": 3, "t": 0.05},
            status=3,
            planned=0,
        )

    @pytest.mark.parametrize(
        "changes",
        [
            {"attributes": {"ill": CONFIDENTIAL}},
            {"attributes": {"pay": "identifier"}},
            {"attributes": {"site": "non-confidential"}, "partition_by": ["site"]},
        ],
        ids=["two", "none", "partitions"],
    )
    def test_bucketization_of_one_attribute(self, changes: dict[str, Any], refuse: Refuse) -> None:
        refuse(
            {"name": "bucketization", "ratio": 2},
            "method.name: bucketization works with one confidential attribute of the whole table",
            **changes,
        )

    def test_ratio_that_cannot_be_met_names_one_that_can(
        self, refuse: Refuse, tmp_path: Path
    ) -> None:
        """13 in 60: of two classes of 30 one has 6 of these records, the other 7, for 6.5."""
        message = refuse(
            {"name": "bucketization", "ratio": 1.05},
            "2 buckets of 13 to 47 records: no two classes of k = 7 are within the ratio 1.05",
            "choose fewer buckets",
            table=table_of(pay=[100] * 47 + [200] * 13),
            privacy={"k": 7},
            status=3,
        )
        named = re.search(r"can meet ([\d.]+): raise the ratio to that", message)
        assert named
        ratio = f"--set=method.ratio={named[1]}"
        assert main(["run", str(tmp_path / "policy.yaml"), "--quiet", ratio]) == 0

    def test_single_value_has_no_buckets(self, refuse: Refuse) -> None:
        refuse(
            {"name": "bucketization", "ratio": 2},
            "a single value of the confidential attribute cannot be bucketized",
            table=table_of(pay=[7] * 60),
            status=3,
        )

    @pytest.mark.parametrize(
        ("changes", "n"),
        [({"attributes": {"ill": CONFIDENTIAL}}, 2), ({"attributes": {"pay": "identifier"}}, 0)],
    )
    def test_sabre_of_one_attribute(self, changes: dict[str, Any], n: int, refuse: Refuse) -> None:
        refuse(
            {"name": "sabre"},
            f"method.name: sabre works with one confidential attribute, the policy has {n}; take "
            "t-closeness-first or mondrian",
            **changes,
        )

    def test_sabre_of_parts(self, refuse: Refuse) -> None:
        refuse(
            {"name": "sabre"},
            "method.name: sabre makes classes of the whole table, output.partition_by cuts it",
            attributes={"site": "non-confidential"},
            partition_by=["site"],
        )

    @pytest.mark.parametrize("distance", [{}, {"distance": "equal"}])
    def test_k_anonymity_first_of_texts(self, distance: dict[str, Any], refuse: Refuse) -> None:
        refuse(
            {"name": "k-anonymity-first"},
            "k-anonymity-first works with the ordered distance, which 'ill' does not have; take "
            "t-closeness-first or microaggregate-and-merge",
            attributes={"ill": {"role": CONFIDENTIAL} | distance},
        )


class TestIntervals:
    @pytest.mark.parametrize(
        ("column", "intervals", "fragment"),
        [
            ("age", {"widths": [5, 12]}, "attributes.age.intervals: width 12 does not consist of"),
            ("age", {"widths": [5, 13]}, "a multiple of the one before, as 15 is"),
            ("age", {"widths": [10, 5]}, "attributes.age.intervals: width 5 does not consist of"),
            ("age", {"widths": [5, 5]}, "make every width a multiple of the one before, as 10 is"),
            ("age", {"widths": [0]}, "attributes.age.intervals: widths have to be numbers above 0"),
            ("age", {"widths": [-1]}, "widths have to be numbers above 0; give one or more"),
            ("age", {"widths": []}, "attributes.age.intervals: is empty"),
            ("age", {"origin": 3}, "attributes.age.intervals: is missing"),
            ("age", {"widths": [5], "origin": float("nan")}, "intervals: has to be a number"),
            ("age", {"widths": [1e-30]}, "attributes.age.intervals: the numbers are not finite"),
            ("age", {"widths": [5], "origin": 2**60}, "too far from the origin to be counted exac"),
            ("day", {"widths": [7]}, "attributes.day: is date; intervals go with numbers, take"),
            ("ill", {"widths": [7]}, "attributes.ill: is nominal; intervals go with numbers, take"),
        ],
    )
    def test_of_no_use(
        self, column: str, intervals: dict[str, Any], fragment: str, refuse: Refuse
    ) -> None:
        attribute = {"role": QUASI, "intervals": intervals}
        refuse({"name": "incognito"}, fragment, attributes={column: attribute})

    @pytest.mark.parametrize("method", ["t-closeness-first", "mdav", "mondrian", "sabre"])
    def test_under_a_method_without_them(self, method: str, refuse: Refuse) -> None:
        refuse(
            {"name": method},
            "attributes.age: intervals go with method.name: incognito, not with " + method,
            attributes={"age": {"role": QUASI, "intervals": {"widths": [5]}}},
        )

    @pytest.mark.parametrize(
        ("keys", "fragment"),
        [
            ({"role": CONFIDENTIAL}, "attributes.age: intervals belong to quasi-identifiers only"),
            ({"taxonomy": {"any": [1]}}, "intervals go with numbers, a taxonomy with names; take"),
            ({"type": "nominal"}, "attributes.age: intervals go with type: numeric"),
        ],
    )
    def test_of_another_attribute(
        self, keys: dict[str, Any], fragment: str, refuse: Refuse
    ) -> None:
        attribute = {"role": QUASI, "intervals": {"widths": [7]}} | keys
        refuse({"name": "incognito"}, fragment, attributes={"age": attribute})

    def test_too_many_levels(self, refuse: Refuse) -> None:
        names = [f"n{i}" for i in range(25)]
        refuse(
            {"name": "incognito"},
            "incognito searches at most 16,777,216 combinations of levels, the quasi-identifiers "
            "have 134,217,728; give them fewer levels, or take fewer of them",
            table=table_of(**{name: [0, 1] * 30 for name in names}),
            attributes=dict.fromkeys(names, QUASI),
        )


@pytest.mark.parametrize("method", ["incognito", "mondrian", "sabre"])
@pytest.mark.parametrize("keys", [{"aggregate": "median"}, {"round": False}])
def test_keys_of_aggregates_where_there_are_none(
    method: str, keys: dict[str, Any], refuse: Refuse
) -> None:
    refuse(
        {"name": method},
        f"attributes.age: {method} generalises; aggregate and round go with t-closeness-first or "
        "bucketization or mdav",
        attributes={"age": {"role": QUASI} | keys},
    )


@pytest.mark.parametrize("method", ["t-closeness-first", "mdav", "incognito", "mondrian", "sabre"])
def test_taxonomy_with_a_hole(method: str, refuse: Refuse) -> None:
    ills = np.array(ILLS * 20, dtype=object)
    ills[17] = SECRET
    refuse(
        {"name": method},
        "column 'ill': 1 of its values are not in its taxonomy; add them to it",
        table=table_of(ill=ills.tolist()),
        attributes={"ill": {"role": QUASI, "taxonomy": {"any": ILLS}}},
    )


class TestNoise:
    def refused(self, refuse: Refuse, pay: dict[str, Any], *fragments: str, **keys: Any) -> None:
        refuse(DP, *fragments, attributes={"pay": {"role": CONFIDENTIAL} | pay}, **keys)

    @pytest.mark.parametrize(
        ("noise", "fragment"),
        [
            ({"epsilon": 1}, "column 'pay': noise needs low and high from the policy"),
            ({"epsilon": 1, "low": 0}, "column 'pay': noise needs low and high from the policy"),
            (PAY | {"low": 10_000}, "column 'pay': noise: bounds: high must be above low"),
            (PAY | {"step": 3}, "high - low must be a whole number of steps"),
            (PAY | {"step": 0.5}, "column 'pay': holds integers; noise needs a whole low, high"),
            (PAY | {"high": 2**40}, "steps are too many; give a larger step"),
            (PAY | {"values": ["1"]}, "column 'pay': noise.values does not go with numbers"),
            (PAY | {"epsilon": 0}, "attributes.pay.noise: has to be at least 1e-06 (given: 0)"),
            (PAY | {"epsilon": 31}, "attributes.pay.noise: has to be at most 30 (given: 31)"),
            (PAY | {"step": 0}, "attributes.pay.noise: has to be above 0 (given: 0)"),
            ({"low": 0, "high": 1}, "attributes.pay.noise: is missing"),
        ],
    )
    def test_on_numbers(self, noise: dict[str, Any], fragment: str, refuse: Refuse) -> None:
        self.refused(refuse, {"noise": noise}, fragment)

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
        ],
    )
    def test_on_other_kinds(
        self, column: str, given: Any, noise: Any, fragment: str, refuse: Refuse
    ) -> None:
        attribute = {"role": CONFIDENTIAL, "noise": {"epsilon": 1} | noise} | given
        others = {"age": QUASI, "day": QUASI, "pay": "identifier"}
        refuse(DP, fragment, attributes=others | {column: attribute})

    @pytest.mark.parametrize(
        ("pays", "fragment"),
        [
            (pa.array([1] * 60, pa.uint8()), "'pay': low or high of noise is beyond type uint8"),
            (pa.array([1] * 60, pa.decimal128(5, 2)), "'pay': noise does not go with decimals"),
        ],
        ids=["uint8", "decimal"],
    )
    def test_on_types(self, pays: pa.Array, fragment: str, refuse: Refuse) -> None:
        self.refused(refuse, {"noise": PAY}, fragment, table=table_of(pay=pays))

    def test_values_that_are_not_listed(self, refuse: Refuse) -> None:
        ills = [SECRET, SECRET, *(["flu", "cold"] * 29)]
        refuse(
            DP,
            "column 'ill': 2 values that its noise.values do not list\n"
            "name every value that can occur in noise.values",
            table=table_of(ill=ills),
            attributes={
                "pay": "identifier",
                "ill": {"role": CONFIDENTIAL, "noise": {"epsilon": 1, "values": ["flu", "cold"]}},
            },
        )

    def test_days_that_are_not_listed(self, refuse: Refuse) -> None:
        noise = {"epsilon": 1, "values": ["2019-04-14", "2019-04-15"]}
        refuse(
            DP,
            "column 'day': 58 values that its noise.values do not list",
            attributes={"pay": "identifier", "day": {"role": CONFIDENTIAL, "noise": noise}},
        )

    @pytest.mark.parametrize(
        "keys", [{"distance": "equal"}, {"taxonomy": {"any": ILLS}}, {"subsets_by": "frequency"}]
    )
    def test_with_a_distance(self, keys: dict[str, Any], refuse: Refuse) -> None:
        noise = {"epsilon": 1, "values": ILLS}
        refuse(
            DP,
            "attributes.ill: noise: no class is held to a distance of such values; take distance, "
            "taxonomy and subsets_by out",
            attributes={
                "pay": "identifier",
                "ill": {"role": CONFIDENTIAL, "noise": noise} | keys,
            },
        )

    def test_with_a_t(self, refuse: Refuse) -> None:
        self.refused(refuse, {"noise": PAY, "t": 0.1}, "noise gives a t of its own; take t out")

    def test_on_a_quasi_identifier(self, refuse: Refuse) -> None:
        refuse(
            DP,
            "attributes.age: noise belongs to confidential attributes only",
            attributes={"age": {"role": QUASI, "noise": PAY}},
        )

    @pytest.mark.parametrize("method", ["t-closeness-first", "mdav", "mondrian"])
    def test_under_another_method(self, method: str, refuse: Refuse) -> None:
        refuse(
            {"name": method},
            "attributes.pay: noise goes with method.name: dp-confidential",
            attributes={"pay": {"role": CONFIDENTIAL, "noise": PAY}},
        )

    def test_missing(self, refuse: Refuse) -> None:
        refuse(
            DP,
            "attributes.ill: noise is missing; dp-confidential needs its epsilon, and low and high "
            "or values",
            attributes={"pay": {"role": CONFIDENTIAL, "noise": PAY}, "ill": CONFIDENTIAL},
        )

    def test_without_the_library(self, refuse: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
        def absent(name: str) -> None:
            raise ModuleNotFoundError(name)

        monkeypatch.setattr(dp_confidential, "import_module", absent)
        self.refused(
            refuse, {"noise": PAY}, "noise needs OpenDP: install tclose with its extra 'dp'"
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
    with pytest.raises(PolicyError, match=r"pay\.noise: has to be"):
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
