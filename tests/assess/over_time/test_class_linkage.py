"""Links of persons to classes, next to the definition without rounding."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive.naive_links import Record, scaled, square
from support.tables.value_encodings import encodings_of
from tclose.assess.over_time import class_linkage
from tclose.assess.over_time.class_linkage import find_covering, find_nearest_points, link_nearest
from tclose.methods.scaling import Scaled

AGES, SEXES = st.integers(0, 6), st.sampled_from(["f", "m", "x"])


@pytest.fixture(params=[1 << 21, 3], scope="module")
def pairs_at_once(request: pytest.FixtureRequest) -> Iterator[int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_linkage, "_PAIRS_AT_ONCE", request.param)
        yield request.param


@st.composite
def points(draw: st.DrawFn, spans: list[int], n_nominal: int) -> list[tuple]:
    numbers = st.tuples(*(st.integers(0, span) for span in spans))
    codes = st.tuples(*([st.integers(0, 2)] * n_nominal))
    found: list[tuple] = draw(st.lists(st.tuples(numbers, codes), min_size=1, max_size=9))
    return found


@given(data=st.data())
def test_nearest_is_that_of_the_definition(pairs_at_once: int, data: st.DataObject) -> None:
    spans = data.draw(st.lists(st.integers(1, 97), max_size=3))
    weights = data.draw(st.lists(st.integers(1, 4).map(lambda h: Fraction(1, h)), max_size=2))
    records, classes = (data.draw(points(spans, len(weights))) for _ in range(2))

    expected = []
    for one in records:
        squares = [square(one, other, spans, weights) for other in classes]
        expected.append(squares.index(min(squares)))

    def as_scaled(rows: list[Record]) -> Scaled:
        heights = np.ones(len(weights), dtype=np.int64)
        floats = np.array(weights, dtype=np.float64)
        return Scaled(*scaled(rows, spans, len(weights)), 3, floats, heights)

    assert find_nearest_points(as_scaled(records), as_scaled(classes)).tolist() == expected


@given(
    known=st.lists(st.tuples(AGES, SEXES), min_size=1, max_size=8),
    classes=st.lists(
        st.tuples(st.tuples(AGES, AGES), st.sets(SEXES, min_size=1)), min_size=1, max_size=6
    ),
)
def test_classes_that_cover_are_those_with_all_values(
    pairs_at_once: int, known: list[tuple[int, str]], classes: list[tuple]
) -> None:
    everybody = [*known, *((age, sex) for age in (0, 6) for sex in "fmx")]
    ends = [(min(pair), max(pair)) for pair, _ in classes]
    texts = [f"[{low}, {high}]" if low < high else str(low) for low, high in ends]
    sets = [f"{{{', '.join(sorted(s))}}}" if len(s) > 1 else min(s) for _, s in classes]
    originals = pa.table({"age": [a for a, _ in everybody], "sex": [s for _, s in everybody]})
    offsets, found = find_covering(
        originals, pa.table({"age": texts, "sex": sets}), encodings_of(originals), is_foreign=False
    )
    assert offsets[0] == 0
    for i, (age, sex) in enumerate(everybody):
        expected = [
            c
            for c, ((low, high), (_, sexes)) in enumerate(zip(ends, classes, strict=True))
            if low <= age <= high and sex in sexes
        ]
        assert found[offsets[i] : offsets[i + 1]].tolist() == expected


def test_nearest_by_released_values() -> None:
    """Means are fractions where the originals are integers; the range is that of the originals."""
    known = pa.table({"age": [20, 40, 60], "sex": ["f", "m", "m"]})
    classes = pa.table({"age": [30.5, 59.0, 22.0], "sex": ["m", "m", "f"]})
    assert link_nearest(known, classes, encodings_of(known)).tolist() == [2, 0, 1]
