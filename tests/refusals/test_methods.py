"""What methods cannot do with a table: one message that names the method and the remedy."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.cases.people import CONFIDENTIAL, QUASI
from support.checks.refusals import ILLS, SECRET, Refuse, table_of
from tclose.cli.main import main


class TestMethods:
    @pytest.mark.parametrize("method", ["mdav", "v-mdav"])
    def test_above_t(self, method: str, refuse_method: Refuse) -> None:
        refuse_method(
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
    def test_bucketization_of_one_attribute(
        self, changes: dict[str, Any], refuse_method: Refuse
    ) -> None:
        refuse_method(
            {"name": "bucketization", "ratio": 2},
            "method.name: bucketization works with one confidential attribute of the whole table",
            **changes,
        )

    def test_ratio_that_cannot_be_met_names_one_that_can(
        self, refuse_method: Refuse, tmp_path: Path
    ) -> None:
        """13 in 60: of two classes of 30 one has 6 of these records, the other 7, for 6.5."""
        message = refuse_method(
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

    def test_single_value_has_no_buckets(self, refuse_method: Refuse) -> None:
        refuse_method(
            {"name": "bucketization", "ratio": 2},
            "a single value of the confidential attribute cannot be bucketized",
            "leave the column out",
            table=table_of(pay=[7] * 60),
            status=3,
        )

    @pytest.mark.parametrize(
        ("changes", "n"),
        [({"attributes": {"ill": CONFIDENTIAL}}, 2), ({"attributes": {"pay": "identifier"}}, 0)],
    )
    def test_sabre_of_one_attribute(
        self, changes: dict[str, Any], n: int, refuse_method: Refuse
    ) -> None:
        refuse_method(
            {"name": "sabre"},
            f"method.name: sabre works with one confidential attribute, the policy has {n}; take "
            "t-closeness-first or mondrian",
            **changes,
        )

    def test_sabre_of_parts(self, refuse_method: Refuse) -> None:
        refuse_method(
            {"name": "sabre"},
            "method.name: sabre makes classes of the whole table, output.partition_by cuts it",
            attributes={"site": "non-confidential"},
            partition_by=["site"],
        )

    @pytest.mark.parametrize("distance", [{}, {"distance": "equal"}])
    def test_k_anonymity_first_of_texts(
        self, distance: dict[str, Any], refuse_method: Refuse
    ) -> None:
        refuse_method(
            {"name": "k-anonymity-first"},
            "k-anonymity-first works with the ordered distance, which 'ill' does not have; take "
            "t-closeness-first or microaggregate-and-merge",
            attributes={"ill": {"role": CONFIDENTIAL} | distance},
        )


@pytest.mark.parametrize("method", ["t-closeness-first", "mdav", "incognito", "mondrian", "sabre"])
def test_taxonomy_with_a_hole(method: str, refuse_method: Refuse) -> None:
    ills = np.array(ILLS * 20, dtype=object)
    ills[17] = SECRET
    refuse_method(
        {"name": method},
        "column 'ill': 1 of its values is not in its taxonomy; add it to it",
        table=table_of(ill=ills.tolist()),
        attributes={"ill": {"role": QUASI, "taxonomy": {"any": ILLS}}},
    )
