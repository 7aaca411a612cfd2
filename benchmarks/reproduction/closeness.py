"""Li et al. 2007, sections 5.3 and 8: worked distances, and its Tables 4 and 5."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from benchmarks.reproduction.page import Claim, Compared, render_claims, render_compared
from benchmarks.reproduction.printed import (
    DISEASE_DISTANCES,
    DISEASES,
    SALARIES,
    SALARY_DISTANCES,
    SHIFTS,
    TABLE_4,
    TABLE_5,
    TABLE_5_CLOSENESS,
    TREE_DISTANCES,
)
from benchmarks.results import render_table
from tclose.data.taxonomy import Taxonomy, build_from_mapping
from tclose.kernels.emd.ordered import exact_emd
from tclose.kernels.emd.tree import exact_tree_emd, star_metric
from tclose.privacy.class_counts import ClassCounts, count_by_class
from tclose.privacy.models.l_diversity import check_distinct, check_entropy

# Figure 1 of Li et al. 2007 as its text describes it, for the diseases of Table 3 and the one more.
TAXONOMY: Taxonomy = build_from_mapping(
    {
        "any disease": {
            "lungs": {
                "infection of the lungs": ["flu", "pneumonia", "bronchitis"],
                "vessels of the lungs": ["pulmonary embolism"],
            },
            "digestion": {"stomach": ["gastric ulcer", "gastritis", "stomach cancer"]},
        }
    }
)
EQUALLY_COMMON = tuple(dict.fromkeys(DISEASES))


def salary_distance(members: Sequence[int]) -> Fraction:
    """Ordered distance of a class of salaries to those of Table 3."""
    distinct, counts = np.unique(SALARIES, return_counts=True)
    return exact_emd(np.searchsorted(distinct, members), np.cumsum(counts))


def disease_distance(members: Sequence[str], table: Sequence[str]) -> Fraction:
    """Hierarchical distance of a class of diseases to a table of them."""
    counts = np.bincount(_encode(table), minlength=len(TAXONOMY.leaves))
    return exact_tree_emd(_encode(members), TAXONOMY.metric(counts))


def _encode(diseases: Sequence[str]) -> np.ndarray:
    return TAXONOMY.encode(diseases, "disease")


def ground_distance(a: str, b: str) -> Fraction:
    """Distance of two diseases: height of their lowest common node, by the taxonomy's."""
    node = TAXONOMY.lowest_common(_encode([a]), _encode([b]))
    return Fraction(int(TAXONOMY.heights[node][0]), TAXONOMY.height)


def shift_distance(table: tuple[int, int], members: tuple[int, int]) -> Fraction:
    """Equal distance of a class of two values to a table, both by their records."""
    return exact_tree_emd(np.repeat([0, 1], members), star_metric(np.array(table)))


def compare_values() -> list[Compared]:
    """All distances that are worked out in the paper, diseases as if equally common."""
    rows = [
        Compared(f"salaries {members}", printed, float(salary_distance(members)), 3)
        for members, printed in SALARY_DISTANCES
    ]
    rows += [
        Compared(
            f"diseases: {', '.join(members)}",
            printed,
            float(disease_distance(members, EQUALLY_COMMON)),
            len(printed) - 2,
        )
        for members, printed in DISEASE_DISTANCES
    ]
    found = dict(zip(("Salary", "Disease"), _table_closeness(EQUALLY_COMMON), strict=True))
    rows += [
        Compared(f"Table 5: closeness of {name}", printed, float(found[name]), 3)
        for name, printed in TABLE_5_CLOSENESS
    ]
    rows += [
        Compared(f"{a}% and {b}% instead of {c}% and {d}%", printed,
                 float(shift_distance((c, d), (a, b))), 1)
        for (c, d), (a, b), printed in SHIFTS
    ]  # fmt: skip
    return rows


def _table_closeness(table: Sequence[str]) -> tuple[Fraction, Fraction]:
    """Largest distances of the classes of Table 5."""
    return (
        max(salary_distance([SALARIES[i - 1] for i in rows]) for rows in TABLE_5),
        max(disease_distance([DISEASES[i - 1] for i in rows], table) for rows in TABLE_5),
    )


def report_values() -> str:
    """The worked values, and what the diseases' counts make of them."""
    columns = ("distance in Figure 1", "paper", "here", "difference")
    tree = []
    for a, b, printed in TREE_DISTANCES:
        found = ground_distance(a, b)
        difference = "none" if found == printed else str(found - printed)
        tree.append([f"{a} and {b}", str(printed), str(found), difference])
    return "\n\n".join(
        [
            "Figure 1 is known by the distances that the text gives; so is our tree:\n\n"
            + render_table(columns, tree),
            render_compared(compare_values()),
            _say_counts(),
            render_claims(_claim_diversity()),
        ]
    )


def _say_counts() -> str:
    """The distances of the diseases with the counts that Table 3 has."""
    said = ", ".join(
        f"{printed} becomes {disease_distance(members, DISEASES)}"
        for members, printed in DISEASE_DISTANCES
    )
    commonest = max(DISEASES.count(name) for name in EQUALLY_COMMON)
    n_common = sum(DISEASES.count(name) == commonest for name in EQUALLY_COMMON)
    closeness = _table_closeness(DISEASES)[1]
    printed = dict(TABLE_5_CLOSENESS)["Disease"]
    verdict = "more" if f"{float(closeness):.3f}" > printed else "no more"
    return (
        f"The distances of diseases hold if the {len(EQUALLY_COMMON)} diseases are equally common. "
        f"In the paper's own Table 3, {n_common} of them have {commonest} records; with these "
        f"counts, by the paper's formula, {said}, and Table 5 has {closeness}-closeness "
        f"({float(closeness):.3f}) for Disease, {verdict} than the {printed} that is printed."
    )


def _claim_diversity() -> list[Claim]:
    """That Table 4 is distinct and entropy 3-diverse, and that Table 5 stops what it does not."""
    claims = []
    for name, values in (("Salary", SALARIES), ("Disease", DISEASES)):
        counts = _count_table_4(values)
        met = check_distinct(counts, 3).meets.all() and check_entropy(counts, 3).meets.all()
        n_met = int((check_distinct(counts, 3).meets & check_entropy(counts, 3).meets).sum())
        claims.append(
            Claim(
                f"Table 4 satisfies distinct and entropy 3-diversity ({name})",
                f"{n_met} of {counts.n_classes} classes",
                bool(met),
            )
        )
    closer = max(salary_distance([SALARIES[i - 1] for i in rows]) for rows in TABLE_4)
    claims.append(
        Claim(
            "Table 5 is closer than Table 4 (Salary)",
            f"{_table_closeness(DISEASES)[0]} and {closer}",
            _table_closeness(DISEASES)[0] < closer,
        )
    )
    return claims


def _count_table_4(values: Sequence[object]) -> ClassCounts:
    _, codes = np.unique(np.array(values), return_inverse=True)
    rows = np.array([i - 1 for members in TABLE_4 for i in members])
    starts = np.cumsum([0, *map(len, TABLE_4)]).astype(np.int64)
    return count_by_class(starts, codes[rows].astype(np.int64))
