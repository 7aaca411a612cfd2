"""The noise that is released has the odds that are promised, and no draw depends on another.

OpenDP takes no seed. Each draw is therefore held to exact binomial bounds; all calls of a run of
these tests together give a false alarm at most once in a thousand million runs. That the same
checks find a wrong sampler is shown with wrong ones, from a fixed seed.
"""

import multiprocessing
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from math import exp
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.checks import exact_odds
from support.checks.exact_odds import clamped_odds, find_dependence, refutes_ratio, response_odds
from tclose.methods.dp import dp_confidential
from tclose.methods.dp.dp_confidential import NoiseGrid, draw_codes, draw_steps
from tclose.methods.dp.noise import add_noise
from tclose.model.attributes import Attribute, Column, Noise
from tclose.model.column_terms import Kind, Role

pytest.importorskip("opendp")

N_DRAWS = 40_000
STEPS = [
    (0, 1, "1"),
    (1, 2, "1/2"),
    (0, 3, "2"),
    (3, 3, "5"),
    (2, 4, "4"),
    (7, 9, "8"),
    (5, 12, "20"),
]
CODES = [(0, 2, "1"), (1, 2, "3"), (2, 3, "1/2"), (0, 5, "2"), (6, 7, "4")]
CALLS: list[int] = []
CALLS_OF_RELEASES = 42  # in tests/end_to_end/noise/test_independence.py


@pytest.fixture(scope="module", autouse=True)
def budget() -> Iterator[None]:
    """No more calls on real draws than the probability of a false alarm was shared among."""
    yield
    assert len(CALLS) + CALLS_OF_RELEASES <= exact_odds.MAX_CALLS


def find_deviations(drawn: np.ndarray, odds: Any) -> list[str]:
    CALLS.append(drawn.size)
    return exact_odds.find_deviations(drawn, odds)


def seeded(seed: int, n_steps: int, epsilon: float, n: int = N_DRAWS) -> np.ndarray:
    """Discrete Laplace noise by another way: the difference of two geometric draws."""
    rng, share = np.random.default_rng(seed), 1 - exp(-epsilon / n_steps)
    return rng.geometric(share, n) - rng.geometric(share, n)


