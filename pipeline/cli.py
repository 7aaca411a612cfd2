"""The command ``tclose``. Exit status: 0 done, 2 refused, 3 not to be met or verified, 1 else."""

import argparse
import contextlib
import functools
import json
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pipeline
from pipeline.errors import TcloseError, UsageError
from pipeline.execution.progress import Progress, default_style
from pipeline.frontier_command import add_frontier_options, show_frontier
from pipeline.garbage import collect_rarely
from pipeline.generate_command import add_generate_options, generate
from pipeline.options import add_as_of
from pipeline.register_command import ANSWERS, add_register_commands, answer, as_place

if TYPE_CHECKING:
    from pipeline.execution.run import Outcome

_EXIT_CODES = """exit status:
  0  done
  2  bad usage, policy or data: the message names it and the remedy
  3  the policy cannot be met, or a verification failed; nothing was published
  1  anything else"""


def run_command() -> int:
    """Run the command as a process of its own."""
    collect_rarely()
    return main()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; errors are one message on standard error."""
    given = _parser().parse_args(arguments)
    try:
        with _interrupted_by_termination():
            return _COMMANDS[given.command](given)
    except TcloseError as error:
        print(f"tclose: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("tclose: interrupted; run again to go on from here", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever read the result has gone; what was asked for is done
        sys.stdout = None
        return 0
    except Exception as error:
        from pipeline.execution.engine import describe_failure

        print(f"tclose: {describe_failure(error, given.command)}", file=sys.stderr)
        return 1


@contextlib.contextmanager
def _interrupted_by_termination() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does: no worker and no scratch folder stay behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tclose",
        description="Publish microdata so that every equivalence class is k-anonymous and t-close.",
        epilog=f"example:\n  tclose run config/demo.yaml --set privacy.t=0.05\n\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tclose {pipeline.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_release_commands(commands)
    audit = _add(commands, "audit", "re-verify a published release from its files alone",
                 "tclose audit releases/demo            # the current release\n"
                 "  tclose audit releases/demo/1f0c9b7d2a --json")  # fmt: skip
    audit.add_argument("release", metavar="RELEASE", type=as_place,
                       help="folder of a release or of its name, or NAME/ID")  # fmt: skip
    audit.add_argument("--originals", metavar="POLICY", help="compare with the records that the "
                       "policy reads: linkage and loss; makes the release again in a private "
                       "folder; the figures come of the raw data")  # fmt: skip
    audit.add_argument("--set", dest="overrides", metavar="KEY=VALUE", action="append", default=[],
                       help="override a key of that policy, as the run did")  # fmt: skip
    add_as_of(audit)
    audit.add_argument("--json", action="store_true", help="print the findings as JSON")
    audit.add_argument("--quiet", action="store_true", help="print the verdict and what is wrong")
    add_generate_options(
        _add(
            commands,
            "generate",
            "write realistic hospital discharges, of any size",
            "tclose generate --rows 1000000 --seed 7 --out discharges/",
        )
    )
    add_frontier_options(
        _add(
            commands,
            "frontier",
            "show what other k and t would cost and give",
            "tclose frontier config/demo.yaml --out frontier.svg\n"
            "  tclose frontier config/demo.yaml --t .02,.05,.1 --k 2,5,10",
        )
    )
    add_register_commands(functools.partial(_add, commands))
    _add(commands, "schema", "print the JSON Schema of a policy, for editors",
         "tclose schema > policy.schema.json")  # fmt: skip
    return parser


def _add_release_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    texts = {
        "run": ("make a release: plan, microaggregate, verify, publish",
                "tclose run config/demo.yaml --set privacy.t=0.05 --set engine.workers=4"),
        "flow": ("the same through a Prefect flow",
                 "tclose flow config/demo.yaml"),
        "plan": ("say what would be done, and whether it can be; writes nothing",
                 "tclose plan config/demo.yaml --set privacy.k=10"),
    }  # fmt: skip
    for name, (summary, example) in texts.items():
        command = _add(commands, name, summary, example)
        command.add_argument("policy", metavar="POLICY", help="policy file (YAML)")
        command.add_argument("--set", dest="overrides", metavar="KEY=VALUE", action="append",
                             default=[], help="override a key of the policy; may be repeated; "
                             'a name with dots stands in double quotes: '
                             'attributes."a.b".t')  # fmt: skip
        add_as_of(command)
        command.add_argument("--quiet", action="store_true", help="no progress")
        command.add_argument("--json", action="store_true", help="print the result as JSON")
        if name == "run":
            command.add_argument("--profile", nargs="?", type=Path, const=Path("profile"),
                                 metavar="FOLDER", help="write where the time went to a folder "
                                 "(default profile/): a table, JSON and, of a run on a cluster, "
                                 "a report of its tasks; after POLICY")  # fmt: skip


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    summary: str,
    example: str,
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n  {example}\n\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _run(given: argparse.Namespace) -> int:
    from pipeline.execution.engine import expect_cluster
    from pipeline.settings import load_policy

    policy = load_policy(given.policy, given.overrides, as_of=given.as_of)
    expect_cluster(policy)  # so that its start goes on beside the imports
    from pipeline.execution.profile import profiling
    from pipeline.execution.release import run_release

    progress = Progress(default_style(given.quiet), profiled=given.profile is not None)
    with profiling(given.profile, policy, progress):
        outcome = run_release(policy, progress)
    _print_release(given, outcome)
    return 0


def _flow(given: argparse.Namespace) -> int:
    from pipeline.execution.engine import expect_cluster
    from pipeline.settings import load_policy

    policy = load_policy(
        given.policy, given.overrides, as_of=given.as_of
    )  # refuse a bad one before Prefect starts
    expect_cluster(policy)
    from flows.command import run_flow

    outcome = run_flow(policy, quiet=given.quiet)
    _print_release(given, outcome)
    return 0


def _print_release(given: argparse.Namespace, outcome: "Outcome") -> None:
    from pipeline.report import report_release

    place = str(outcome.release)
    if given.json:
        more = {"release": place, "already_published": outcome.was_there}
        print(json.dumps(outcome.manifest | more, indent=2))
        return
    print("already published; nothing was changed" if outcome.was_there else "published")
    print(report_release(outcome.manifest, place, outcome.seconds, outcome.budget))
    if outcome.current != outcome.release.name:
        print(f"CURRENT is another release: {outcome.current}")


def _plan(given: argparse.Namespace) -> int:
    from pipeline.execution.estimate import estimate_run
    from pipeline.execution.release import decide_only
    from pipeline.report import report_plan
    from pipeline.settings import load_policy
    from pipeline.storage.input_files import find_files, total_bytes
    from pipeline.storage.manifest import describe_plan

    policy = load_policy(given.policy, given.overrides, as_of=given.as_of)
    with tempfile.TemporaryDirectory(prefix="tclose-plan-") as scratch:
        made, table = decide_only(policy, Path(scratch), Progress(default_style(given.quiet)))
    described = describe_plan(made)
    n_bytes = total_bytes(find_files(policy.input))
    estimate = estimate_run(made, policy.engine, n_bytes)
    dropped = table.n_read - table.n_complete
    if given.json:
        print(json.dumps(described | {"estimate": estimate, "dropped": dropped}, indent=2))
    else:
        print(report_plan(described, estimate, dropped))
    return 0


def _audit(given: argparse.Namespace) -> int:
    from pipeline.execution.audit import audit_release
    from pipeline.report import report_audit
    from pipeline.storage.register import find_release

    if (given.overrides or given.as_of) and not given.originals:
        raise UsageError("--set and --as-of go with --originals POLICY")
    audit = audit_release(find_release(given.release))
    if given.originals and audit["checked"]:
        from pipeline.execution.originals import add_originals
        from pipeline.settings import load_policy

        policy = load_policy(given.originals, given.overrides, as_of=given.as_of)
        audit = add_originals(audit, policy, Progress(default_style(given.quiet)))
    print(json.dumps(audit, indent=2) if given.json else report_audit(audit, brief=given.quiet))
    return 3 if audit["findings"] else 0


def _generate(given: argparse.Namespace) -> int:
    print(generate(given, Progress(default_style(given.quiet))))
    return 0


def _frontier(given: argparse.Namespace) -> int:
    print(show_frontier(given, Progress(default_style(given.quiet))))
    return 0


def _register(given: argparse.Namespace) -> int:
    text, status = answer(given)
    print(text)
    return status


def _schema(_: argparse.Namespace) -> int:
    from pipeline.settings import policy_schema

    print(json.dumps(policy_schema(), indent=2))
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "flow": _flow,
    "plan": _plan,
    "audit": _audit,
    "generate": _generate,
    "frontier": _frontier,
    "schema": _schema,
    **dict.fromkeys(ANSWERS, _register),
}


if __name__ == "__main__":
    sys.exit(run_command())
