"""The command ``tclose``. Exit status: 0 done, 2 refused, 3 not to be met or verified, 1 else.

Every call reads the options of all commands; what a command works with is imported when it runs.
"""

import argparse
import functools
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import tclose
from tclose.cli.attack_command import add_attack_options, attack
from tclose.cli.audit_command import add_audit_options, audit
from tclose.cli.catalog_command import ANSWERS, add_register_commands, answer
from tclose.cli.command_parser import CommandParser
from tclose.cli.completion_command import add_completion_options, make_completion
from tclose.cli.forget_command import add_forget_options, forget
from tclose.cli.frontier_command import add_frontier_options, show_frontier
from tclose.cli.generate_command import add_generate_options, generate
from tclose.cli.init_command import add_init_options, write_first_policy
from tclose.cli.intrude_command import add_intrude_options, intrude_release
from tclose.cli.keys_command import add_keys_options, make_keys
from tclose.cli.options import add_as_of, add_quiet
from tclose.cli.terminal import show
from tclose.errors import TcloseError

if TYPE_CHECKING:
    from tclose.policy.policy import Policy
    from tclose.runtime.progress import Progress
    from tclose.runtime.run import Outcome

_EXIT_CODES = """exit status:
  0  done
  2  bad usage, policy or data: the message names it and the remedy
  3  the policy cannot be met, or a verification failed; nothing was published
  1  anything else"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; errors are one message on standard error."""
    try:
        return _perform(_parser().parse_args(arguments))
    except TcloseError as error:
        print(f"tclose: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # whoever read the result has gone; what was asked for is done
        sys.stdout = None
        return 0


def _perform(arguments: argparse.Namespace) -> int:
    """Do what the command line asks; of an error that nobody foresaw say its type and place."""
    from tclose.data.places.process_limits import OPEN_FILES, ensure_open_files
    from tclose.kernels.ready_folder import check_ready_folder
    from tclose.runtime.scratch import clear_scratch

    try:
        ensure_open_files(OPEN_FILES)
        clear_scratch()
        check_ready_folder()
        return _COMMANDS[arguments.command](arguments)
    except (TcloseError, BrokenPipeError):
        _look_for_interrupt()
        raise
    except Exception as error:
        _look_for_interrupt()
        from tclose.runtime.engines.engine import to_safe_error

        print(f"tclose: {to_safe_error(error, arguments.command)}", file=sys.stderr)
        return 1


def _look_for_interrupt() -> None:
    """Raise an interrupt again that a library has made another error of."""
    from tclose.runtime.interrupts import HEARD

    if HEARD.is_set():
        raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="tclose",
        description="Publish microdata so that every equivalence class is k-anonymous and t-close.",
        epilog=f"example:\n  tclose run config/demo.yaml --set privacy.t=0.05\n\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tclose {tclose.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_init_options(_add(commands, "init", "suggest a first policy for a table",
                          "tclose init patients.csv --out patients.yaml"))  # fmt: skip
    _add_release_commands(commands)
    add_audit_options(
        _add(
            commands,
            "audit",
            "re-verify a published release from its files alone",
            "tclose audit releases/demo            # the current release\n"
            "  tclose audit releases/demo/1f0c9b7d2a --json\n"
            "  tclose audit releases/demo --originals config/demo.yaml \\\n"
            "    --population residents.parquet --frontier --out assessed.html",
        )
    )
    add_attack_options(
        _add(
            commands,
            "attack",
            "attack several releases of the same persons, next to their originals",
            "tclose attack releases/panel/1f0c releases/panel/92ab --person person_id \\\n"
            "    --originals panel.yaml@2026-11-01 panel.yaml@2026-12-01",
        )
    )
    add_intrude_options(
        _add(
            commands,
            "intrude",
            "attack a release with an independent library, beside records that are not in it",
            "tclose intrude releases/demo --originals config/demo.yaml \\\n"
            "    --holdout held-out.csv --python .venv-intruder/bin/python --out intruder.html",
        )
    )
    add_generate_options(
        _add(
            commands,
            "generate",
            "write realistic hospital discharges, or insured persons over months, of any size",
            "tclose generate --rows 1000000 --seed 7 --out discharges/\n"
            "  tclose generate --table panel --persons 50000 --months 12 --out panel/",
        )
    )
    add_frontier_options(
        _add(
            commands,
            "frontier",
            "show class sizes, loss and risk for other k and t",
            "tclose frontier config/demo.yaml --out frontier.svg\n"
            "  tclose frontier config/demo.yaml --t .02,.05,.1 --k 2,5,10",
        )
    )
    add_forget_options(_add(commands, "forget", "forget a person in the registers of a series",
                            "tclose forget panel.yaml < person.txt"))  # fmt: skip
    add_keys_options(_add(commands, "keys", "make a pair of keys for public signatures",
                          "tclose keys --out ~/tclose-keys"))  # fmt: skip
    add_register_commands(functools.partial(_add, commands))
    add_quiet(_add(commands, "warm-up", "compile the kernels now, instead of in the first run",
                   "tclose warm-up"))  # fmt: skip
    schema = _add(commands, "schema", "print the JSON Schema of a policy, or of a manifest",
                  "tclose schema > policy.schema.json            # for editors\n"
                  "  tclose schema --manifest > manifest.schema.json")  # fmt: skip
    schema.add_argument("--manifest", action="store_true", help="that of manifest.json, for "
                        "programs that read releases; later versions may add keys")  # fmt: skip
    add_completion_options(
        _add(
            commands,
            "completion",
            "print a script that completes words in a shell",
            'eval "$(tclose completion bash)"        # in ~/.bashrc\n'
            "  tclose completion fish > ~/.config/fish/completions/tclose.fish",
        )
    )
    return parser


