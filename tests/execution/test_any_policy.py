"""Any small table under any policy: a release that is what it says, or a refusal in plain words."""

import copy
import datetime
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import TcloseError
from pipeline.execution import passes
from pipeline.execution.audit import audit_release
from pipeline.execution.progress import Progress
from pipeline.execution.release import run_release
from pipeline.settings import parse_policy
from pipeline.stages import tree
from pipeline.stages.methods import method
from support.released import check_release
from support.tables import repeatable, seeds

N_CASES = int(os.environ.get("TCLOSE_FUZZ", "300"))
QUASI, CONFIDENTIAL = "quasi-identifier", "confidential"
TOWNS = ["Bonn", "Köln", "Lyon", "a, b", '"x"']
MAP = {"any": {"DE": ["Bonn", "Köln"], "FR, west": {"south": ["Lyon", "a, b"], "north": ['"x"']}}}
ILLS = {"any": {"lungs": ["flu", "cold"], "other": ["ulcer"]}}
GRADES = ["low", "mid", "high"]
DAY = datetime.date(2020, 1, 30)


def draw_column(rng: np.random.Generator, name: str, n: int) -> pa.Array:
    """Values of a column by its name; few different ones, so that there are ties."""
    if name == "age":
        return pa.array(rng.integers(-5, 30, n))
    if name == "size":
        return pa.array(rng.integers(0, 40, n) / 10)
    if name == "cost":
        values = [Decimal(int(i)).scaleb(-2) for i in rng.integers(-300, 900, n)]
        return pa.array(values, pa.decimal128(7, 2))
    if name == "day":
        return pa.array([DAY + datetime.timedelta(days=int(i)) for i in rng.integers(0, 90, n)])
    if name == "kept":
        return pa.array(rng.integers(0, 2, n) == 1)
    if name == "pay":
        return pa.array(rng.integers(0, int(rng.integers(1, 12)), n), pa.int16())
    values = {"town": TOWNS, "ill": ["flu", "cold", "ulcer"], "site": ["a", "b"]}.get(name, GRADES)
    return pa.array(rng.choice(values, n))


QUASI_KEYS: dict[str, list[dict[str, Any]]] = {
    "age": [{}, {"intervals": {"widths": [4, 12]}}, {"intervals": {"widths": [2, 3]}}],
    "size": [{}, {"intervals": {"widths": [0.3, 0.9], "origin": 0.1}}],
    "cost": [{}, {"intervals": {"widths": [0.5, 2]}}],
    "day": [{}, {"intervals": {"widths": [7]}}],
    "kept": [{}],
    "town": [
        {},
        {"taxonomy": MAP},
        {"taxonomy": MAP, "aggregate": "ancestor"},
        {"taxonomy": {"any": TOWNS[:4]}},
    ],
    "grade": [{"type": "ordinal", "order": GRADES}, {"type": "nominal"}],
}
CONFIDENTIAL_KEYS: dict[str, list[dict[str, Any]]] = {
    "pay": [{}, {"t": 0.6}],
    "ill": [{}, {"distance": "equal"}, {"taxonomy": ILLS}, {"taxonomy": {"any": ["flu", "x"]}}],
    "stage": [{"type": "ordinal", "order": GRADES}],
}
NOISE: dict[str, list[dict[str, Any]]] = {
    "pay": [{"low": 0, "high": 10}, {"low": 0, "high": 9, "step": 3}, {"low": 0, "high": 10**6}],
    "ill": [{"values": ["cold", "flu", "ulcer", "x"]}, {"values": ["flu", "cold"]}, {}],
    "stage": [{}, {"low": 1, "high": 2}],
}
MODELS: list[list[dict[str, Any]]] = [
    [],
    [],
    [{"name": "distinct-l-diversity", "l": 2}],
    [{"name": "ratio-closeness", "t": 3, "buckets": 2}],
    [{"name": "entropy-l-diversity", "l": 1.5}, {"name": "n-t-closeness", "n": 20, "t": 0.3}],
]
METHODS: dict[str, list[dict[str, Any]]] = {
    "t-closeness-first": [{}, {"scope": "table"}, {"refine": "off", "class_size": "paper"}],
    "mdav": [{}, {"refine": 1}],
    "v-mdav": [{}, {"gamma": 1.5}],
    "microaggregate-and-merge": [{}, {"start": "v-mdav", "gamma": 0}, {"refine": 2}],
    "k-anonymity-first": [{}, {"refine": 1}],
    "bucketization": [
        {"ratio": 2},
        {"ratio": 3.5, "buckets": 2},
        {"ratio": 1.3, "buckets": 3},
        {"ratio": 3, "release": "value"},
    ],
    "dp-confidential": [{}, {"start": "v-mdav"}],
    "mondrian": [{}, {"scope": "table"}],
    "incognito": [{}],
    "sabre": [{}],
}


