"""Levels that incognito chooses: they hold, and none less general does."""

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from support.cases.method_cases import QUASI
from support.cases.patients import STAGES, TOWNS, patient_document, patients
from support.cases.people import folder_of, publish
from support.checks.released import as_tree, check_release, quoted
from support.naive import naive_kernels as naive
from support.naive import naive_taxonomy

pytestmark = pytest.mark.usefixtures("small_regions")


class TestIncognito:
    LEVELS = (
        ("age", [str, lambda v: half_open(v, 20), lambda v: half_open(v, 40), lambda v: "*"]),
        ("town", None),
        ("stage", [str, lambda v: "*"]),
    )

    @pytest.mark.parametrize("seed", range(6))
    def test_levels_are_minimal(self, seed: int, tmp_path: Path) -> None:
        """Against every combination of levels, and every text against its definition."""
        table = patients(150, seed)
        pq.write_table(table, tmp_path / "in.parquet")
        privacy = {"k": 2 + seed, "t": [0.5, 0.3, 0.2][seed % 3]}
        attributes = {
            "height": "identifier",
            "age": {"role": QUASI, "intervals": {"widths": [20, 40]}},
            "town": {"role": QUASI, "taxonomy": TOWNS},
            "stage": {"role": QUASI, "type": "ordinal", "order": STAGES},
        }
        document = patient_document(
            tmp_path / "in.parquet",
            tmp_path / "out",
            {"name": "incognito"},
            attributes=attributes,
            privacy=privacy,
        )
        rows = check_release(folder_of(publish(document)), table, document).sort_values("id")
        texts = {
            name: [[spell(v) for v in table[name].to_pylist()] for spell in spellings(name, levels)]
            for name, levels in self.LEVELS
        }
        node = tuple(
            next(i for i, at in enumerate(texts[name]) if at == rows[name].tolist())
            for name, _ in self.LEVELS
        )
        assert node in minimal_levels(list(texts.values()), table["pay"].to_pylist(), privacy)


def half_open(value: int, width: int) -> str:
    low = value // width * width
    return f"[{low}, {low + width})"


def spellings(name: str, levels: Any) -> list[Any]:
    """What a value becomes at each level."""
    if levels is not None:
        return levels
    whole = as_tree(TOWNS)
    return [
        lambda v, level=level: quoted(naive_taxonomy.generalised(whole, v, level))
        for level in range(naive_taxonomy.height(whole) + 1)
    ]


def minimal_levels(
    texts: list[list[list[str]]], pay: list[int], privacy: dict[str, Any]
) -> list[tuple[int, ...]]:
    """Levels that hold while none less general does: all of them are tried."""
    limit = Fraction(str(privacy["t"]))

    def holds(node: tuple[int, ...]) -> bool:
        keys = zip(*(at[level] for at, level in zip(texts, node, strict=True)), strict=True)
        classes: dict[Any, list[int]] = {}
        for key, value in zip(keys, pay, strict=True):
            classes.setdefault(key, []).append(value)
        return all(
            len(members) >= privacy["k"] and naive.ordered_emd(members, pay) <= limit
            for members in classes.values()
        )

    good = [n for n in product(*(range(len(at)) for at in texts)) if holds(n)]
    below = {n: [m for m in good if m != n and np.all(np.array(m) <= n)] for n in good}
    return [n for n in good if not below[n]]
