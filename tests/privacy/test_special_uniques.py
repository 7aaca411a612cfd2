"""Special uniques against their definition, one record after the other, and sdcMicro's examples."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from support.naive.naive_uniques import is_alone, list_msus, score_row
from tclose.privacy.special_uniques import (
    MOST_SETS,
    choose_set_size,
    find_special_uniques,
    measure_intrusion,
    spread_intrusion,
)


def numbers(columns: Any) -> list[np.ndarray]:
    return [np.unique(np.array(column), return_inverse=True)[1].reshape(-1) for column in columns]


@pytest.mark.every_case
@pytest.mark.parametrize("n_columns", [1, 2, 5])
@pytest.mark.parametrize("n_values", [2, 4, 40])
def test_they_are_those_of_the_definition(n_columns, n_values):
    rng = np.random.default_rng([n_columns, n_values])
    table = rng.integers(-n_values, n_values, (24, n_columns)) // 2
    rows = [tuple(row) for row in table.tolist()]
    max_size = choose_set_size(n_columns)
    found = find_special_uniques(list(table.T), max_size)
    msus = [list_msus(rows, i, max_size) for i in range(len(rows))]
    for i, sets in enumerate(msus):
        sizes = Counter(map(len, sets))
        assert found.n_msus[:, i].tolist() == [sizes[s] for s in range(1, max_size + 1)]
        assert found.smallest[i] == min(sizes, default=0)
        if n_columns > 1:
            assert found.scores[i] == score_row(rows, i, max_size)
    for column in range(n_columns):
        taking = Counter(len(s) for sets in msus for s in sets if column in s)
        of_column = found.of_columns[:, column].tolist()
        assert of_column == [taking[s] for s in range(1, max_size + 1)]
    alone = sum(is_alone(rows, i, range(n_columns)) for i in range(len(rows)))
    assert found.n_unique == alone
    assert found.n_pairs == list(Counter(rows).values()).count(2)


def guideline() -> list[list[str]]:
    """The example of sdcMicro's guideline, as its tests have it."""
    return [
        list("uuuuruuuuu"),
        list("fffmfmfmff"),
        list("iipssscqii"),
        list("eenwuenunn".replace("w", "e")),
    ]


def test_scores_are_those_of_sdcmicro():
    found = find_special_uniques(numbers(guideline()), 3)
    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    book = [list("yyyyyyyo"), list("mmmmfffm"), list("hhllllll"), list("ssssusdu")]
    assert find_special_uniques(numbers(book), 3).scores.tolist()[4:] == [4, 2, 6, 8]


def test_the_risk_of_the_file_is_spread_as_sdcmicro_does():
    found = find_special_uniques(numbers(guideline()), 3)
    assert (found.n_unique, found.n_pairs) == (4, 3)
    risk = 4 * 0.1 / (4 * 0.1 + 6 * 0.9)
    assert measure_intrusion(4, 3, 0.1) == pytest.approx(risk)
    spread, power = spread_intrusion(found, 0.1), 1 + (8 - 4) / 20
    total = sum(score**-power for score in (6, 12, 6, 10))
    for i, score in {2: 6, 4: 12, 6: 6, 7: 10}.items():
        expected = 1 / (1 + (4 / risk - 4) / (score**power * total))
        assert spread[i] == pytest.approx(expected)
    assert np.count_nonzero(spread) == 4
    assert set(spread_intrusion(found, 1.0).tolist()) == {0.0, 1.0}
    assert measure_intrusion(0, 3, 0.1) is None


def test_nobody_is_alone_where_all_have_a_twin():
    columns = [np.repeat(np.arange(20), 2), np.repeat(np.arange(20) % 3, 2)]
    found = find_special_uniques(columns, 1)
    assert found.n_unique == 0
    assert not found.n_msus.any()
    assert not found.scores.any()
    assert not spread_intrusion(found, 0.5).any()
    assert find_special_uniques([np.empty(0, np.int64)], 1).n_unique == 0


def test_no_more_sets_are_looked_at_than_there_is_time_for():
    sizes = {m: choose_set_size(m) for m in range(1, 28)}
    assert [sizes[m] for m in (1, 2, 3, 4, 5, 10, 11, 13, 14, 27)] == [1, 1, 2, 3, 4, 4, 3, 3, 2, 2]
    assert MOST_SETS == 400
