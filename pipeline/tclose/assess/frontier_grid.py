"""The grid of a frontier: which class sizes and distances are tried beside the policy's own."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from tclose.errors import UsageError
from tclose.model.column_terms import Role
from tclose.policy.policy import Policy

T_STEPS = (0.25, 0.5, 2.0, 4.0)
N_KS = 3
MAX_LINES = 7  # that can be told apart in one picture
USUAL_RECORDS = 20_000


@dataclass(frozen=True)
class FrontierGrid:
    """Values of k and t, ascending; the policy's own ``k`` and ``t`` are among them.

    A t of None: no attribute follows ``privacy.t``, so there is nothing to vary.
    """

    ks: tuple[int, ...]
    ts: tuple[float | None, ...]
    k: int
    t: float | None

    def points(self) -> Iterator[tuple[int, float | None]]:
        """Every pair, line by line: one k after the other, its t ascending."""
        return product(self.ks, self.ts)


def make_grid(policy: Policy, k_text: str | None = None, t_text: str | None = None) -> FrontierGrid:
    """The grid asked for, as in ``2,5,10`` and ``.02,.05,.1``, or one around the policy's values.

    Raises
    ------
    UsageError
        No numbers, numbers out of range, or a t that nothing in the policy follows.
    """
    k, t = policy.privacy.k, policy.privacy.t
    ks = _parse("--k", k_text, _read_k) if k_text is not None else _nearby_ks(k)
    follows = any(a.role is Role.CONFIDENTIAL and a.t is None for a in policy.attributes.values())
    if t is None or not follows:
        if t_text is not None:
            raise UsageError(
                "--t: no confidential attribute of the policy follows privacy.t, so there is "
                "nothing to vary; take --t, or the attributes' own t, out"
            )
        return FrontierGrid(_ascending([*ks, k]), (None,), k, None)
    ts = _parse("--t", t_text, _read_t) if t_text is not None else _nearby_ts(t)
    grid = FrontierGrid(_ascending([*ks, k]), _ascending([*ts, t]), k, t)
    if len(grid.ts) > 1 and len(grid.ks) > MAX_LINES:
        raise UsageError(
            f"--k {k_text}: has to be at most {MAX_LINES} class sizes, the policy's {k} among "
            "them; or take one t"
        )
    return grid


def read_sampling(policy: Policy, size: int | None, seed: int | None) -> tuple[int, int]:
    """Read the sample's largest size and its seed; the defaults where not set.

    Raises
    ------
    UsageError
    """
    if size is not None and size < 2:
        raise UsageError(f"--sample {size}: has to be at least 2 records")
    if seed is not None and seed < 0:
        raise UsageError(f"--seed {seed}: has to be 0 or more")
    return (
        USUAL_RECORDS if size is None else size,
        policy.seed if seed is None else seed,
    )


def _nearby_ks(k: int) -> list[int]:
    around = [k // 2, k, 2 * k, 4 * k]
    return [size for size in around if size >= 2][:N_KS]


def _nearby_ts(t: float) -> list[float]:
    return [float(f"{t * step:.3g}") for step in T_STEPS if t * step <= 1]


def _ascending(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))


def _parse(option: str, text: str, read: Callable[[str], Any]) -> list[Any]:
    try:
        return [read(part) for part in text.split(",")]
    except ValueError:
        form = {"--k": "whole numbers from 2, as in 2,5,10",
                "--t": "numbers above 0, at most 1, as in .02,.05,.1"}[option]  # fmt: skip
        raise UsageError(f"{option} {text}: has to be {form}") from None


def _read_k(text: str) -> int:
    k = int(text)
    if k < 2:
        raise ValueError
    return k


def _read_t(text: str) -> float:
    t = float(text)
    if not 0 < t <= 1:
        raise ValueError
    return t
