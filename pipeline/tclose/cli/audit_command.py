"""The command ``tclose audit``: a release is verified again, and its report written once more."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from tclose.cli.catalog_command import as_place
from tclose.cli.command_parser import add_as_of, add_overrides, add_quiet, check_target
from tclose.errors import OutputError, UsageError

if TYPE_CHECKING:
    from tclose.assess.auditing.audit_result import AuditResult
    from tclose.data.places.locations import Location
    from tclose.policy.policy import Policy
    from tclose.releases.manifest.internal_manifest import InternalManifest
    from tclose.releases.manifest.originals_section import FrontierSection
    from tclose.runtime.monitoring.progress import Progress


def add_audit_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = command.add_argument
    add("release", metavar="RELEASE", type=as_place,
        help="folder of a release or of its name; the beginning of an id is enough")  # fmt: skip
    add("--public-key", type=Path, metavar="FILE",
        help="the publisher's public key, by which the manifest has to be signed")  # fmt: skip
    add("--originals", metavar="POLICY",
        help="compare with the records that the policy reads: linkage and loss; makes the release "
        "again in a private folder; its figures depend on the raw data")  # fmt: skip
    add("--population", metavar="DATA",
        help="persons of the population, with the quasi-identifiers in the form of the policy's "
        "input: how many of them could be in a class; with --originals")  # fmt: skip
    add("--frontier", action="store_true",
        help="what other k and t would cost, in the page of --out; with --originals")  # fmt: skip
    add(
        "--out",
        type=Path,
        metavar="FILE.html",
        help="write the internal report with what was measured into this file; it stays inside; "
        "with --originals",
    )
    add("--series", action="store_true",
        help="decide again what it and the earlier releases of its series are together, by their "
        "registers")  # fmt: skip
    add_overrides(command, "that policy, as the run did")
    add_as_of(command)
    add("--json", action="store_true", help="print the findings as JSON")
    add_quiet(command, "the verdict, findings, notes and errors")


def audit(arguments: argparse.Namespace, progress: "Progress") -> tuple[str, int]:
    """Verify the release; returns what is to be printed, and the exit status."""
    from tclose.assess.auditing.audit import audit_release
    from tclose.releases.catalog.catalog import find_release
    from tclose.releases.signatures.manifest_signature import read_public_key
    from tclose.render.release_tables import report_audit

    _check_together(arguments)
    key = None if arguments.public_key is None else read_public_key(arguments.public_key)
    release = find_release(arguments.release)
    internal = None if arguments.out is None else prepare_page(arguments.out, release)
    audited = audit_release(release, key)
    if arguments.series and audited.checked:
        from tclose.assess.over_time.series_audit import add_series

        audited = add_series(audited)
    if arguments.originals and audited.checked:
        from tclose.assess.originals import add_originals
        from tclose.policy.policy import load_policy

        policy = load_policy(arguments.originals, arguments.overrides, as_of=arguments.as_of)
        audited = add_originals(audited, policy, progress, arguments.population)
        if internal is not None:
            audited = _write_page(arguments, audited, internal, policy, progress)
    text = json.dumps(audited.to_json(), indent=2) if arguments.json else None
    return (
        report_audit(audited, brief=arguments.quiet) if text is None else text,
        3 if audited.findings else 0,
    )


def _check_together(arguments: argparse.Namespace) -> None:
    """Refuse options that mean nothing without others.

    Raises
    ------
    UsageError
    """
    if arguments.frontier and arguments.out is None:
        raise UsageError("--frontier goes with --out FILE.html; tclose frontier prints it")
    options = (arguments.overrides, arguments.as_of, arguments.population, arguments.out)
    if any(options) and not arguments.originals:
        raise UsageError("--set, --as-of, --population and --out go with --originals POLICY")


def _write_page(
    arguments: argparse.Namespace,
    audited: "AuditResult",
    internal: "InternalManifest",
    policy: "Policy",
    progress: "Progress",
) -> "AuditResult":
    """Write the page, where the release could be compared with its originals."""
    from tclose.data.places.atomic_files import write_atomically
    from tclose.releases.report.internal_report import write_internal_report

    if audited.originals is None or not audited.passed:
        return audited.extended(notes=[f"--out {arguments.out}: not written"])
    frontier = _compute_frontier(policy, progress) if arguments.frontier else None
    page = write_internal_report(internal, originals=audited.originals, frontier=frontier)
    write_atomically(arguments.out, page.encode())
    return audited


def _compute_frontier(policy: "Policy", progress: "Progress") -> "FrontierSection":
    from tclose.assess.frontier import compute_frontier
    from tclose.assess.frontier_grid import make_grid, read_sampling
    from tclose.releases.manifest.originals_section import FrontierSection
    from tclose.render.frontier_tables import describe_frontier

    size, seed = read_sampling(policy, None, None)
    frontier = compute_frontier(policy, make_grid(policy), size, seed, progress)
    return FrontierSection.model_validate(describe_frontier(frontier))


def prepare_page(path: Path, release: "Location") -> "InternalManifest":
    """Read what the page shows beside the measures; refuse the page before anything is measured.

    Raises
    ------
    UsageError, OutputError
    """
    from tclose.releases.repository.contents import read_internal

    check_target(path, ".html")
    if isinstance(release, Path) and path.resolve().is_relative_to(release.resolve()):
        raise UsageError(f"--out {path}: is in the release, which does not change; name another")
    internal = read_internal(release)
    if internal is None:
        raise OutputError(
            f"--out {path}: the release has no internal manifest here, which the page is made of; "
            "leave --out out, or call this where the release was made"
        )
    return internal
