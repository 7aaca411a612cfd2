"""Prefect artifacts of a run: its verdict, or the remedy for its failure.

Artifacts are kept in Prefect's database, where more people look than may see the microdata. So they
are made of manifests that are handed out with the release, of counts, and of tclose's own messages,
with no partition named in them.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from prefect.artifacts import create_markdown_artifact
from prefect.logging import get_run_logger

from tclose.data.places.locations import Location, internal_of
from tclose.errors import (
    BusyError,
    DataError,
    InfeasibleError,
    LostError,
    OutputError,
    PolicyError,
    TcloseError,
    UnreachableError,
    UsageError,
    VerificationError,
)
from tclose.render.release_tables import release_rows
from tclose.runtime.run import Outcome

Row = Sequence[str]

# The first kind that fits speaks.
_ADVICE: Mapping[type[TcloseError], str] = {
    PolicyError: (
        "Correct the policy: the message names the key, and `tclose plan POLICY` tells whether it "
        "is right now."
    ),
    UsageError: "Correct the parameters of the run or of its deployment, and run it again.",
    UnreachableError: (
        "Start what `engine.scheduler` of the policy names, with workers, and run again: it goes "
        "on from the last finished piece."
    ),
    DataError: (
        "Correct the data, or what the policy says of them: the message names the column or the "
        "file."
    ),
    OutputError: (
        "See to it that `output.path` can be written and read where the flow runs, then run again."
    ),
    InfeasibleError: (
        "No release of these records meets this policy. Ask for what the message says could work, "
        "or look for it with `tclose frontier POLICY`; `tclose plan POLICY` names the partition."
    ),
    VerificationError: (
        "What was made is not what was promised. Run again; if it fails again, keep the "
        "folder `.failed` beside the releases and report it."
    ),
    BusyError: (
        "Another run of this release had not ended after the last attempt. Wait for it; if it "
        "makes the same release, nothing is left to do."
    ),
    LostError: (
        "A worker, a connection or a disk was lost, in the last attempt too. See to memory, "
        "network and space, then run again: it goes on from the last finished piece."
    ),
    TcloseError: (
        "Run again: it goes on from the last finished piece. If it fails in the same place, "
        "report it with the message above."
    ),
}
_NOT_RETRYABLE = " It was not tried again, as it would fail again."


def leave(kind: str, name: str, markdown: str) -> None:
    """Keep an account in Prefect, as ``<kind>-<name>``; a server that does not answer is no harm.

    Parameters
    ----------
    name : of the release, or of the deployment; Prefect takes lower case letters, digits, dashes
    """
    key = re.sub(r"[^a-z0-9]+", "-", f"{kind}-{name}".lower()).strip("-")
    try:
        create_markdown_artifact(markdown, key=key)
    except Exception as error:
        get_run_logger().warning("no artifact was kept (%s)", type(error).__name__)


def describe_outcome(outcome: Outcome) -> str:
    """The verdict table of a release and where it is."""
    done = "Already published: its files match their digests, nothing was done."
    rows = release_rows(outcome.manifest)
    lines = [f"# {outcome.manifest.name}: {outcome.manifest.verdict.upper()}", ""]
    lines += [done if outcome.already_published else "Verified and published.", ""]
    lines += table(("what", "found"), rows)
    if outcome.beside:
        named = ", ".join(f"`{release}`" for release in outcome.beside)
        lines += ["", f"Also released of the same input: {named}. Distribute only one of them."]
    lines += ["", "## Where", "", *_links(outcome.release)]
    if outcome.current != outcome.release.name:
        lines += ["", f"The current release is another one: `{outcome.current}`."]
    return "\n".join(lines)


def _links(release: Location) -> list[str]:
    locations = {
        "release": release,
        "data": release / "data",
        "manifest": release / "manifest.json",
        "data dictionary": release / "dictionary.md",
        "lineage (internal)": internal_of(release) / "lineage.jsonl",
    }
    return [
        f"- {title}: [`{location}`](<{_link(location)}>)" for title, location in locations.items()
    ]


def _link(location: Location) -> str:
    return location.as_uri() if isinstance(location, Path) else str(location)


def describe_failure(error: TcloseError, title: str) -> str:
    """Describe a failure and its remedy, with the redacted part of the error's message."""
    message = quote(str(error.redacted()))
    kept = "Nothing was published." if _is_refusal(error) else "What was finished is kept."
    return "\n".join([f"# {title}", "", kept, "", *message, "", "## What to do", "", advise(error)])


def advise(error: TcloseError) -> str:
    """Return the remedy for a failure, by its kind."""
    advice = next(text for kind, text in _ADVICE.items() if isinstance(error, kind))
    return advice + _NOT_RETRYABLE if _is_refusal(error) else advice


def _is_refusal(error: TcloseError) -> bool:
    return error.exit_code != TcloseError.exit_code and not error.retryable


def quote(text: str) -> list[str]:
    """A message as it is, none of it read as markdown."""
    return [f"    {line}" for line in text.splitlines()]


def table(head: Row, rows: Sequence[Row]) -> list[str]:
    """A table in markdown."""
    ruled = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(map(_cell, row)) + " |" for row in ruled]


_SIGNS: Mapping[int, str] = str.maketrans(
    {sign: f"\\{sign}" for sign in "\\|*_`[]<>"} | {"\n": " "}
)


def _cell(text: str) -> str:
    if text == "---":
        return text
    deeper = "· " if text.startswith("  ") else ""
    return deeper + text.strip().translate(_SIGNS)
