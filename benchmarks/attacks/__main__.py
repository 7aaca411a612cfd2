"""The page of attacks: what an intruder who knows the algorithm gains, measured on Adult.

``python -m benchmarks.attacks [--tables N] [--processes N] [--out ATTACKS.md]``
"""

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from benchmarks.attacks.adult_subtables import METHODS, Method
from benchmarks.attacks.attack_measures import Setting, attack_unit
from benchmarks.attacks.attacks_page import SETTINGS, Found, render_page, render_section
from benchmarks.results import describe_command

SEEDS = (1, 2)


def main() -> None:
    """Attack all methods and print the page."""
    parser = argparse.ArgumentParser(description="Measure attacks that know the algorithm.")
    parser.add_argument("--tables", type=int, help="of each setting and seed; as set if not given")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the page here, too")
    given = parser.parse_args()
    bodies = {}
    for title, setting in SETTINGS.items():
        chosen = setting if given.tables is None else replace(setting, n_tables=given.tables)
        bodies[title] = render_section(chosen, measure_methods(chosen, given.processes), SEEDS)
        print(f"## {title}\n\n{bodies[title]}\n", flush=True)
    page = render_page(bodies, describe_command("benchmarks.attacks", sys.argv[1:]))
    if given.out:
        given.out.write_text(page, encoding="utf-8")


def measure_methods(setting: Setting, n_processes: int) -> Found:
    """Figures of every table, by method and seed; all methods meet the same tables."""
    units = list(list_units(setting))
    found: Found = {}
    with ProcessPoolExecutor(n_processes, get_context("spawn")) as pool:
        for (method, _, seed, n), figures in zip(units, pool.map(attack_unit, units), strict=True):
            of_seed = found.setdefault((method.name, seed), [])
            if figures is not None:
                of_seed.append(figures)
            print(f"{method.name}, seed {seed}, table {n}: {figures}", file=sys.stderr, flush=True)
    return found


def list_units(setting: Setting) -> Iterator[tuple[Method, Setting, int, int]]:
    """Method, setting, seed and number of each table."""
    for number in range(setting.n_tables):
        for seed in SEEDS:
            for method in METHODS:
                yield method, setting, seed, number


if __name__ == "__main__":
    main()
