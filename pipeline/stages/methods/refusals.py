"""What a method cannot do with a table, told from its summaries before any class is made."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.errors import PolicyError
from pipeline.model import Distance
from pipeline.stages.keys import Encoding
from pipeline.stages.methods.bucketing import Bucketing
from pipeline.stages.methods.class_counts import plan_counts
from pipeline.stages.methods.dp_confidential import load_library
from pipeline.stages.methods.full_domain import check_hierarchies
from pipeline.stages.methods.method import Method


@dataclass(frozen=True, eq=False)
class Ask:
    """What a method is asked for.

    ``quasi``, ``confidential``: the attributes as they are released; ``bucketing``: of the
    confidential one, if there is any; ``is_cut``: whether some records must not mix with others.
    """

    method: Method
    quasi: tuple[Encoding, ...]
    confidential: tuple[Encoding, ...]
    bucketing: Bucketing | None
    k: int
    is_cut: bool


def check_method(ask: Ask) -> None:
    """Refuse what the method cannot do whatever classes it tries.

    Raises
    ------
    PolicyError, DataError, UsageError
        The method does not go with the attributes, or lacks what it needs.
    InfeasibleError
        No classes exist; says what could be asked instead.
    """
    name = ask.method.name
    if name == "k-anonymity-first":
        check_ordered(ask.confidential)
    elif name == "sabre":
        check_whole(len(ask.confidential), is_cut=ask.is_cut)
    elif name == "incognito":
        check_hierarchies(ask.quasi)
    elif name == "dp-confidential":
        load_library()
    elif ask.bucketing is not None:
        plan_counts(ask.bucketing.sizes, ask.k, ask.bucketing.ratio)


def check_ordered(confidential: Sequence[Encoding]) -> None:
    """Refuse confidential attributes that k-anonymity-first has no distance for.

    Raises
    ------
    PolicyError
    """
    names = [e.column.name for e in confidential if e.column.distance != Distance.ORDERED]
    if names:
        raise PolicyError(
            f"method.name: k-anonymity-first works with the ordered distance, which {names[0]!r} "
            "does not have; take t-closeness-first or microaggregate-and-merge"
        )


def check_whole(n_confidential: int, *, is_cut: bool) -> None:
    """Refuse what sabre cannot take: it works with one attribute of a whole table.

    Raises
    ------
    PolicyError
    """
    if n_confidential != 1:
        raise PolicyError(
            "method.name: sabre works with one confidential attribute, the policy has "
            f"{n_confidential}; take t-closeness-first or mondrian"
        )
    if is_cut:
        raise PolicyError(
            "method.name: sabre makes classes of the whole table, output.partition_by cuts it "
            "into parts that must not mix; take t-closeness-first or mondrian"
        )
