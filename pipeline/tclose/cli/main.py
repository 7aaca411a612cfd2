"""The command ``tclose``. Exit status: 0 done, 2 refused, 3 not to be met or verified, 1 else.

Every call reads the options of all commands; what a command works with is imported when it runs.
"""

import argparse
import functools
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tclose.cli.attack_command import add_attack_options, attack
from tclose.cli.audit_command import add_audit_options, audit
from tclose.cli.catalog_command import ANSWERS, AddCommand, add_register_commands
from tclose.cli.command_parser import CommandParser, add_quiet
from tclose.cli.completion_command import add_completion_options, make_completion
from tclose.cli.forget_command import add_forget_options, forget
from tclose.cli.frontier_command import add_frontier_options, show_frontier
from tclose.cli.generate_command import add_generate_options, generate
from tclose.cli.init_command import add_init_options, write_first_policy
from tclose.cli.intrude_command import add_intrude_options, intrude_release
from tclose.cli.keys_command import add_keys_options, make_keys
from tclose.cli.release_commands import add_release_commands, flow, run, show_plan
from tclose.cli.terminal import complain, follow, say, show
from tclose.errors import TcloseError
from tclose.package import VERSION

if TYPE_CHECKING:
    from tclose.runtime.monitoring.progress import Progress

_EXIT_CODES = """exit status:
  0  done
  2  bad usage, policy or data: the message names it and the remedy
  3  the policy cannot be met, a strict one has warnings, or a verification failed;
     nothing was published
  1  anything else"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; errors are one message on standard error."""
    try:
        return _perform(_parser().parse_args(arguments))
    except TcloseError as error:
        complain(str(error))
        return error.exit_code


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
    except TcloseError:
        _look_for_interrupt()
        raise
    except Exception as error:
        _look_for_interrupt()
        from tclose.runtime.safe_errors import to_safe_error

        safe = to_safe_error(error, arguments.command)
        complain(str(safe))
        return safe.exit_code


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
    parser.add_argument("--version", action="version", version=f"tclose {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add = functools.partial(_add, commands)
    add_init_options(add("init", "suggest a first policy for a table",
                         "tclose init patients.csv --out patients.yaml"))  # fmt: skip
    add_release_commands(add)
    _add_assessing_commands(add)
    _add_trying_commands(add)
    add_forget_options(add("forget", "forget a person in the registers of a series",
                           "tclose forget panel.yaml < person.txt"))  # fmt: skip
    add_keys_options(add("keys", "make a pair of keys for public signatures",
                         "tclose keys --out ~/tclose-keys"))  # fmt: skip
    add_register_commands(add)
    _add_commands_for_machines(add)
    return parser


def _add_assessing_commands(add: AddCommand) -> None:
    """Add the commands that look at releases from outside."""
    add_audit_options(
        add(
            "audit",
            "re-verify a published release from its files alone",
            "tclose audit releases/demo            # the current release\n"
            "  tclose audit releases/demo/1f0c9b7d2a --json\n"
            "  tclose audit releases/demo --originals config/demo.yaml \\\n"
            "    --population residents.parquet --frontier --out assessed.html",
        )
    )
    add_attack_options(
        add(
            "attack",
            "attack several releases of the same persons, next to their originals",
            "tclose attack releases/panel/1f0c releases/panel/92ab --person person_id \\\n"
            "    --originals panel.yaml@2026-11-01 panel.yaml@2026-12-01",
        )
    )
    add_intrude_options(
        add(
            "intrude",
            "attack a release with an independent library, beside records that are not in it",
            "tclose intrude releases/demo --originals config/demo.yaml \\\n"
            "    --holdout held-out.csv --python .venv-intruder/bin/python --out intruder.html",
        )
    )


def _add_trying_commands(add: AddCommand) -> None:
    """Add a command that makes data to try others with, and one that tries other k and t."""
    add_generate_options(
        add(
            "generate",
            "write realistic hospital discharges, or insured persons over months, of any size",
            "tclose generate --rows 1000000 --seed 7 --out discharges/\n"
            "  tclose generate --table panel --persons 50000 --months 12 --out panel/",
        )
    )
    add_frontier_options(
        add(
            "frontier",
            "show class sizes, loss and risk for other k and t",
            "tclose frontier config/demo.yaml --out frontier.svg\n"
            "  tclose frontier config/demo.yaml --t .02,.05,.1 --k 2,5,10",
        )
    )


def _add_commands_for_machines(add: AddCommand) -> None:
    """Add what prepares a machine, an editor, a program or a shell."""
    add_quiet(add("warm-up", "compile the kernels ahead of the first run, and calibrate plans",
                  "tclose warm-up"))  # fmt: skip
    schema = add("schema", "print the JSON Schema of a policy, or of a manifest",
                 "tclose schema > policy.schema.json            # for editors\n"
                 "  tclose schema --manifest > manifest.schema.json")  # fmt: skip
    schema.add_argument("--manifest", action="store_true", help="that of manifest.json, for "
                        "programs that read releases; later versions may add keys")  # fmt: skip
    add_completion_options(
        add(
            "completion",
            "print a script that completes words in a shell",
            'eval "$(tclose completion bash)"        # in ~/.bashrc\n'
            "  tclose completion fish > ~/.config/fish/completions/tclose.fish",
        )
    )


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


def _assess(arguments: argparse.Namespace) -> int:
    text, status = _ASSESSMENTS[arguments.command](arguments, follow(arguments))
    show(text)
    return status


def _tell(arguments: argparse.Namespace) -> int:
    say(_ACCOUNTS[arguments.command](arguments, follow(arguments)))
    return 0


def _frontier(arguments: argparse.Namespace) -> int:
    show(show_frontier(arguments, follow(arguments)))
    return 0


def _init(arguments: argparse.Namespace) -> int:
    say(write_first_policy(arguments))
    return 0


def _keys(arguments: argparse.Namespace) -> int:
    say(make_keys(arguments))
    return 0


def _register(arguments: argparse.Namespace) -> int:
    text, status = ANSWERS[arguments.command](arguments)
    show(text)
    return status


def _warm_up(arguments: argparse.Namespace) -> int:
    from tclose.api.warm_up import warm_up

    warm_up(follow(arguments))
    return 0


def _schema(arguments: argparse.Namespace) -> int:
    from tclose.policy.policy import policy_schema
    from tclose.releases.manifest.manifest_schema import manifest_schema

    schema = manifest_schema() if arguments.manifest else policy_schema()
    say(json.dumps(schema, indent=2))
    return 0


def _completion(arguments: argparse.Namespace) -> int:
    say(make_completion(_parser(), arguments.shell))
    return 0


_ASSESSMENTS: "dict[str, Callable[[argparse.Namespace, Progress], tuple[str, int]]]" = {
    "audit": audit,
    "attack": attack,
}
_ACCOUNTS: "dict[str, Callable[[argparse.Namespace, Progress], str]]" = {
    "intrude": intrude_release,
    "generate": generate,
    "forget": forget,
}
_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "init": _init,
    "run": run,
    "flow": flow,
    "plan": show_plan,
    "frontier": _frontier,
    "keys": _keys,
    "warm-up": _warm_up,
    "schema": _schema,
    "completion": _completion,
    **dict.fromkeys(_ASSESSMENTS, _assess),
    **dict.fromkeys(_ACCOUNTS, _tell),
    **dict.fromkeys(ANSWERS, _register),
}