class TestOdds:
    @pytest.mark.parametrize(("step", "n_steps", "epsilon"), STEPS)
    def test_of_numbers(self, step: int, n_steps: int, epsilon: str) -> None:
        drawn = draw_steps(np.full(N_DRAWS, step), n_steps, Fraction(epsilon))
        assert find_deviations(drawn, clamped_odds(step, n_steps, float(Fraction(epsilon)))) == []

    @pytest.mark.parametrize(("code", "n_categories", "epsilon"), CODES)
    def test_of_categories(self, code: int, n_categories: int, epsilon: str) -> None:
        drawn = draw_codes(np.full(N_DRAWS // 4, code), n_categories, Fraction(epsilon))
        odds = response_odds(code, n_categories, float(Fraction(epsilon)))
        assert find_deviations(drawn, odds) == []

    def test_of_tables_of_mixed_values(self) -> None:
        """Each value has its own odds wherever it stands among others."""
        steps = np.random.default_rng(1).integers(0, 4, 4 * N_DRAWS)
        drawn = draw_steps(steps, 3, Fraction(2))
        for step in range(4):
            assert find_deviations(drawn[steps == step], clamped_odds(step, 3, 2)) == []

    @pytest.mark.parametrize(("step", "n_steps", "epsilon"), STEPS)
    def test_another_right_sampler_passes(self, step: int, n_steps: int, epsilon: str) -> None:
        noise = seeded(3, n_steps, float(Fraction(epsilon)))
        odds = clamped_odds(step, n_steps, float(Fraction(epsilon)))
        assert exact_odds.find_deviations(np.clip(step + noise, 0, n_steps), odds) == []


def truncate(steps: np.ndarray, n_steps: int) -> np.ndarray:
    """Draws outside the bounds are thrown away instead of moved."""
    return steps[(steps >= 0) & (steps <= n_steps)]


def reflect(steps: np.ndarray, n_steps: int) -> np.ndarray:
    """Draws outside come back in."""
    around = np.abs(steps) % (2 * n_steps)
    return np.minimum(around, 2 * n_steps - around)


def rounded_laplace(n_steps: int, epsilon: float, towards: Callable[..., Any]) -> np.ndarray:
    noise = np.random.default_rng(5).laplace(scale=n_steps / epsilon, size=N_DRAWS)
    return towards(noise).astype(np.int64)


# Each is right but for one thing: noise on step 2 of 0 .. 4, epsilon 2.
WRONG: dict[str, Callable[[], np.ndarray]] = {
    "scale of the steps and one": lambda: np.clip(2 + seeded(1, 5, 2), 0, 4),
    "scale of the steps less one": lambda: np.clip(2 + seeded(1, 3, 2), 0, 4),
    "half the epsilon": lambda: np.clip(2 + seeded(1, 4, 1), 0, 4),
    "low is never released": lambda: np.clip(2 + seeded(1, 4, 2), 1, 4),
    "high is never released": lambda: np.clip(2 + seeded(1, 4, 2), 0, 3),
    "clamped before the noise alone": lambda: 2 + seeded(1, 4, 2),
    "truncated": lambda: truncate(2 + seeded(1, 4, 2), 4),
    "reflected": lambda: reflect(2 + seeded(1, 4, 2), 4),
    "wrapped around": lambda: (2 + seeded(1, 4, 2)) % 5,
    "one step up in a tenth of the draws": lambda: np.clip(
        2 + seeded(1, 4, 2) + (np.arange(N_DRAWS) % 10 == 0), 0, 4
    ),
    "continuous noise, rounded": lambda: np.clip(2 + rounded_laplace(4, 2, np.rint), 0, 4),
    "continuous noise, cut off": lambda: np.clip(2 + rounded_laplace(4, 2, np.floor), 0, 4),
    "noise of one sign": lambda: np.clip(2 + np.abs(seeded(1, 4, 2)), 0, 4),
    "no noise": lambda: np.full(N_DRAWS, 2),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_sampler_of_numbers_is_found(what: str) -> None:
    assert exact_odds.find_deviations(WRONG[what](), clamped_odds(2, 4, 2)) != []


@pytest.mark.parametrize("kept", ["too often", "too seldom", "others unevenly"])
def test_a_wrong_sampler_of_categories_is_found(kept: str) -> None:
    """The true one at odds e^2 : 4 in all instead of e^2 : 1 to each other, the other way, ..."""
    odds = {
        "too seldom": response_odds(0, 5, 2 - np.log(4)),
        "too often": response_odds(0, 5, 2 * 1.1),
        "others unevenly": response_odds(0, 5, 2) * [1, 1.2, 0.8, 1.2, 0.8],
    }[kept]
    drawn = np.random.default_rng(2).choice(5, N_DRAWS, p=odds / odds.sum())
    assert exact_odds.find_deviations(drawn, response_odds(0, 5, 2)) != []


class TestRatio:
    """Every outcome is at most e^epsilon times as likely with one value as with any other."""

    @pytest.mark.parametrize("n_steps", [1, 2, 3, 7, 20])
    @pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(9, 10), Fraction(999, 1000)])
    def test_of_numbers_in_fractions(self, n_steps: int, a: Fraction) -> None:
        """With a = e^(-epsilon / n), for any a: no ratio is above its -n-th power."""
        odds = [exact_odds.exact_clamped(step, n_steps, a) for step in range(n_steps + 1)]
        assert all(sum(row) == 1 for row in odds)
        ratios = [p / q for one in odds for other in odds for p, q in zip(one, other, strict=True)]
        assert max(ratios) == a**-n_steps

    @pytest.mark.parametrize(("step", "n_steps", "epsilon"), STEPS)
    def test_the_fractions_are_the_odds(self, step: int, n_steps: int, epsilon: str) -> None:
        a = Fraction(exp(-Fraction(epsilon) / n_steps))
        exact = [float(p) for p in exact_odds.exact_clamped(step, n_steps, a)]
        odds = clamped_odds(step, n_steps, float(Fraction(epsilon)))
        assert exact == pytest.approx(odds.tolist(), rel=1e-9)

    @pytest.mark.parametrize("n", [1, 2, 7, 98, 1000, 2**31])
    @pytest.mark.parametrize("epsilon", ["1/1000000", "0.1", "1/3", "1", "7.3", "30"])
    def test_the_scale_spends_at_most_epsilon(
        self, n: int, epsilon: str, asked_of_library: dict[str, Any]
    ) -> None:
        """By the numbers that the library was given, not by its own account of them."""
        asked = Fraction(epsilon)
        dp_confidential.laplace(n, asked)
        spent = n / Fraction(asked_of_library["make_laplace"][-1])
        assert asked * (1 - Fraction(1, 10**12)) <= spent <= asked

    @pytest.mark.parametrize("n", [2, 3, 7, 98, 1000])
    @pytest.mark.parametrize("epsilon", ["1/1000000", "0.1", "1/3", "1", "7.3", "30"])
    def test_the_share_kept_spends_at_most_epsilon(
        self, n: int, epsilon: str, asked_of_library: dict[str, Any]
    ) -> None:
        asked = Fraction(epsilon)
        dp_confidential.response(n, asked)
        kept = Fraction(asked_of_library["make_randomized_response"][-1])
        odds = kept * (n - 1) / (1 - kept)
        below, _ = exact_odds.exp_bounds(asked)
        assert 1 <= odds <= below

    @pytest.fixture
    def asked_of_library(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """Arguments of the last call of each measurement's constructor."""
        library, found = dp_confidential.load_library(), {}

        def watch(name: str) -> None:
            original = getattr(library.m, name)

            def make(*given: Any) -> Any:
                found[name] = given
                return original(*given)

            monkeypatch.setattr(library.m, name, make)

        for name in ("make_laplace", "make_randomized_response"):
            watch(name)
        return found

    @pytest.mark.parametrize(("n_steps", "epsilon"), [(1, 1), (3, 2), (4, 1)])
    def test_of_draws(self, n_steps: int, epsilon: int) -> None:
        """Of every pair of values and every outcome, as far as frequencies can tell."""
        values = range(n_steps + 1)
        rows = [draw_steps(np.full(N_DRAWS, s), n_steps, Fraction(epsilon)) for s in values]
        for first, second in combinations(rows, 2):
            CALLS.append(first.size)
            assert not refutes_ratio(first, second, epsilon, n_steps + 1)
        assert refutes_ratio(rows[0], rows[-1], 0.8 * epsilon, n_steps + 1)


class TestIndependence:
    ODDS = clamped_odds(1, 2, 2)

    @pytest.mark.parametrize("lag", [1, 2, 64, 1000])
    def test_of_records(self, lag: int) -> None:
        drawn = draw_steps(np.full(N_DRAWS, 1), 2, Fraction(2))
        rows = drawn[: N_DRAWS // (2 * lag) * 2 * lag].reshape(-1, 2, lag)  # no draw in two pairs
        CALLS.append(lag)
        assert find_dependence(rows[:, 0].ravel(), rows[:, 1].ravel(), (self.ODDS, self.ODDS)) == []

    def test_of_records_with_categories(self) -> None:
        odds = response_odds(1, 3, 1)
        first, second = draw_codes(np.full(N_DRAWS // 2, 1), 3, Fraction(1)).reshape(-1, 2).T
        CALLS.append(first.size)
        assert find_dependence(first, second, (odds, odds)) == []

    def test_of_columns_and_calls(self) -> None:
        """Of the same records: two columns, or one column in four partitions."""
        values = pa.array(np.full(N_DRAWS // 4, 1))
        columns = [
            column_of("pay", 2),
            column_of("rent", 2),
            column_of("pay", 2),
            column_of("x", 2),
        ]
        drawn = [add_noise(values, column).to_numpy() for column in columns]
        for i in range(4):
            assert find_deviations(drawn[i], self.ODDS) == []
            for j in range(i):
                CALLS.append(j)
                assert find_dependence(drawn[j], drawn[i], (self.ODDS, self.ODDS)) == []

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    @pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
    def test_of_worker_processes(self) -> None:
        """Forked from one process that has drawn before: none goes on where it, or another, was."""
        draw_steps(np.full(10, 1), 2, Fraction(2))
        with multiprocessing.get_context("fork").Pool(2) as pool:
            drawn = pool.map(draw_in_worker, range(4), chunksize=1)
        drawn.append(draw_in_worker(0))
        for i in range(5):
            for j in range(i):
                CALLS.append(j)
                assert find_dependence(drawn[j], drawn[i], (self.ODDS, self.ODDS)) == []

    def test_of_noise_and_value(self) -> None:
        """What noise does to a value does not depend on the value: away from the ends, its law."""
        wide = 2_000
        steps = np.repeat([600, 1_000, 1_400], N_DRAWS // 4)
        noise = (draw_steps(steps, wide, Fraction(30)) - steps).reshape(3, -1)
        signs = np.sign(noise) + 1
        zero = np.tanh(30 / wide / 2)  # (1 - a) / (1 + a)
        for row in signs:
            assert find_deviations(row, [(1 - zero) / 2, zero, (1 - zero) / 2]) == []

    def test_dependent_draws_are_found(self) -> None:
        first = np.clip(1 + seeded(1, 2, 2), 0, 2)
        other = np.clip(1 + seeded(2, 2, 2), 0, 2)
        both = self.ODDS, self.ODDS
        assert find_dependence(first, other, both) == []
        assert find_dependence(first, first, both) != []  # a generator that starts anew
        assert find_dependence(first, 2 - first, both) != []  # antithetic
        mostly = np.where(np.arange(N_DRAWS) % 10 == 0, first, other)  # one draw of ten
        assert find_dependence(first, mostly, both) != []


def draw_in_worker(_: int) -> np.ndarray:
    return draw_steps(np.full(N_DRAWS // 4, 1), 2, Fraction(2))


def column_of(
    name: str, n_steps: int, dtype: pa.DataType | None = None, low: str = "0", step: str = "1"
) -> Column:
    dtype = pa.int64() if dtype is None else dtype
    start, width = Fraction(low), Fraction(step)
    noise = Noise(Fraction(2), start, start + n_steps * width, width, ())
    attribute = Attribute(name, Role.CONFIDENTIAL, Kind.NUMERIC, (), noise=noise)
    return Column(attribute, Kind.NUMERIC, dtype)


class TestLattice:
    """Only values low + i * step are released, each the float nearest to it, whatever went in."""

    @pytest.mark.parametrize(
        ("low", "step"),
        [
            ("0", "0.1"),
            ("-0.3", "0.1"),
            ("1e-9", "1e-9"),
            ("0.123456789012345678", "0.000000001"),  # digits beyond a float's
            ("1.000001", "1000000.000001"),  # whole numbers beyond 64 bits on the way
            ("2305843009213693952.125", "0.125"),
            ("-1e18", "1234567890.5"),
        ],
    )
    def test_of_floats(self, low: str, step: str) -> None:
        n_steps = 50
        values = np.random.default_rng(1).uniform(float(low) - 1, float(low) + 60, 2_000)
        released = add_noise(pa.array(values), column_of("pay", n_steps, pa.float64(), low, step))
        lattice = {float(Fraction(low) + i * Fraction(step)) for i in range(n_steps + 1)}
        assert set(released.to_pylist()) <= lattice

    def test_steps_of_the_whole_range(self) -> None:
        grid = NoiseGrid(
            Fraction("0.1"), Fraction("0.1") + 2**31 * Fraction("0.7"), Fraction("0.7")
        )
        steps = np.array([0, 1, 2**30, 2**31 - 1, 2**31])
        exact = [float(grid.low + s * grid.step) for s in steps.tolist()]
        assert grid.to_values(steps).tolist() == exact

    def test_low_digits_of_a_value_are_gone(self) -> None:
        """Values of one step give the same set of outcomes; nothing of their own digits is left."""
        column = column_of("pay", 10, pa.float64(), "0", "0.1")
        rows = [add_noise(pa.array(np.full(2_000, v)), column) for v in (0.46, 0.5, 0.5400001)]
        for row in rows:
            steps = np.rint(row.to_numpy() * 10).astype(int)
            assert row.to_numpy().tolist() == (steps / 10).tolist()
            assert find_deviations(steps, clamped_odds(5, 10, 2)) == []
