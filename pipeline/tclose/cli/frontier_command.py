"""The command ``tclose frontier``: its options, and what it does with them."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from tclose.cli.command_parser import add_as_of, add_overrides, add_quiet, check_target

if TYPE_CHECKING:
    from tclose.runtime.monitoring.progress import Progress


def add_frontier_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = command.add_argument
    add("policy", metavar="POLICY", help="policy file (YAML)")
    add("--t", metavar="T,T,...", help="distances to try (default: around the policy's)")
    add("--k", metavar="K,K,...", help="class sizes to try (default: around the policy's)")
    add("--sample", type=int, metavar="N",
        help="compute on N records drawn at random (default: on all, or on 20,000 of more)",
        )  # fmt: skip
    add("--seed", type=int, help="draws the sample (default: the policy's)")
    add("--out", type=Path, metavar="FILE.svg", help="draw loss and risk into this file")
    add("--json", action="store_true", help="print all figures as JSON")
    add_overrides(command, "the policy, as in tclose run")
    add_as_of(command)
    add_quiet(command)


def show_frontier(arguments: argparse.Namespace, progress: "Progress") -> str:
    """Compute what was asked for and write the picture; returns the table or JSON to print."""
    from tclose.assess.frontier import compute_frontier
    from tclose.assess.frontier_grid import make_grid, read_sampling
    from tclose.data.places.atomic_files import write_atomically
    from tclose.policy.policy import load_policy
    from tclose.render.charts import require_charts
    from tclose.render.frontier_chart import draw_frontier
    from tclose.render.frontier_tables import describe_frontier, report_frontier

    policy = load_policy(arguments.policy, arguments.overrides, as_of=arguments.as_of)
    if arguments.out is not None:
        check_target(arguments.out, ".svg")
        require_charts()
    grid = make_grid(policy, arguments.k, arguments.t)
    size, seed = read_sampling(policy, arguments.sample, arguments.seed)
    frontier = compute_frontier(policy, grid, size, seed, progress)
    if arguments.out is not None:
        write_atomically(arguments.out, draw_frontier(frontier).encode(), mode=0o644)
    if arguments.json:
        return json.dumps(describe_frontier(frontier), indent=2)
    return report_frontier(frontier)