def _add_release_commands(commands: "argparse._SubParsersAction[CommandParser]") -> None:
    texts = {
        "run": ("make a release: plan, microaggregate, verify, publish",
                "tclose run config/demo.yaml --set privacy.t=0.05 --set engine.workers=4"),
        "flow": ("make a release as a Prefect flow",
                 "tclose flow config/demo.yaml"),
        "plan": ("show the plan of a release and whether it is feasible; writes nothing",
                 "tclose plan config/demo.yaml --set privacy.k=10"),
    }  # fmt: skip
    for name, (summary, example) in texts.items():
        command = _add(commands, name, summary, example)
        command.add_argument("policy", metavar="POLICY", help="policy file (YAML)")
        command.add_argument("--set", dest="overrides", metavar="KEY=VALUE", action="append",
                             default=[], help="override a key of the policy; may be repeated; "
                             'write a name with dots in double quotes: '
                             'attributes."a.b".t')  # fmt: skip
        add_as_of(command)
        command.add_argument("--strict", dest="overrides", action="append_const",
                             const="engine.strict=true", help="refuse what has numbered "
                             "warnings, with status 3; as engine.strict of the policy")  # fmt: skip
        add_quiet(command)
        command.add_argument("--json", action="store_true", help="print the result as JSON")
        if name == "plan":
            command.add_argument("--sample", type=int, metavar="N",
                                 help="estimate losses from releases of N records drawn at "
                                 "random (default 10000); 0 for no estimate")  # fmt: skip
        if name == "run":
            command.add_argument("--profile", nargs="?", type=Path, const=Path("profile"),
                                 metavar="FOLDER", help="write where the time went to a folder "
                                 "(default profile/): a table, JSON and, of a run on a cluster, "
                                 "a report of its tasks; after POLICY")  # fmt: skip


def _add(
    commands: "argparse._SubParsersAction[CommandParser]",
    name: str,
    summary: str,
    example: str,
) -> CommandParser:
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n  {example}\n\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _progress(arguments: argparse.Namespace, *, profiled: bool = False) -> "Progress":
    from tclose.runtime.progress import Progress, default_style

    return Progress(default_style(arguments.quiet), profiled=profiled)


def _run(arguments: argparse.Namespace) -> int:
    from tclose.policy.policy import load_policy
    from tclose.runtime.engines.engine import prestart_workers

    policy = load_policy(arguments.policy, arguments.overrides, as_of=arguments.as_of)
    prestart_workers(policy)  # so that its start goes on beside the imports
    from tclose.passes.release import run_release

    progress = _progress(arguments, profiled=arguments.profile is not None)
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


