"""Policies for every method over the invented patients, by what each case is called."""

from typing import Any

from support.cases.patients import ILLS, STAGES, TOWNS

QUASI, CONFIDENTIAL = "quasi-identifier", "confidential"
N_RECORDS = 2_000
LOOSE = {"k": 5, "t": 0.6}  # for methods that know nothing of t
BY_MAP = {"town": {"role": QUASI, "taxonomy": TOWNS}}
BY_WIDTH = {
    "age": {"role": QUASI, "intervals": {"widths": [5, 20]}},
    "height": {"role": QUASI, "intervals": {"widths": [2.5, 10, 40], "origin": 0.5}},
}
STAGE = {"role": CONFIDENTIAL, "type": "ordinal", "order": STAGES}
SEVERAL = {
    "stage": STAGE | {"t": 0.25},
    "ill": {"role": CONFIDENTIAL, "taxonomy": ILLS, "t": 0.5},
}
ILL_ALONE = {"pay": "identifier", "ill": {"role": CONFIDENTIAL, "distance": "equal"}}
ILL_BY_TREE = {"pay": "identifier", "ill": {"role": CONFIDENTIAL, "taxonomy": ILLS}}
STAGE_ALONE = {"pay": "identifier", "stage": STAGE}
DAYS = {"day": QUASI, "stage": {"role": QUASI, "type": "ordinal", "order": STAGES}}
VALUES = {"release": "value"}
SITE = {"site": "non-confidential"}
IN_FOLDERS = {"partition_by": ["site"]}
BY_SITE: dict[str, Any] = {"attributes": SITE, "output": IN_FOLDERS}

CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "blocks": ({"name": "t-closeness-first"}, {}),
    "table": ({"name": "t-closeness-first", "scope": "table"}, {}),
    "mdav": ({"name": "mdav"}, {"privacy": LOOSE}),
    "mdav refined": ({"name": "mdav", "refine": 2}, {"privacy": LOOSE}),
    "mdav by site": ({"name": "mdav"}, {"privacy": LOOSE} | BY_SITE),
    "v-mdav": ({"name": "v-mdav", "gamma": 0.6}, {"privacy": LOOSE}),
    "merge": ({"name": "microaggregate-and-merge"}, {}),
    "merge v-mdav": ({"name": "microaggregate-and-merge", "start": "v-mdav"}, {}),
    "merge several": ({"name": "microaggregate-and-merge"}, {"attributes": SEVERAL}),
    "merge by site": ({"name": "microaggregate-and-merge"}, BY_SITE),
    "k first": ({"name": "k-anonymity-first"}, {}),
    "k first several": ({"name": "k-anonymity-first"}, {"attributes": {"stage": STAGE}}),
    "k first by site": ({"name": "k-anonymity-first"}, BY_SITE),
    "buckets": ({"name": "bucketization", "ratio": 2}, {"privacy": {"k": 5}}),
    "few buckets": (
        {"name": "bucketization", "ratio": 3.5, "buckets": 3},
        {"privacy": {"k": 5}, "attributes": STAGE_ALONE},
    ),
    "buckets of ills": (
        {"name": "bucketization", "ratio": 1.6, "buckets": 4},
        {"privacy": {"k": 12}, "attributes": {"pay": "identifier", "ill": CONFIDENTIAL}},
    ),
    "values in buckets": ({"name": "bucketization", "ratio": 2} | VALUES, {}),
    "stages in buckets": (
        {"name": "bucketization", "ratio": 3.5, "buckets": 3} | VALUES,
        {"privacy": {"k": 5}, "attributes": STAGE_ALONE},
    ),
    "ills in buckets": (
        {"name": "bucketization", "ratio": 1.6, "buckets": 3} | VALUES,
        {"privacy": {"k": 12, "t": 0.3}, "attributes": ILL_ALONE},
    ),
    "ills by tree in buckets": (
        {"name": "bucketization", "ratio": 2, "buckets": 2} | VALUES,
        {"privacy": {"k": 12, "t": 0.3}, "attributes": ILL_BY_TREE},
    ),
    "mondrian": ({"name": "mondrian"}, {"attributes": BY_MAP}),
    "mondrian several": ({"name": "mondrian"}, {"attributes": SEVERAL | DAYS}),
    "mondrian by site": ({"name": "mondrian"}, BY_SITE),
    "mondrian in folders": (
        {"name": "mondrian"},
        {
            "attributes": BY_MAP,
            "privacy": {"k": 50, "t": 0.2},
            "output": {"partition_by": ["town"]},
        },
    ),
    "incognito": ({"name": "incognito"}, {"attributes": BY_MAP | BY_WIDTH | DAYS}),
    "incognito several": ({"name": "incognito"}, {"attributes": BY_MAP | BY_WIDTH | SEVERAL}),
    "incognito by site": (
        {"name": "incognito"},
        {
            "attributes": BY_MAP | BY_WIDTH | SITE,
            "output": IN_FOLDERS,
        },
    ),
    "sabre": ({"name": "sabre"}, {"attributes": BY_MAP}),
    "sabre equal": ({"name": "sabre"}, {"attributes": ILL_ALONE}),
    "sabre by tree": ({"name": "sabre"}, {"attributes": ILL_BY_TREE}),
}  # fmt: skip
# One of each method, whose bytes are compared.
EACH = ["blocks", "mdav", "v-mdav", "merge", "k first", "buckets", "mondrian", "incognito", "sabre"]
