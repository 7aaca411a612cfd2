"""The commands that take a policy and make a release of it, or plan one: run, flow, plan."""

import argparse
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from tclose.cli.command_parser import CommandParser, add_as_of, add_overrides, add_quiet
from tclose.cli.terminal import follow, say, show

if TYPE_CHECKING:
    from tclose.policy.policy import Policy
    from tclose.runtime.monitoring.progress import Progress
    from tclose.runtime.run import Outcome


def add_release_commands(add: Callable[[str, str, str], CommandParser]) -> None:
    """Add the commands that take a policy; ``add``: a command's name, summary and example."""
    texts = {
        "run": ("make a release: plan, microaggregate, verify, publish",
                "tclose run config/demo.yaml --set privacy.t=0.05 --set engine.workers=4"),
        "flow": ("make a release as a Prefect flow",
                 "tclose flow config/demo.yaml"),
        "plan": ("show the plan of a release and whether it is feasible; publishes nothing",
                 "tclose plan config/demo.yaml --set privacy.k=10"),
    }  # fmt: skip
    for name, (summary, example) in texts.items():
        command = add(name, summary, example)
        command.add_argument("policy", metavar="POLICY", help="policy file (YAML)")
        add_overrides(command, "the policy; may be repeated; write a name with dots in double "
                      'quotes: attributes."a.b".t')  # fmt: skip
        add_as_of(command)
        command.add_argument("--strict", dest="overrides", action="append_const",
                             const="engine.strict=true", help="refuse what has numbered "
                             "warnings, with status 3; as engine.strict of the policy")  # fmt: skip
        add_quiet(command)
        command.add_argument("--json", action="store_true", help="print the result as JSON")
        if name == "plan":
            command.add_argument("--sample", type=int, metavar="N",
                                 help="estimate losses from releases of N records drawn at "
                                 "random (default 40000; 100000 with refine: off or lean, "
                                 "10000 of methods that compare all with all); 0 for no "
                                 "estimate")  # fmt: skip
        if name == "run":
            command.add_argument("--profile", nargs="?", type=Path, const=Path("profile"),
                                 metavar="FOLDER", help="write where the time went to a folder "
                                 "(default profile/): a table, JSON and, of a run on a cluster, "
                                 "a report of its tasks; after POLICY")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Make a release, and print what it is."""
    from tclose.policy.policy import load_policy
    from tclose.runtime.engines.engine import prestart_workers

    policy = load_policy(arguments.policy, arguments.overrides, as_of=arguments.as_of)
    prestart_workers(policy)  # so that its start goes on beside the imports
    from tclose.passes.release import run_release

    progress = follow(arguments, profiled=arguments.profile is not None)
    with _profiling(arguments.profile, policy, progress):
        outcome = run_release(policy, progress)
    _print_release(arguments, outcome)
    return 0


def _profiling(
    folder: Path | None, policy: "Policy", progress: "Progress"
) -> AbstractContextManager[None]:
    if folder is None:
        return nullcontext()
    from tclose.runtime.profiling.profile import profiling

    return profiling(folder, policy, progress)


def flow(arguments: argparse.Namespace) -> int:
    """Make a release as a Prefect flow, and print what it is."""
    from tclose.policy.policy import load_policy
    from tclose.runtime.engines.engine import prestart_workers

    policy = load_policy(
        arguments.policy, arguments.overrides, as_of=arguments.as_of
    )  # refuse a bad one before Prefect starts
    from tclose_flows.prefect_environment import check_environment
    from tclose_flows.prefect_files import check_prefect_files

    check_environment()
    check_prefect_files()
    prestart_workers(policy)
    from tclose_flows.flow_command import run_flow

    outcome = run_flow(policy, quiet=arguments.quiet)
    _print_release(arguments, outcome)
    return 0


def show_plan(arguments: argparse.Namespace) -> int:
    """Print the plan of a release."""
    from tclose.assess.ahead.plan_ahead import plan_ahead
    from tclose.policy.policy import load_policy
    from tclose.render.plan_tables import report_plan

    policy = load_policy(arguments.policy, arguments.overrides, as_of=arguments.as_of)
    progress = follow(arguments)
    described, estimate, dropped = plan_ahead(policy, progress, arguments.sample)
    if arguments.json:
        more = {"estimate": estimate.to_json(), "dropped": dropped}
        say(json.dumps(described.to_json() | more, indent=2))
    else:
        say(report_plan(described, estimate, dropped))
    return 0


def _print_release(arguments: argparse.Namespace, outcome: "Outcome") -> None:
    from tclose.render.release_tables import report_release

    place = str(outcome.release)
    if arguments.json:
        more = {"release": place, "already_published": outcome.already_published}
        say(json.dumps(outcome.manifest.to_json() | more, indent=2))
        return
    say(_format_published(outcome))
    report = report_release(
        outcome.manifest,
        place,
        outcome.seconds,
        outcome.budget,
        outcome.beside,
        outcome.over_time,
        outcome.person_traces,
        (outcome.n_dropped, outcome.n_isolated),
    )
    show(report)
    if outcome.current != outcome.release.name:
        say(f"CURRENT is another release: {outcome.current}")


def _format_published(outcome: "Outcome") -> str:
    if not outcome.already_published:
        return "published"
    what = "its manifest was signed" if outcome.signed_now else "nothing was changed"
    return f"already published; {what}"