def _flow(arguments: argparse.Namespace) -> int:
    from tclose.policy.policy import load_policy
    from tclose.runtime.engines.engine import prestart_workers

    policy = load_policy(
        arguments.policy, arguments.overrides, as_of=arguments.as_of
    )  # refuse a bad one before Prefect starts
    from tclose_flows.prefect_files import check_prefect_files

    check_prefect_files()
    prestart_workers(policy)
    from tclose_flows.flow_command import run_flow

    outcome = run_flow(policy, quiet=arguments.quiet)
    _print_release(arguments, outcome)
    return 0


def _print_release(arguments: argparse.Namespace, outcome: "Outcome") -> None:
    from tclose.render.release_tables import report_release

    place = str(outcome.release)
    if arguments.json:
        more = {"release": place, "already_published": outcome.already_published}
        print(json.dumps(outcome.manifest.to_json() | more, indent=2))
        return
    print(_format_published(outcome))
    report = report_release(
        outcome.manifest, place, outcome.seconds, outcome.budget, outcome.beside
    )
    show(report)
    if outcome.current != outcome.release.name:
        print(f"CURRENT is another release: {outcome.current}")


def _format_published(outcome: "Outcome") -> str:
    if not outcome.already_published:
        return "published"
    what = "its manifest was signed" if outcome.signed_now else "nothing was changed"
    return f"already published; {what}"


def _plan(arguments: argparse.Namespace) -> int:
    from tclose.assess.ahead.expected_losses import SAMPLED
    from tclose.assess.ahead.plan_ahead import plan_ahead
    from tclose.policy.policy import load_policy
    from tclose.render.plan_tables import report_plan

    policy = load_policy(arguments.policy, arguments.overrides, as_of=arguments.as_of)
    progress = _progress(arguments)
    n_sampled = SAMPLED if arguments.sample is None else arguments.sample
    described, estimate, dropped = plan_ahead(policy, progress, n_sampled)
    if arguments.json:
        more = {"estimate": estimate.to_json(), "dropped": dropped}
        print(json.dumps(described.to_json() | more, indent=2))
    else:
        print(report_plan(described, estimate, dropped))
    return 0


def _audit(arguments: argparse.Namespace) -> int:
    text, status = audit(arguments, _progress(arguments))
    show(text)
    return status


def _attack(arguments: argparse.Namespace) -> int:
    text, status = attack(arguments, _progress(arguments))
    show(text)
    return status


def _intrude(arguments: argparse.Namespace) -> int:
    print(intrude_release(arguments, _progress(arguments)))
    return 0


def _generate(arguments: argparse.Namespace) -> int:
    print(generate(arguments, _progress(arguments)))
    return 0


def _frontier(arguments: argparse.Namespace) -> int:
    show(show_frontier(arguments, _progress(arguments)))
    return 0


def _forget(arguments: argparse.Namespace) -> int:
    print(forget(arguments, _progress(arguments)))
    return 0


def _init(arguments: argparse.Namespace) -> int:
    print(write_first_policy(arguments))
    return 0


def _keys(arguments: argparse.Namespace) -> int:
    print(make_keys(arguments))
    return 0


def _register(arguments: argparse.Namespace) -> int:
    text, status = answer(arguments)
    show(text)
    return status


def _warm_up(arguments: argparse.Namespace) -> int:
    from tclose.api.warm_up import warm_up

    warm_up(_progress(arguments))
    return 0


def _schema(arguments: argparse.Namespace) -> int:
    from tclose.policy.policy import policy_schema
    from tclose.releases.manifest.manifest_schema import manifest_schema

    schema = manifest_schema() if arguments.manifest else policy_schema()
    print(json.dumps(schema, indent=2))
    return 0


def _completion(arguments: argparse.Namespace) -> int:
    print(make_completion(_parser(), arguments.shell))
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "init": _init,
    "run": _run,
    "flow": _flow,
    "plan": _plan,
    "audit": _audit,
    "attack": _attack,
    "intrude": _intrude,
    "generate": _generate,
    "frontier": _frontier,
    "forget": _forget,
    "keys": _keys,
    "warm-up": _warm_up,
    "schema": _schema,
    "completion": _completion,
    **dict.fromkeys(ANSWERS, _register),
}
