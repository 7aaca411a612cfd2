"""Slow, obvious twin: what classes of persons lose, and how far they are above their limits."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from support.naive.naive_persons import person_distance
from support.tables.person_tables import KeptPersons, work_of

Classes = Sequence[Sequence[int]]  # persons of each


def rows_of(kept: KeptPersons, members: Sequence[int]) -> list[int]:
    """The rows of some persons."""
    return [i for i, person in enumerate(kept.persons.tolist()) if person in members]


def paired_loss(kept: KeptPersons, members: Sequence[int]) -> Fraction:
    """Squared differences within a class: half of the mean over pairs, times its rows."""
    rows, loss = rows_of(kept, members), Fraction(0)
    for x in rows:
        for y in rows:
            for column in kept.scaled.numeric:
                loss += (Fraction(column[x].item()) - Fraction(column[y].item())) ** 2
            for column, weight in zip(kept.scaled.nominal, kept.scaled.weights, strict=True):
                loss += Fraction(weight.item()) * int(column[x] != column[y])
    return loss / (2 * len(rows))


def released_loss(kept: KeptPersons, members: Sequence[int]) -> Fraction:
    """Squared differences to the mean, and rows off the mode by their weight."""
    rows, loss = rows_of(kept, members), Fraction(0)
    for column in kept.scaled.numeric:
        values = [Fraction(column[i].item()) for i in rows]
        mean = sum(values, Fraction(0)) / len(values)
        loss += sum(((v - mean) ** 2 for v in values), Fraction(0))
    for column, weight in zip(kept.scaled.nominal, kept.scaled.weights, strict=True):
        [(_, most)] = Counter(column[rows].tolist()).most_common(1)
        loss += Fraction(weight.item()) * (len(rows) - most)
    return loss


def distances(kept: KeptPersons, members: Sequence[int]) -> list[tuple[Fraction, Fraction]]:
    """Of each attribute the distance of a class over rows and over persons."""
    rows, found = rows_of(kept, members), []
    for codes, table in zip(kept.codes, kept.tables, strict=True):
        work = work_of(table.rows.metric, table.rows.values.size)
        whose = list(zip(kept.persons.tolist(), codes.tolist(), strict=True))
        alone = [(i, code) for i, (_, code) in enumerate(whose)]  # each row its own person's
        found.append(
            (
                person_distance([alone[i] for i in rows], alone, work),
                person_distance([whose[i] for i in rows], whose, work),
            )
        )
    return found


def excess(kept: KeptPersons, members: Sequence[int]) -> Fraction:
    """How far a class is above its limits, over rows and over persons together."""
    pairs = zip(distances(kept, members), kept.limits, strict=True)
    return sum((max(d - t, Fraction(0)) for both, t in pairs for d in both), Fraction(0))
