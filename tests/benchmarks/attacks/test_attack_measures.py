"""What the attack gains, counted on hand-made beliefs, and written down."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.attacks.adult_subtables import METHODS
from benchmarks.attacks.attack_measures import Figures, Setting, estimate, measure
from benchmarks.attacks.attacks_page import COLUMNS, SETTINGS, render_page, render_section
from benchmarks.attacks.minimality import Inference, SearchBudget

# Four records, three values; the table has two of the first, one of each other.
TABLE: Any = SimpleNamespace(counts=np.array([2, 1, 1]))
BEFORE = np.tile([0.5, 0.25, 0.25], (4, 1))
AFTER = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.25, 0.25], [0, 0, 1]])


def inference(after: np.ndarray, *, is_exact: bool = True, n_kept: int = 3) -> Inference:
    return Inference(np.arange(4), BEFORE, after, 12, n_kept, is_exact)


def test_gains_of_records() -> None:
    found = measure(inference(AFTER), TABLE, 0.3)
    assert found.acceptance == 0.25
    assert found.before == 0.5
    assert found.after == pytest.approx((1 + 0.5 + 0.5 + 1) / 4)
    assert found.largest_gain == 0.75
    assert found.certain == 0.5
    # distances 0.375, 0.125, 0, 0.625
    assert found.beyond == 0.5
    assert measure(inference(AFTER), TABLE, 0.375).beyond == 0.25
    assert found.unresolved == 0


def test_nothing_gained() -> None:
    found = measure(inference(BEFORE), TABLE, 0)
    assert (found.after, found.largest_gain, found.certain, found.beyond) == (0.5, 0, 0, 0)


def test_certainty_needs_all_arrangements() -> None:
    assert measure(inference(AFTER, is_exact=False, n_kept=40), TABLE, 0.3).certain == 0
    assert measure(inference(BEFORE, is_exact=False), TABLE, 0.3).unresolved == 1


def figures(after: float) -> Figures:
    return Figures(5.0, 0.5, 0.25, after, 0.125, 0.0, 0.75, 0.0)


def test_estimate_has_the_error_of_a_mean() -> None:
    found = estimate([figures(after) for after in (0.2, 0.4, 0.6, 0.8)], "after")
    assert found.mean == pytest.approx(0.5)
    assert found.error == pytest.approx(2 * np.std([0.2, 0.4, 0.6, 0.8], ddof=1) / 2)


def test_page_has_every_method_and_setting() -> None:
    by_unit = {
        (method.name, seed): [figures(0.25 * seed)] * 2 for method in METHODS for seed in (1, 2)
    }
    by_unit["`sabre`", 2].pop()
    by_unit["`incognito`", 1] = []
    settings = {title: replace(s, n_tables=2) for title, s in SETTINGS.items()}
    bodies = {title: render_section(s, by_unit, (1, 2)) for title, s in settings.items()}
    page = render_page(bodies, "python -m benchmarks.attacks")
    for title in SETTINGS:
        assert f"\n## {title}\n" in page
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert all(len(row) == len(COLUMNS) for row in rows)
    assert (
        "| `mondrian` | 5.0 | 50.0 ± 0.0 % | 25.0 ± 0.0 % | 37.5 ± 14.4 % | 25.0, 50.0 % " in page
    )
    held = {row[0].removeprefix("| "): row[8] for row in rows}
    assert held["`mondrian`"] == "75.0 ± 0.0 %"
    assert held["`mdav` (t = 1)"] == "-"
    assert held["`sabre`, 3 of 4 tables"] == "75.0 ± 0.0 %"
    assert held["`incognito`, 2 of 4 tables"] == "-"


def test_settings_are_described() -> None:
    setting = Setting(15, 3, 0.25, None, 8, SearchBudget(3_000, 2_000, 2_000))
    tables = {(method.name, 1): [figures(0.5)] * 2 for method in METHODS}
    assert (
        "8 tables of 15 records for each of the seeds 1; k = 3, t = 0.25; all classes of each "
        in (render_section(setting, tables, (1,)))
    )
