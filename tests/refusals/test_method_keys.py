"""Keys of methods that are refused: one message that names the key and the remedy."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from support.cases.people import CONFIDENTIAL, QUASI, policy_for, write_policy
from support.checks.refusals import Refuse, table_of
from tclose.cli.main import main


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
            (
                {"name": "mondrian", "losses": "relative"},
                "losses: relative does not go with mondrian, take it out",
            ),
            ({"losses": "shares"}, "method.losses: has to be 'relative' or 'absolute'"),
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
    def test_method(self, method: dict[str, Any], fragment: str, refuse_method: Refuse) -> None:
        refuse_method(method, fragment)

    @pytest.mark.parametrize("method", ["mondrian", "incognito", "sabre", "bucketization"])
    def test_refine_off_may_be_said(self, method: str, tmp_path: Path) -> None:
        pq.write_table(table_of(), tmp_path / "people.parquet")
        document = policy_for(tmp_path / "people.parquet", unlisted="drop")
        document["method"] = {"name": method, "refine": "off"}
        if method == "bucketization":
            document["method"]["ratio"] = 2
        policy = write_policy(tmp_path / "policy.yaml", document)
        assert main(["run", str(policy), "--quiet"]) == 0


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
            ("age", {"widths": []}, "attributes.age.intervals.widths: is empty"),
            ("age", {"origin": 3}, "attributes.age.intervals.widths: is missing"),
            (
                "age",
                {"widths": [5], "origin": float("nan")},
                "intervals.origin: has to be a number",
            ),
            ("age", {"widths": [1e-30]}, "attributes.age.intervals: the numbers are not finite"),
            ("age", {"widths": [5], "origin": 2**60}, "too far from the origin to be counted exac"),
            ("day", {"widths": [7]}, "attributes.day: is date; intervals go with numbers, take"),
            ("ill", {"widths": [7]}, "attributes.ill: is nominal; intervals go with numbers, take"),
        ],
    )
    def test_of_no_use(
        self, column: str, intervals: dict[str, Any], fragment: str, refuse_method: Refuse
    ) -> None:
        attribute = {"role": QUASI, "intervals": intervals}
        refuse_method({"name": "incognito"}, fragment, attributes={column: attribute})

    @pytest.mark.parametrize("method", ["t-closeness-first", "mdav", "mondrian", "sabre"])
    def test_under_a_method_without_them(self, method: str, refuse_method: Refuse) -> None:
        refuse_method(
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
        self, keys: dict[str, Any], fragment: str, refuse_method: Refuse
    ) -> None:
        attribute = {"role": QUASI, "intervals": {"widths": [7]}} | keys
        refuse_method({"name": "incognito"}, fragment, attributes={"age": attribute})

    def test_too_many_levels(self, refuse_method: Refuse) -> None:
        names = [f"n{i}" for i in range(25)]
        refuse_method(
            {"name": "incognito"},
            "incognito searches at most 16,777,216 combinations of levels, the quasi-identifiers "
            "have 134,217,728; give them fewer levels, or take fewer of them",
            table=table_of(**{name: [0, 1] * 30 for name in names}),
            attributes=dict.fromkeys(names, QUASI),
        )


@pytest.mark.parametrize("method", ["incognito", "mondrian", "sabre"])
@pytest.mark.parametrize("keys", [{"aggregate": "median"}, {"round": False}])
def test_keys_of_aggregates_where_there_are_none(
    method: str, keys: dict[str, Any], refuse_method: Refuse
) -> None:
    refuse_method(
        {"name": method},
        f"attributes.age: {method} generalises; aggregate and round go with t-closeness-first or "
        "bucketization or mdav",
        attributes={"age": {"role": QUASI} | keys},
    )


@pytest.mark.parametrize("method", ["incognito", "mondrian", "sabre"])
@pytest.mark.parametrize("keys", [{"scale": "std"}, {"weight": 2}])
def test_scales_where_classes_are_generalised(
    method: str, keys: dict[str, Any], refuse_method: Refuse
) -> None:
    refuse_method(
        {"name": method},
        f"attributes.age: {method} generalises; scale and weight go with t-closeness-first or "
        "bucketization or mdav",
        attributes={"age": {"role": QUASI} | keys},
    )
