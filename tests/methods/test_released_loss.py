"""Losses of classes before it is released what they lose: of ancestors as of what is released."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable, seeds
from tclose.data.columns import resolve_column
from tclose.data.encodings import make_encoding
from tclose.data.keys import Encoding
from tclose.data.value_counts import ColumnSummary
from tclose.kernels.aggregate import group_by_label
from tclose.methods.released_loss import measure_released
from tclose.methods.scaling import FAVOUR, favour_wholes, scale_columns
from tclose.model.attributes import ANCESTOR, Attribute
from tclose.model.column_terms import Kind, Role
from tclose.passes.microaggregate.losses import lose_by_aggregate
from tclose.passes.microaggregate.release_classes import aggregate_column

PLACES = (
    ("Bern", "Switzerland", "Europe", "World"),
    ("Basel", "Switzerland", "Europe", "World"),
    ("Rome", "Italy", "Europe", "World"),
    ("Lima", "Peru", "World"),
)


def places(values: list[str], aggregate: str, weight: float = 1.0) -> Encoding:
    attribute = Attribute(
        "place", Role.QUASI_IDENTIFIER, Kind.NOMINAL, taxonomy=PLACES, aggregate=aggregate,
        weight=weight,
    )  # fmt: skip
    column = resolve_column(attribute, pa.string())
    return make_encoding(column, ColumnSummary(categories=Counter(values)))


def numbers(values: list[float]) -> Encoding:
    column = resolve_column(Attribute("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC), pa.float64())
    return make_encoding(column, ColumnSummary(low=min(values), high=max(values)))


@repeatable
@given(
    st.lists(st.sampled_from([row[0] for row in PLACES]), min_size=2, max_size=30),
    st.sampled_from([ANCESTOR, "mode"]),
    st.sampled_from([1.0, 0.25]),
    seeds,
)
def test_what_is_measured_is_what_is_released(
    values: list[str], aggregate: str, weight: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    ages = rng.integers(0, 9, len(values)).astype(np.float64).tolist()
    encodings = [numbers(ages), places(values, aggregate, weight)]
    keys = [e.encode(pa.array(one)) for e, one in zip(encodings, (ages, values), strict=True)]
    labels = np.unique(rng.integers(0, 5, len(values)), return_inverse=True)[1].reshape(-1)
    by_class = group_by_label(labels, int(labels.max()) + 1)
    lost = [
        lose_by_aggregate(e, k, aggregate_column(e, k, *by_class), by_class)
        for e, k in zip(encodings, keys, strict=True)
    ]
    scaled = scale_columns(encodings, keys)
    if aggregate == "mode":  # each level has a mode of its own
        assert measure_released(scaled, labels) <= lost[0] + weight * lost[1] + 1e-9
    else:
        assert measure_released(scaled, labels) == pytest.approx(lost[0] + weight * lost[1])
        assert favour_wholes(scaled).weights.sum() == pytest.approx(weight)
    favoured = favour_wholes(scaled)
    assert measure_released(favoured, labels) == pytest.approx(measure_released(scaled, labels))


def test_columns_of_ancestors_count_more_than_others() -> None:
    values = [row[0] for row in PLACES]
    encodings = [places(values, ANCESTOR), places(values, "mode")]
    scaled = scale_columns(encodings, [e.encode(pa.array(values)) for e in encodings])
    assert scaled.weights.tolist() == [1 / 3] * 6
    favoured = favour_wholes(scaled).weights
    assert favoured[:3].tolist() == [1 / 3] * 3
    assert favoured[3:] == pytest.approx(1 / 3 / FAVOUR)


def test_without_ancestors_nothing_is_weighed_otherwise() -> None:
    values = [row[0] for row in PLACES]
    encoding = places(values, "mode")
    scaled = scale_columns([encoding], [encoding.encode(pa.array(values))])
    assert favour_wholes(scaled) is scaled
