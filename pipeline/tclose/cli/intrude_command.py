"""The command ``tclose intrude``: a release attacked by an independent library, Anonymeter."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from tclose.cli.audit_command import prepare_page
from tclose.cli.catalog_command import as_place
from tclose.cli.command_parser import add_as_of, add_overrides, add_quiet
from tclose.errors import UsageError

if TYPE_CHECKING:
    from tclose.runtime.monitoring.progress import Progress


def add_intrude_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = command.add_argument
    add("release", metavar="RELEASE", type=as_place,
        help="folder of a release or of its name; the beginning of an id is enough")  # fmt: skip
    add("--originals", metavar="POLICY", required=True,
        help="the policy that the release was made with; its input is attacked")  # fmt: skip
    add("--holdout", metavar="DATA", required=True,
        help="records that were kept out of the release, in the form of the policy's input: how "
        "often attacks succeed on them is what the release does not add")  # fmt: skip
    add("--python", metavar="PYTHON", required=True,
        help="a Python in which Anonymeter is installed; it cannot be beside tclose")  # fmt: skip
    add("--attacks", type=int, metavar="N",
        help="attacks of each kind (default: as many as the hold-out has records, 2,000 at "
        "most)")  # fmt: skip
    add("--seed", type=int, default=1, help="draws who is attacked (default: 1)")
    add(
        "--out",
        type=Path,
        metavar="FILE.html",
        help="write the internal report with what was found into this file; it stays inside",
    )
    add_overrides(command, "the policy, as the run did")
    add_as_of(command)
    add("--json", action="store_true", help="print all figures as JSON")
    add_quiet(command)


def intrude_release(arguments: argparse.Namespace, progress: "Progress") -> str:
    """Attack the release and write the page; returns the table or JSON to print."""
    from tclose.assess.intrusion.motivated_intruder import intrude
    from tclose.assess.intrusion.other_python import find_python
    from tclose.data.places.atomic_files import write_atomically
    from tclose.policy.policy import load_policy
    from tclose.releases.catalog.catalog import find_release
    from tclose.releases.report.internal_report import write_internal_report
    from tclose.render.intrusion_tables import report_intrusion

    if arguments.attacks is not None and arguments.attacks < 1:
        raise UsageError(f"--attacks {arguments.attacks}: has to be at least 1")
    if not 0 <= arguments.seed < 2**32:
        raise UsageError(f"--seed {arguments.seed}: has to be from 0 to 4,294,967,295")
    python = find_python(arguments.python)
    policy = load_policy(arguments.originals, arguments.overrides, as_of=arguments.as_of)
    release = find_release(arguments.release)
    internal = None if arguments.out is None else prepare_page(arguments.out, release)
    intrusion = intrude(
        release,
        policy,
        arguments.holdout,
        python,
        progress,
        n_attacks=arguments.attacks,
        seed=arguments.seed,
    )
    if internal is not None:
        page = write_internal_report(internal, intrusion=intrusion)
        write_atomically(arguments.out, page.encode())
    return (
        json.dumps(intrusion.to_json(), indent=2) if arguments.json else report_intrusion(intrusion)
    )
