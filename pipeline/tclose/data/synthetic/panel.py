"""Invented insured persons over months: they join, leave, come back, age, move, change insurer.

A seed has a seat for each of its persons, and each seat is taken in every month: a person leaves,
and in the next month another one, or a stand-in until the person is back, has the seat. Who has it
and what is known of her are hashes of seed, seat and spell, so a month is a function of the seed
and the month: it can be made without those before it, and a seat is the same however many there
are.

What persists: person_id, sex, member_since, diagnosis, income. What is drawn anew each month: cost.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.synthetic.identifiers import MAX_NUMBERS, name_numbers
from tclose.data.synthetic.panel_shares import (
    DIAGNOSES_THAT_LAST,
    INSURERS,
    TARIFFS,
    home_regions,
    insured_ages,
    insurer_shares,
    lasting_diagnoses,
    tariff_shares,
)
from tclose.data.synthetic.probabilities import REGIONS, SEXES, list_zips, zip_shares
from tclose.data.synthetic.spells import (
    MAX_SPELLS,
    draw_uniforms,
    draw_waits,
    find_spells,
    make_key,
)
from tclose.errors import UsageError
from tclose.model.array_types import Float64, Int64

FIRST_MONTH = np.datetime64("2024-01", "M")
N_MONTHS = 120
MAX_CHURN = 0.5
MAX_PERSONS = MAX_NUMBERS // MAX_SPELLS
SEATS_AT_ONCE = 65_536

PANEL_SCHEMA = pa.schema(
    [
        pa.field("person_id", pa.string(), nullable=False),
        pa.field("age", pa.int16(), nullable=False),
        pa.field("sex", pa.string(), nullable=False),
        pa.field("zip", pa.int32(), nullable=False),
        pa.field("insurer", pa.string(), nullable=False),
        pa.field("tariff", pa.string(), nullable=False),
        pa.field("member_since", pa.int16(), nullable=False),
        pa.field("diagnosis", pa.string(), nullable=False),
        pa.field("income", pa.int32(), nullable=False),
        pa.field("cost", pa.float64(), nullable=False),
    ]
)

_MOVES = 0.005  # of a person, a month
_CHANGES = 0.005  # of insurer
_STAYS_IN_REGION = 0.7  # of those who move
_COMES_BACK = 0.1  # of those who leave for good or for a while
_BREAKS = (2, 3, 4, 5)  # months
_MEMBER_CHANGES = 0.012  # of those there at the start, a month before it
_COSTS = np.array((60, 110, 210, 130, 190, 150, 320, 950, 620, 540, 230, 120.0))
_INCOMES = np.array((1_900, 2_900, 2_500, 3_600.0))  # of the tariffs

# Purposes of random numbers. A seed's panel depends on their numbers.
(_STAY, _BREAK, _AGE, _SEX, _REGION, _ZIP, _MOVE, _INSURER, _CHANGE, _TARIFF, _SINCE, _DIAGNOSIS,
 _INCOME, _COST, _ANGLE, _BREAK_MONTHS, _INCOME_ANGLE) = range(17)  # fmt: skip


class _Holders(NamedTuple):
    """The holders of all seats in a month: persons, and months of joining (0: from the start)."""

    person: Int64
    joined: Int64


class _Places(NamedTuple):
    region: Int64
    zip_code: NDArray[np.int32]


def generate_panel(month: int, first: int, n_persons: int, seed: int, churn: float) -> pa.Table:
    """The persons of seats ``first`` to ``first + n_persons - 1`` in a month, as PANEL_SCHEMA.

    Parameters
    ----------
    month : from 0, which is FIRST_MONTH, to N_MONTHS - 1
    churn : share of the persons that has left a month later, about; as many join or come back

    Raises
    ------
    UsageError
        A number is out of range.
    """
    refuse_panel(month, first, n_persons, seed, churn)
    seats = np.arange(first, first + n_persons, dtype=np.int64)
    person, joined = _find_holders(seats, month, seed, churn)
    elapsed = month - joined
    ages, since = _draw_start(person, joined, seed)
    years = ages // 12
    region, zip_code = _find_homes(person, elapsed, seed)
    changes = find_spells(make_key(seed, _CHANGE), person, elapsed, _CHANGES)
    tariff = _pick(tariff_shares(), years, _draw(seed, _TARIFF, person))
    insurer = _pick(insurer_shares(), region, _draw(seed, _INSURER, person, changes.number))
    diagnosis = _pick(lasting_diagnoses(), years, _draw(seed, _DIAGNOSIS, person))
    columns = [
        name_numbers(person, seed, "M"),
        pa.array(((ages + elapsed) // 12).astype(np.int16)),
        pa.array(SEXES).take(pa.array((_draw(seed, _SEX, person) < 0.49).astype(np.int8))),
        pa.array(zip_code),
        pa.array(INSURERS).take(pa.array(insurer)),
        pa.array(TARIFFS).take(pa.array(tariff)),
        pa.array(since.astype(np.int16)),
        pa.array(DIAGNOSES_THAT_LAST).take(pa.array(diagnosis)),
        pa.array(_draw_income(person, tariff, seed)),
        pa.array(_draw_cost(person, diagnosis, month, seed)),
    ]
    return pa.Table.from_arrays(columns, schema=PANEL_SCHEMA)


def refuse_panel(month: int, first: int, n_persons: int, seed: int, churn: float) -> None:
    """Refuse months, seats and rates that no panel has, and a seed that names none."""
    if not 0 <= month < N_MONTHS:
        last = FIRST_MONTH + N_MONTHS - 1
        raise UsageError(f"month {FIRST_MONTH + month}: {FIRST_MONTH} to {last} exist")
    if n_persons < 1:
        raise UsageError(f"the number of persons is {n_persons}; it must be at least 1")
    if first < 0 or first + n_persons > MAX_PERSONS:
        raise UsageError(f"the number of persons is {n_persons}; {MAX_PERSONS:,} exist")
    if seed < 0:
        raise UsageError(f"the seed is {seed}; it must be 0 or more")
    if not 0 < churn <= MAX_CHURN:
        raise UsageError(f"the churn is {churn}; it must be above 0, and {MAX_CHURN} at most")


def _draw(seed: int, purpose: int, persons: Int64, spells: Int64 | int = 0) -> Float64:
    return draw_uniforms(make_key(seed, purpose), persons, spells)


def _pick(shares: Float64, states: Int64, uniforms: Float64) -> Int64:
    """One category per person; 24 bits keep state + uniform exact, so that no state is left."""
    exact = np.floor(uniforms * 2**24) * 2.0**-24
    places = np.searchsorted(shares.ravel(), states + exact, side="right")
    categories: Int64 = places - states * shares.shape[1]
    return categories


def _find_holders(seats: Int64, month: int, seed: int, churn: float) -> _Holders:
    """Follow each seat from month 0: spells of persons, and of those who stand in for a break."""
    rate = _leaving_rate(churn)
    stay, breaks, lengths = (make_key(seed, p) for p in (_STAY, _BREAK, _BREAK_MONTHS))
    start, turn, joined, n_turns = (np.zeros_like(seats) for _ in range(4))
    left, spell = np.arange(seats.size), 0
    while left.size:
        ends = start[left] + draw_waits(draw_uniforms(stay, seats[left], spell), rate)
        is_over = ends <= month
        left, ends = left[is_over], ends[is_over]
        is_break = draw_uniforms(breaks, seats[left], spell) < _COMES_BACK
        length = np.take(
            _BREAKS, (draw_uniforms(lengths, seats[left], spell) * len(_BREAKS)).astype(np.int64)
        )
        n_turns[left] += 1
        start[left] = ends + np.where(is_break, length, 0)
        is_new = ~is_break | (start[left] > month)  # another person, or one who stands in
        changed = left[is_new]
        turn[changed], joined[changed] = n_turns[changed], ends[is_new]
        left = left[start[left] <= month]
        spell += 1
    return _Holders(seats * MAX_SPELLS + turn, joined)


def _leaving_rate(churn: float) -> float:
    """Rate at which spells end, so that of all seats the share ``churn`` changes hands a month.

    A spell of mean length 1/rate and the break that may follow have 1 + _COMES_BACK changes.
    """
    return 1 / ((1 + _COMES_BACK) / churn - _COMES_BACK * float(np.mean(_BREAKS)))


def _draw_start(person: Int64, joined: Int64, seed: int) -> tuple[Int64, Int64]:
    """Age in months when the person joined, or at the start, and the year of joining."""
    years = _pick(insured_ages(), (joined > 0).astype(np.int64), _draw(seed, _AGE, person))
    months = years * 12 + (_draw(seed, _AGE, person, 1) * 12).astype(np.int64)
    before = draw_waits(_draw(seed, _SINCE, person), _MEMBER_CHANGES)
    month = np.where(joined > 0, joined, -np.minimum(before, months))
    return months, FIRST_MONTH.astype(int) // 12 + 1970 + month // 12


def _find_homes(person: Int64, elapsed: Int64, seed: int) -> _Places:
    """Homes of the persons: moves are to another home, mostly in the region of the first."""
    alike = np.zeros_like(person)
    moves = find_spells(make_key(seed, _MOVE), person, elapsed, _MOVES)
    region = _pick(home_regions(), alike, _draw(seed, _REGION, person))
    other = (_draw(seed, _REGION, person, moves.number) * len(REGIONS)).astype(np.int64)
    far = (moves.number > 0) & (_draw(seed, _MOVE, person, MAX_SPELLS - 1) >= _STAYS_IN_REGION)
    region = np.where(far, other, region)
    home = _pick(zip_shares(), alike, _draw(seed, _ZIP, person, moves.number))
    return _Places(region, list_zips()[region, home])


def _draw_income(person: Int64, tariff: Int64, seed: int) -> NDArray[np.int32]:
    """Income a month, in tens, the same for as long as the person is insured: log-normal."""
    normal = _draw_normal(person, seed, (_INCOME, _INCOME_ANGLE), 0)
    income = 10 * np.rint(_INCOMES[tariff] * np.exp(0.45 * normal) / 10)
    tens: NDArray[np.int32] = income.astype(np.int32)
    return tens


def _draw_cost(person: Int64, diagnosis: Int64, month: int, seed: int) -> Float64:
    """Draw the cost of this month alone, to the cent: log-normal about what the diagnosis costs."""
    normal = _draw_normal(person, seed, (_COST, _ANGLE), month)
    cost: Float64 = np.round(_COSTS[diagnosis] * np.exp(0.9 * normal), 2)
    return cost


def _draw_normal(person: Int64, seed: int, purposes: tuple[int, int], spell: int) -> Float64:
    """Standard normal numbers (Box and Muller 1958)."""
    radius, angle = (_draw(seed, purpose, person, spell) for purpose in purposes)
    normal: Float64 = np.sqrt(-2 * np.log1p(-radius)) * np.cos(2 * np.pi * angle)
    return normal
