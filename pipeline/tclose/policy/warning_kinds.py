"""The numbered warnings: what each is about, and what can be done.

A number keeps its meaning in later versions; new warnings get new numbers. ``docs/warnings.md`` has
the same table with more words.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class WarningKind:
    """A kind of warning; ``title``: the situation; ``remedy``: what to change in data or policy."""

    code: str
    title: str
    remedy: str


MODE_OF_MANY = WarningKind(
    "TC-W001",
    "mode of more than 100 values",
    "give it prefixes, or a taxonomy with aggregate: ancestor, or group its values; a number or a "
    "date gets its type or format",
)
LOOKS_LIKE_DATES = WarningKind(
    "TC-W002",
    "text that looks like dates",
    "say how they are written, as in date_format: '%d.%m.%Y', take blanks around them out, "
    "write months as numbers, or store dates; type: nominal keeps them as texts",
)
LOOKS_LIKE_NUMBERS = WarningKind(
    "TC-W003",
    "text that looks like numbers",
    "say how they are written by decimal and thousands, take blanks around them out, plus "
    "and percent signs, units and brackets, name the texts of missing values in "
    "input.missing_values, or store numbers; type: nominal keeps them as texts",
)
MANY_DROPPED = WarningKind(
    "TC-W004",
    "missing: drop leaves out more than 5 % of the records",
    "fill the gaps in, give a quasi-identifier missing: category, median, mode or class, or leave "
    "the column out: records with gaps are seldom like the others",
)
ONE_CLASS = WarningKind(
    "TC-W005",
    "one class for a whole partition or table",
    "ask a smaller k, or a larger t (where t is below 1), take distance: ordered, group the "
    "confidential values, or publish coarser partitions",
)
NEARLY_DISTINCT = WarningKind(
    "TC-W006",
    "confidential values nearly all distinct",
    "round or group the values (round, bands) until those that mean the same are the same",
)
RARE_VANISH = WarningKind(
    "TC-W007",
    "rare categories that will vanish",
    "group them with others in the data, or give a taxonomy with aggregate: ancestor",
)
SAME_PERSONS = WarningKind(
    "TC-W008",
    "persons of earlier releases",
    "measure what they give away by `tclose attack` before this one is handed out; distribute one "
    "of them, or only persons who are new, or begin a series that is held together "
    "(privacy.over_time)",
)
TOLD_BY_OTHERS = WarningKind(
    "TC-W009",
    "columns that tell the confidential value",
    "leave one of them out, or make the values of either coarser (round, bands, groups), so that "
    "they are not nearly the same column twice",
)
OUTLIERS = WarningKind(
    "TC-W010",
    "outliers and heavy tails",
    "set the outermost values to a bound in the data, or leave these records out; a scale of the "
    "column (trimmed, rank) says that they are meant",
)
MANY_IMPUTED = WarningKind(
    "TC-W011",
    "missing: median, mode or class fills more than 5 % of a column",
    "fill the gaps in from another source, make them a category by missing: category, or leave the "
    "column out: what is said of it is drawn to its centre, or to that of classes, and varies less "
    "than it did",
)
MANY_RECORDS = WarningKind(
    "TC-W012",
    "persons: together, and persons with many records",
    "release one record a person (a sum, a last diagnosis), or leave the records of very few "
    "persons out; values that are drawn anew for each record (persistent: false) lose nothing by "
    "persons: apart",
)
NOT_MEASURED = WarningKind(
    "TC-W013",
    "what analysts would find is not measured",
    "nothing of the release depends on it, and its verdict holds; report the error, of which type "
    "and place are said",
)
SAME_INPUT = WarningKind(
    "TC-W014",
    "other releases of the same input",
    "distribute only one of them, and remove the others: tclose rollback makes the one that stays "
    "current, tclose prune removes those before it, or with --keep 0 all others of its name; the "
    "folder of another name can be deleted where none of it was distributed",
)
NOISE_AGAIN = WarningKind(
    "TC-W015",
    "noise drawn again of the same input",
    "distribute one of the releases alone, and remove the others; or take the sums for the "
    "epsilons of each",
)
COME_AND_GO = WarningKind(
    "TC-W016",
    "far more persons come and go than is expected",
    "compare how the column of role person is written in this input and in those before: blanks, "
    "case, leading zeros, its type; if so many do come and go, say how many leave "
    "(over_time.churn)",
)
CARRIED_DISTINCT = WarningKind(
    "TC-W017",
    "non-confidential values nearly all distinct",
    "make it an identifier, or leave it out; round its values, or release bands of them (round, "
    "bands), if they are needed; accept the number where nobody outside can have them",
)
WRITTEN_APART = WarningKind(
    "TC-W018",
    "values that differ in capitals or blanks alone",
    "write values that mean the same alike in the data; accept the number where capitals matter, "
    "as in codes",
)
WEAKER_PROMISE = WarningKind(
    "TC-W019",
    "less is asked over time than before",
    "ask what the earlier release asked until its window has passed; accept the number where "
    "whoever relies on the earlier one knows of it",
)
DATES_AHEAD = WarningKind(
    "TC-W020",
    "years of two digits that are read as some to come",
    "write years with four digits in the data; accept the number where days to come are meant, as "
    "those on which contracts end",
)
COLUMN_LOST = WarningKind(
    "TC-W021",
    "a quasi-identifier of which next to nothing is left",
    "take another aggregate for it, a larger weight, or a taxonomy with larger groups below the "
    "uppermost; ask a smaller k, or a larger t; make fewer columns quasi-identifiers; or leave it "
    "out, if nobody needs it",
)

EMPTY_FILES = WarningKind(
    "TC-W022",
    "input files without records",
    "produce them again, if they should have some; accept the number where some have none, as "
    "parts of a table that a cluster wrote",
)

KINDS = {
    kind.code: kind
    for kind in (
        MODE_OF_MANY,
        LOOKS_LIKE_DATES,
        LOOKS_LIKE_NUMBERS,
        MANY_DROPPED,
        ONE_CLASS,
        NEARLY_DISTINCT,
        RARE_VANISH,
        SAME_PERSONS,
        TOLD_BY_OTHERS,
        OUTLIERS,
        MANY_IMPUTED,
        MANY_RECORDS,
        NOT_MEASURED,
        SAME_INPUT,
        NOISE_AGAIN,
        COME_AND_GO,
        CARRIED_DISTINCT,
        WRITTEN_APART,
        WEAKER_PROMISE,
        DATES_AHEAD,
        COLUMN_LOST,
        EMPTY_FILES,
    )
}
