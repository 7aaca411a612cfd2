"""`tclose.check` against its definition, in fractions."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tclose
from support.naive import naive_kernels as naive
from support.naive import naive_taxonomy
from support.tables.random_tables import repeatable

TREE: naive_taxonomy.Tree = (
    "any",
    [("fruit", ["apple", "pear"]), ("root", [("red", ["beet", "radish"]), "carrot"])],
)
PLANTS = naive_taxonomy.leaves(TREE)
_rows = st.tuples(
    st.sampled_from(["x", "y", None]),
    st.sampled_from([1, 2, None]),
    st.integers(-2, 2),
    st.sampled_from(PLANTS),
    st.sampled_from(["low", "mid", "high"]),
)


def _naive(rows, k, limits):
    classes: dict = {}
    for row in rows:
        classes.setdefault(row[:2], []).append(row)
    order = {"low": 0, "mid": 1, "high": 2}
    distances = {
        "n": lambda a, b: naive.ordered_emd([r[2] for r in a], [r[2] for r in b]),
        "e": lambda a, b: naive_taxonomy.equal_emd([r[3] for r in a], [r[3] for r in b]),
        "h": lambda a, b: naive_taxonomy.hierarchical_emd(
            TREE, [r[3] for r in a], [r[3] for r in b]
        ),
        "o": lambda a, b: naive.ordered_emd([order[r[4]] for r in a], [order[r[4]] for r in b]),
    }
    emds = {n: [measure(c, rows) for c in classes.values()] for n, measure in distances.items()}
    above = {n: sum(emd > limits[n] for emd in found) for n, found in emds.items()}
    return [len(c) for c in classes.values()], emds, above


@repeatable
@given(
    st.lists(_rows, min_size=1, max_size=40),
    st.integers(1, 6),
    st.sampled_from(["0.125", "0.2", "0.25", "0.5", "1"]),
)
def test_as_by_definition(rows, k, limit):
    names = ["q", "z", "n", "e", "o"]
    table = pa.table({n: list(c) for n, c in zip(names, zip(*rows, strict=True), strict=True)})
    table = table.append_column("h", table["e"])
    found = tclose.check(
        table, ["q", "z"], ["n", "e", "h", "o"], k=k, t=float(limit),
        order={"o": ["low", "mid", "high"]},
        taxonomy={"h": naive_taxonomy.to_document(TREE)},
    )  # fmt: skip
    sizes, emds, above = _naive(rows, k, dict.fromkeys("nheo", Fraction(limit)))
    assert (found.records, found.classes) == (len(rows), len(sizes))
    assert (found.smallest, found.largest) == (min(sizes), max(sizes))
    assert found.below_k == sum(size < k for size in sizes)
    assert found.above_t == above
    for name, of_classes in emds.items():
        assert found.largest_emd[name] == pytest.approx(float(max(of_classes)), abs=1e-12)
    assert found.passed == (min(sizes) >= k and not sum(above.values()))


def test_a_limit_that_is_just_met_is_met():
    """Classes at 1/8 exactly: decided without rounding."""
    frame = pd.DataFrame({"q": [0] * 4 + [1] * 4, "c": [1, 1, 1, 1, 1, 1, 1, 2]})
    for limit, n_above in ((0.125, 0), (0.1249999999999, 2)):
        found = tclose.check(frame, ["q"], ["c"], k=4, t=limit)
        assert (found.largest_emd["c"], found.above_t["c"]) == (0.125, n_above)


def test_missing_quasi_identifiers_are_a_class():
    frame = pd.DataFrame({"q": [1.0, np.nan, np.nan, 1.0], "c": [1, 2, 1, 2]})
    found = tclose.check(frame, ["q"], ["c"], k=2)
    assert found.passed
    assert (found.records, found.classes) == (4, 2)


def test_missing_confidential_values_are_a_value_where_values_have_no_order():
    table = pa.table({"q": ["a", "a", "b", "b"], "c": ["x", None, None, "x"]})
    assert tclose.check(table, ["q"], ["c"], k=2).largest_emd == {"c": 0.0}
    numbers = pa.table({"q": ["a", "a"], "c": [1, None]})
    with pytest.raises(tclose.DataError, match="'c': 1 missing"):
        tclose.check(numbers, ["q"], ["c"])
    assert tclose.check(numbers, ["q"], ["c"], k=2, distance={"c": "equal"}).passed


def test_k_alone():
    found = tclose.check(pd.DataFrame({"q": [1, 1, 2]}), ["q"], k=2)
    assert (found.below_k, found.smallest, found.passed) == (1, 1, False)
    assert [failure.what for failure in found.failures] == ["k"]


def test_whole_numbers_and_names_of_other_libraries():
    frame = pd.DataFrame({"q": [1, 1, 2]})
    assert tclose.check(frame, frame.columns, k=np.int64(5)) == tclose.check(frame, ["q"], k=5)


def test_zeros_of_both_signs_are_one_value():
    assert tclose.check(pa.table({"q": [0.0, -0.0]}), ["q"], k=2).passed


def test_files(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("q,c,rest\n01,5,a\n1,5,b\n01,5,\n1,5,d\n,5,e\n,5,f\n")
    found = tclose.check(path, ["q"], ["c"], k=2, t={"c": 0.1})
    assert (found.classes, found.passed) == (3, True)
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"q": ["a", "a"], "c": [1.5, 2.5]}), tmp_path / "t.parquet")
    assert tclose.check(str(tmp_path / "t.parquet"), ["q"], ["c"], k=2).passed


def test_codes_of_a_file_are_no_numbers(tmp_path):
    """In classes of two neighbours numbers are near, and texts as far as can be."""
    path = tmp_path / "t.csv"
    path.write_text("q,c\n" + "".join(f"{code // 2},{code:03}\n" for code in range(6)))
    assert tclose.check(path, ["q"], ["c"], k=2, t=1).largest_emd["c"] == pytest.approx(2 / 3)


def test_types_are_of_all_files(tmp_path):
    for name, values in (("a", (1, 2)), ("b", (1.5, 2))):
        (tmp_path / f"{name}.csv").write_text("q,c\n" + "".join(f"1,{v}\n" for v in values))
    assert tclose.check(tmp_path, ["q"], ["c"], k=4).passed


def test_long_files_with_line_feeds_in_quotes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("q,c,note\n" + ('1,2,"' + "a\n" * 500 + '"\n') * 2100)
    assert tclose.check(path, ["q"], ["c"], k=2100).passed


def test_integers_that_are_too_long(tmp_path):
    """They would be one value as floats; where values have no order texts will do."""
    path = tmp_path / "t.csv"
    path.write_text("q,c\n1,12345678901234567890\n1,12345678901234567891\n1,1\n2,1\n")
    with pytest.raises(tclose.DataError, match=r"'c': is .* 2 of 4 .*, or take distance: equal"):
        tclose.check(path, ["q"], ["c"])
    found = tclose.check(path, ["q"], ["c"], k=1, t=1, distance={"c": "equal"})
    assert found.largest_emd["c"] == 0.5


def test_files_of_one_name_are_told_apart(tmp_path):
    for folder, header in (("a", "q,c"), ("b", "q")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t.csv").write_text(f"{header}\n{header}\n")
    with pytest.raises(
        tclose.DataError, match=r"files a/t\.csv and b/t\.csv: column 'c' is in a/t\.csv"
    ):
        tclose.check(tmp_path, ["q"], ["c"])


def test_a_dask_frame():
    import dask.dataframe as dd

    frame = pd.DataFrame({"q": list("aabb") * 5, "c": list(range(10)) * 2})
    lazy = dd.from_pandas(frame, npartitions=3)
    assert tclose.check(lazy, ["q"], ["c"]) == tclose.check(frame, ["q"], ["c"])


def test_sizes_are_those_of_counting():
    table = pd.DataFrame({"a": [1, 1, 2, 2, 2], "b": list("xxyyx")})
    sizes = Counter(zip(table["a"], table["b"], strict=True)).values()
    found = tclose.check(table, ["a", "b"], k=2)
    assert (found.smallest, found.largest, found.classes) == (min(sizes), max(sizes), len(sizes))


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"quasi": []}, tclose.UsageError, "quasi"),
        ({"quasi": "q"}, tclose.UsageError, "lists"),
        ({"quasi": ["q", "c"]}, tclose.UsageError, "'c' twice"),
        ({"quasi": ["z"]}, tclose.DataError, "no column 'z'"),
        ({"k": 0}, tclose.UsageError, "k"),
        ({"k": 2.0}, tclose.UsageError, "k"),
        ({"k": True}, tclose.UsageError, "k: has to be a whole number"),
        ({"t": 2}, tclose.PolicyError, "t"),
        ({"t": {"d": 0.1}}, tclose.UsageError, "no entry for 'c'"),
        ({"order": {"d": [1]}}, tclose.UsageError, "order: names 'd'"),
        ({"order": {"c": [1, 2]}}, tclose.DataError, "1 value outside its order"),
        ({"quasi": 5}, tclose.UsageError, "quasi: is a value of type int; .* lists"),
        ({"confidential": None}, tclose.UsageError, "confidential: is None; .* lists"),
        ({"distance": "foo"}, tclose.UsageError, "distance: is a value of type str; give a map"),
        ({"distance": {"c": "far"}}, tclose.PolicyError, "distance"),
        ({"taxonomy": {"c": {"any": ["one"]}}}, tclose.DataError, "taxonomy"),
        ({"data": pa.table({"q": [], "c": []})}, tclose.DataError, "no records"),
        ({"data": pa.table({"q": [1], "c": [float("nan")]})}, tclose.DataError, "NaN"),
        ({"data": pa.table({"q": [[1]], "c": [1]})}, tclose.DataError, "column 'q'"),
    ],
)
def test_refusals(arguments, error, said):
    data = arguments.pop("data", pa.table({"q": [1, 1, 1], "c": [1, 2, 3]}))
    with pytest.raises(error, match=said):
        tclose.check(data, **({"quasi": ["q"], "confidential": ["c"]} | arguments))


def test_no_t_is_no_t_of_one():
    frame = pd.DataFrame({"age": [1, 1], "pay": [1, 2]})
    with pytest.raises(tclose.UsageError, match="t: is None for 'pay'"):
        tclose.check(frame, ["age"], ["pay"], k=2, t={"pay": None})  # type: ignore[dict-item]


def test_an_empty_path():
    with pytest.raises(tclose.UsageError, match="data: is an empty path"):
        tclose.check("", ["age"], k=2)
