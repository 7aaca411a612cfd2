"""(n, t)-closeness on a whole table: as its definition, however the table is cut into ranges."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_models
from support.tables.model_classes import classified
from support.tables.random_tables import repeatable, seeds
from tclose.errors import DataError, PolicyError
from tclose.kernels.emd.tree import star_metric
from tclose.model.distribution import make_distribution
from tclose.privacy import whole_table
from tclose.privacy.bound_models import PrivacyModels
from tclose.privacy.models.n_t_closeness import check_supersets, grow_class_tree
from tclose.privacy.privacy_model import PrivacyModel
from tclose.privacy.whole_table import check_size, check_table, rank_centres, take_class_rows


def asked(least: int, limit: Fraction) -> PrivacyModels:
    return PrivacyModels((PrivacyModel("n-t-closeness", "pay", limit, least, attribute=0),))


@repeatable
@given(classified(), st.integers(1, 40), st.integers(0, 40), seeds)
def test_supersets_are_those_of_the_definition(classes, least, percent, seed):
    rng = np.random.default_rng(seed)
    keys = [
        np.sort(rng.integers(0, 5, classes.starts.size - 1)),
        rng.random(classes.starts.size - 1),
    ]
    privacy_models = asked(least, Fraction(percent, 100))
    table = make_distribution(np.arange(classes.table.size), classes.table)
    whole = take_class_rows(keys, classes.starts, classes.codes[np.newaxis], privacy_models)
    found = check_table([whole], privacy_models, [table])[0]
    tree = grow_class_tree(rank_centres(keys), np.diff(classes.starts), least)
    supersets = [set(tree.order[a:b].tolist()) for a, b in tree.bounds.T]
    members = classes.members
    for i in range(len(members)):
        of_class = [s for s in supersets if i in s]
        exact = naive_models.superset_distance(members, i, of_class, least)
        assert bool(found.meets[i]) == (exact <= Fraction(percent, 100))


@repeatable
@given(classified(), st.integers(1, 40), st.data())
def test_key_ranges_change_nothing(classes, least, data):
    privacy_models = asked(least, Fraction(1, 10))
    keys = [np.arange(classes.starts.size - 1)]
    codes = classes.codes[np.newaxis]
    table = make_distribution(np.arange(classes.table.size), classes.table)
    whole = check_table(
        [take_class_rows(keys, classes.starts, codes, privacy_models)], privacy_models, [table]
    )[0]
    cut = data.draw(st.integers(0, classes.starts.size - 1))
    at = classes.starts[cut]
    pieces = [
        take_class_rows([keys[0][:cut]], classes.starts[: cut + 1], codes[:, :at], privacy_models),
        take_class_rows([keys[0][cut:]], classes.starts[cut:], codes[:, at:], privacy_models),
    ]
    cut_up = check_table(pieces, privacy_models, [table])[0]
    assert cut_up.values.tolist() == whole.values.tolist()
    assert cut_up.meets.tolist() == whole.meets.tolist()


def test_missing_classes_are_refused():
    privacy_models = asked(2, Fraction(1, 10))
    table = make_distribution(np.arange(2), [2, 2])
    piece = take_class_rows([np.arange(1)], np.array([0, 2]), np.array([[0, 1]]), privacy_models)
    with pytest.raises(DataError, match="every class of the table"):
        check_table([piece], privacy_models, [table])


@repeatable
@given(classified(), st.integers(1, 40), st.integers(0, 60))
def test_equal_distance(classes, least, percent):
    """Total variation to the supersets, by their shares."""
    n_classes, limit = classes.starts.size - 1, Fraction(percent, 100)
    tree = grow_class_tree(
        np.arange(n_classes, dtype=float)[np.newaxis], np.diff(classes.starts), least
    )
    metric = star_metric(classes.table)
    found = check_supersets(
        classes.starts, classes.codes, classes.table, tree, least, limit, metric
    )
    members = classes.members
    supersets = [set(tree.order[a:b].tolist()) for a, b in tree.bounds.T] + [set(range(n_classes))]
    for i, own in enumerate(members):
        distances = [Fraction(0)] if len(own) >= least else []
        for superset in supersets:
            rows = [v for j in superset for v in members[j]]
            if i in superset and len(rows) >= least:
                distances.append(total_variation(own, rows))
        assert bool(found.meets[i]) == any(d <= limit for d in distances)


def total_variation(left, right):
    shares = [[Fraction(rows.count(v), len(rows)) for v in set(right)] for rows in (left, right)]
    return sum(abs(a - b) for a, b in zip(*shares, strict=True)) / 2


def test_ranks_do_not_depend_on_the_numbers():
    a = rank_centres([np.array([5, 5, 9, 700]), np.array(["b", "a", "b", "b"], dtype=object)])
    b = rank_centres([np.array([0, 0, 1, 2]), np.array([7, 3, 7, 7])])
    np.testing.assert_array_equal(a, b)
    assert a.tolist() == [[0, 0, 0.5, 1], [1, 0, 1, 1]]


def test_too_large_a_table_is_refused(monkeypatch):
    monkeypatch.setattr(whole_table, "MAX_RECORDS", 100)
    check_size(asked(10, Fraction(1, 10)), 100)
    check_size(PrivacyModels(), 1_000)
    with pytest.raises(PolicyError, match="100 records at most; there are 101: ask for t instead"):
        check_size(asked(10, Fraction(1, 10)), 101)
