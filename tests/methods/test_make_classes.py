"""Classes of a region by each method: every record in one, and what was asked holds in each."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import distribution_of, repeatable, seeds, starts_of
from support.tables.value_encodings import encode
from tclose.errors import PolicyError
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.emd.ordered import exact_emd
from tclose.methods.clustering_problem import Clustering, ClusteringProblem
from tclose.methods.method import Method
from tclose.methods.scaling import scale_columns
from tclose.model.column_terms import Distance, Kind, Role
from tclose.privacy.t_closeness import find_above, with_metric

HALF = Fraction(1, 2)
# These hold classes to t; the others to k alone.
HELD = ["k-anonymity-first", "microaggregate-and-merge", "mondrian", "incognito", "sabre"]
OTHERS = ["mdav", "v-mdav", "dp-confidential", "bucketization"]


@dataclass(frozen=True, eq=False)
class Asked(ClusteringProblem):
    """A problem, and the method that is to solve it."""

    method: Method = field(kw_only=True)


def partition(problem: Asked) -> Clustering:
    return problem.method.make_classes(problem)


def problem_of(
    name: str, values: Sequence[int], k: int = 2, limit: Fraction = HALF, seed: int = 0,
    columns: dict[str, Any] | None = None, **keys: Any,
) -> Asked:  # fmt: skip
    """Random quasi-identifiers, a number and a text, beside these confidential values."""
    n, rng = len(values), np.random.default_rng(seed)
    given_columns = columns or {
        "age": (pa.array(rng.integers(0, 9, n)), {"intervals": (("3",), "0")}),
        "town": (pa.array(rng.choice(["a", "b", "c"], n)), {}),
    }
    pairs = [encode(array, name=n, **given) for n, (array, given) in given_columns.items()]
    encodings, keys_of = tuple(e for e, _ in pairs), [k for _, k in pairs]
    confidential, _ = encode(pa.array(values), Role.CONFIDENTIAL, "pay")
    distribution, codes = distribution_of(values)
    return Asked(
        encodings, (confidential,), keys_of, scale_columns(list(encodings), keys_of),
        codes[None], (distribution,), k, (limit,),
        method=Method.model_validate({"name": name} | keys),
    )  # fmt: skip


def classes_of(problem: Asked) -> list[list[int]]:
    """Records of each class, after a look at the labels."""
    labels = partition(problem).labels
    assert labels.dtype == np.int64
    assert sorted(set(labels.tolist())) == list(range(labels.max() + 1))
    return naive.groups(labels.tolist())


confidential = st.lists(st.integers(0, 6), min_size=2, max_size=40)
limits = st.integers(0, 50).map(lambda percent: Fraction(percent, 100))


@pytest.mark.parametrize("name", HELD)
@repeatable
@given(values=confidential, k=st.integers(1, 6), limit=limits, seed=seeds)
def test_classes_hold(name: str, values: list[int], k: int, limit: Fraction, seed: int) -> None:
    k = min(k, len(values))
    problem = problem_of(name, values, k, limit, seed)
    classes = classes_of(problem)
    assert min(map(len, classes)) >= k
    for rows in classes:
        assert naive.ordered_emd([values[i] for i in rows], values) <= limit


@pytest.mark.parametrize("name", OTHERS)
@repeatable
@given(values=confidential, k=st.integers(1, 6), seed=seeds)
def test_classes_have_k_records(name: str, values: list[int], k: int, seed: int) -> None:
    values = [*(v % 2 for v in values), *([0, 1] * 6)]
    keys: dict[str, Any] = {"ratio": len(values) ** 2} if name == "bucketization" else {}
    problem = problem_of(name, values, min(k, len(values)), seed=seed, **keys)
    assert min(map(len, classes_of(problem))) >= problem.k


@repeatable
@given(values=confidential, k=st.integers(1, 6), limit=limits, seed=seeds, cut=st.integers(1, 39))
def test_holds_is_exact(values: list[int], k: int, limit: Fraction, seed: int, cut: int) -> None:
    problem = problem_of("mondrian", values, k, limit)
    order = np.random.default_rng(seed).permutation(len(values))
    starts = starts_of([n for n in (min(cut, len(values)), len(values) - cut) if n > 0])
    members = np.split(order, starts[1:-1])
    assert problem.holds(order, starts).tolist() == [
        rows.size >= k and naive.ordered_emd([values[i] for i in rows], values) <= limit
        for rows in members
    ]
    for rows in members:
        excess = naive.ordered_emd([values[i] for i in rows], values) - limit
        assert problem.excess_of(rows) == pytest.approx(float(excess), abs=1e-9)
        assert problem.excess_of(rows) > 0 or excess <= 0  # rounding lets nothing pass


def test_start_and_gamma_reach_the_algorithm() -> None:
    """v-MDAV may extend a cluster, MDAV never does: the 21st record stands near the first 20."""
    cases: list[tuple[str, int, dict[str, Any]]] = [
        ("mdav", 0, {}),
        ("v-mdav", 0, {"gamma": 0.0}),
        ("v-mdav", 2, {"gamma": 2.0}),
        ("microaggregate-and-merge", 2, {"start": "v-mdav", "gamma": 2.0}),
        ("dp-confidential", 2, {"start": "v-mdav", "gamma": 2.0}),
        ("dp-confidential", 0, {}),
    ]
    ages = [*range(4), 50, 51, 52, 53, 54, 100, 101, 102]
    column: dict[str, Any] = {"age": (pa.array(ages), {})}
    sizes = {
        (name, gamma): sorted(
            map(len, classes_of(problem_of(name, ages, 4, Fraction(1), columns=column, **keys)))
        )
        for name, gamma, keys in cases
    }
    assert sizes["mdav", 0] == sizes["dp-confidential", 0] == [4, 4, 4]
    extended = sizes["v-mdav", 2]
    assert extended != sizes["v-mdav", 0]
    assert sizes["microaggregate-and-merge", 2] == sizes["dp-confidential", 2] == extended


class TestMondrian:
    def test_cuts_a_taxonomy_between_its_leaves(self) -> None:
        towns = ["a-east", "b-west", "c-east", "d-west"] * 5
        ways = (("b-west", "w", "*"), ("d-west", "w", "*"), ("a-east", "e", "*"),
                ("c-east", "e", "*"))  # fmt: skip
        for given_keys, expected in [
            ({"taxonomy": ways}, [{"b-west", "d-west"}, {"a-east", "c-east"}]),
            ({}, [{"a-east", "b-west"}, {"c-east", "d-west"}]),
        ]:
            columns = {"town": (pa.array(towns), given_keys)}
            problem = problem_of("mondrian", [0, 1] * 10, 8, Fraction(1), columns=columns)
            found = [{towns[i] for i in rows} for rows in classes_of(problem)]
            assert sorted(found, key=min) == sorted(expected, key=min)

    def test_region_above_t_is_one_class(self) -> None:
        """It may be joined with others; that alone is no proof that nothing can be done."""
        problem = problem_of("mondrian", [0] * 5 + [9] * 5)
        region = replace(
            problem,
            keys=[column[:5] for column in problem.keys],
            scaled=scale_columns(list(problem.encodings), [c[:5] for c in problem.keys]),
            codes=problem.codes[:, :5],
            max_emds=(Fraction(1, 10),),
        )
        assert classes_of(region) == [[0, 1, 2, 3, 4]]


class TestRefusals:
    def test_k_anonymity_first_of_another_distance(self) -> None:
        problem = problem_of("k-anonymity-first", [1, 2, 3, 4])
        column = problem.confidential[0].column
        equal = replace(column, attribute=replace(column.attribute, distance=Distance.EQUAL))
        changed = (replace(problem.confidential[0], column=equal),)
        with pytest.raises(PolicyError, match="ordered distance, which 'pay' does not have"):
            partition(replace(problem, confidential=changed))

    def test_sabre_of_several_attributes_or_a_part(self) -> None:
        problem = problem_of("sabre", [1, 2, 3, 4])
        with pytest.raises(PolicyError, match=r"one confidential attribute, .* has 2"):
            partition(replace(problem, distributions=problem.distributions * 2))
        with pytest.raises(PolicyError, match="makes classes of the whole table"):
            partition(replace(problem, codes=problem.codes[:, :3]))


LETTERS = (("a", "x", "r"), ("b", "x", "r"), ("c", "y", "r"), ("d", "y", "r"))


@pytest.mark.parametrize("given_keys", [{}, {"taxonomy": LETTERS}])
def test_sabre_takes_the_buckets_of_the_distance(given_keys: dict[str, Any]) -> None:
    texts = ["a", "b", "c", "d"] * 10 + ["a"] * 8
    encoding, _ = encode(pa.array(texts), Role.CONFIDENTIAL, "ill", kind=Kind.NOMINAL, **given_keys)
    codes = encoding.encode(pa.array(texts)).astype(np.int64)
    table, _ = distribution_of(codes.tolist())
    table = with_metric(table, encoding.column, encoding.texts)
    problem = replace(
        problem_of("sabre", list(range(48)), 3, Fraction(1, 4)),
        confidential=(encoding,),
        codes=codes[None],
        distributions=(table,),
    )
    classes = classes_of(problem)
    assert len(classes) > 3
    order, starts = group_by_label(partition(problem).labels, len(classes))
    assert not find_above(order, starts, codes[None], (table,), (Fraction(1, 4),)).size
    assert min(map(len, classes)) >= 3


def test_without_confidential_attributes_classes_have_k_records() -> None:
    for name in ("k-anonymity-first", "microaggregate-and-merge", "mondrian", "incognito"):
        problem = replace(
            problem_of(name, list(range(12)), 4),
            codes=np.empty((0, 12), np.int64), distributions=(), max_emds=(), confidential=(),
        )  # fmt: skip
        assert min(map(len, classes_of(problem))) >= 4


def test_exact_distance_is_the_twins() -> None:
    """The two ways in which these tests measure agree."""
    values = [0, 0, 1, 5, 5, 9]
    table, codes = distribution_of(values)
    rows = np.array([0, 3])
    assert exact_emd(codes[rows], table.cumulative) == naive.ordered_emd([0, 5], values)