@st.composite
def documents(draw: st.DrawFn, name: str) -> tuple[dict[str, Any], list[str]]:
    """A policy, most often one that can be met, and the columns that the table has."""
    picked = st.lists(st.sampled_from(list(QUASI_KEYS)), min_size=1, max_size=3, unique=True)
    attributes: dict[str, Any] = {"id": "non-confidential"}
    for column in draw(picked):
        keys = [k for k in QUASI_KEYS[column] if name == "incognito" or "intervals" not in k]
        attributes[column] = {"role": QUASI} | draw(st.sampled_from(keys))
    least, most = draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (0, 0)]))
    columns = st.sampled_from(list(CONFIDENTIAL_KEYS))
    picked = st.lists(columns, min_size=least, max_size=most, unique=True)
    for column in draw(picked):
        keys = draw(st.sampled_from(CONFIDENTIAL_KEYS[column]))
        if name == "dp-confidential":
            given = {"epsilon": 1} | draw(st.sampled_from(NOISE[column]))
            keys = {k: v for k, v in keys.items() if k != "t"} | {"noise": given}
        attributes[column] = {"role": CONFIDENTIAL} | keys
    hard = draw(st.sampled_from([(), (), (), ("site",), (list(attributes)[1],)]))
    if "site" in hard:
        attributes["site"] = "non-confidential"
    privacy: dict[str, Any] = {
        "k": draw(st.integers(2, 7)),
        "t": draw(st.sampled_from([0.3, 0.05, 0.5, 1])),
    }
    if not draw(st.booleans()):
        privacy["models"] = draw(st.sampled_from(MODELS))
    document = {
        "name": "any",
        "attributes": attributes,
        "privacy": privacy,
        "method": {"name": name} | draw(st.sampled_from(METHODS[name])),
        "output": {"partition_by": list(hard)},
    }
    return document, list(attributes)


MUTANTS = [None, "", "x" * 300, "-1", -1, 0, 10**30, 1e400, float("nan"), True, [], {}, ["a"], [[]]]


@st.composite
def mutants(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    """The policy with something else in one place, without it, or with a key that there is not."""
    mutant = copy.deepcopy(document)
    place, keys = mutant, list(mutant)
    while True:
        key = draw(st.sampled_from(keys))
        below = place[key]
        if not isinstance(below, dict) or not below or draw(st.integers(0, 3)) == 0:
            break
        place, keys = below, list(below)
    how = draw(st.sampled_from(["other", "other", "without", "more"]))
    if how == "other":
        place[key] = draw(st.sampled_from(MUTANTS))
    elif how == "without":
        del place[key]
    else:
        place[draw(st.sampled_from(["unknown", "k", "t", "name", "", "\n"]))] = place[key]
    return mutant


@pytest.mark.parametrize("name", METHODS)
def test_a_release_or_a_refusal(name: str, record_property: Callable[[str, str], None]) -> None:
    ends: Counter[str] = Counter()

    @examples(-(-N_CASES * 3 // 4 // len(METHODS)))
    @given(data=st.data(), n_records=st.sampled_from([12, 25, 40, 60, 1]), seed=seeds)
    def one_case(data: st.DataObject, n_records: int, seed: int) -> None:
        document, names = data.draw(documents(name))
        most = data.draw(st.sampled_from([32_768, 8]))
        ends[try_policy(document, names, n_records, seed, most)] += 1

    one_case()
    record_property("cases", tell(name, ends))
    assert ends["released"]


def test_a_mutant_is_released_or_refused(record_property: Callable[[str, str], None]) -> None:
    ends: Counter[str] = Counter()

    @examples(N_CASES // 4)
    @given(data=st.data(), seed=seeds)
    def one_case(data: st.DataObject, seed: int) -> None:
        document, names = data.draw(documents(data.draw(st.sampled_from(list(METHODS)))))
        mutant = data.draw(mutants(document))
        ends[try_policy(mutant, names, 25, seed, 8, is_mutant=True)] += 1

    one_case()
    record_property("cases", tell("mutants", ends))
    assert ends["refused"]


def examples(n_cases: int) -> settings:
    """So many cases: the same ones each time, or others each time where TCLOSE_FUZZ is given."""
    return settings(repeatable, max_examples=n_cases, derandomize="TCLOSE_FUZZ" not in os.environ)


def tell(name: str, ends: Counter[str]) -> str:
    """How the cases ended."""
    return f"{name}: {ends['released']} released, {ends['refused']} refused"


def try_policy(
    document: dict[str, Any],
    names: list[str],
    n_records: int,
    seed: int,
    most: int,
    is_mutant: bool = False,
) -> str:
    """Release a drawn table by a policy; whether it was released, which is checked, or refused."""
    rng = np.random.default_rng(seed)
    columns = {name: draw_column(rng, name, n_records) for name in names if name != "id"}
    table = pa.table({"id": np.arange(n_records)} | columns)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(method, "MAX_QUADRATIC_RECORDS", most)
        patch.setattr(tree, "MIN_REGION_RECORDS", most)
        patch.setattr(passes, "describe_failure", lambda error, place: error)  # as it was raised
        place = Path(folder)
        pq.write_table(table, place / "in.parquet", row_group_size=17)
        document["input"] = {"path": str(place / "in.parquet")}
        if isinstance(document.get("output"), dict):
            document["output"]["path"] = str(place / "out")
        else:
            patch.chdir(place)
        release, refusal = publish(document)
        currents = list(place.rglob("CURRENT"))
        assert (release is None) == (not currents)
        if release is None:
            assert refusal is not None
            assert refusal.exit_code > 1
            return "refused"
        assert audit_release(release)["findings"] == []
        if not is_mutant:  # whose policy may say things in other ways than the checker reads
            check_release(release, table, document)
        return "released"


def publish(document: dict[str, Any]) -> tuple[Path | None, TcloseError | None]:
    try:
        return run_release(parse_policy(document), Progress("none")).release, None
    except TcloseError as refusal:
        return None, refusal
