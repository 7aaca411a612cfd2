"""Comparison of the software of client, scheduler and workers; all mismatches in one error."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tclose.data.formats.format_registry import FORMATS
from tclose.errors import ClusterError
from tclose.methods.method_registry import METHODS
from tclose.model.registry import Registrable
from tclose.policy.policy import Policy
from tclose.privacy.model_registry import MODELS
from tclose.releases.provenance import source_digest

# What values travel through, and what makes the bytes. Asked for by Dask's own question, which a
# process answers that has none of them: no code travels before it is known to arrive.
PACKAGES = ("dask", "distributed", "cloudpickle", "numpy", "pandas", "pyarrow", "numba", "tclose")
_SOURCES = "tclose's code"
_SHOWN_WORKERS = 3

# Of other distributions, too; what is below tclose is compared by its sources.
_REGISTRIES = {"method": METHODS, "model": MODELS, "format": FORMATS}
_OWN = "tclose."

Versions = Mapping[str, str]


def code_there() -> str:
    """Digest of tclose's sources in the process that calls it: a worker's, if sent there.

    Stricter than the versions in a release's id: tasks travel as references to functions, and
    processes that work on one run have to agree on more than on the bytes that come out.
    """
    return source_digest()


def check_versions(client: Any, address: str) -> None:
    """Refuse a cluster with other versions than this process.

    Raises
    ------
    ClusterError
        Names each package that differs, what is here, what is there, and where.
    """
    answers = client.get_versions(packages=list(PACKAGES))
    client_versions = _read_versions(answers["client"])
    remote_versions = {"the scheduler": _read_versions(answers["scheduler"])}
    remote_versions |= {name: _read_versions(answer) for name, answer in answers["workers"].items()}
    _refuse_differences(address, client_versions, remote_versions)
    _refuse_differences(address, {_SOURCES: code_there()}, _ask_sources(client))


def _ask_sources(client: Any) -> dict[str, Versions]:
    """Digests of the sources, which may differ where versions agree, as in a working copy."""
    answers: dict[str, Any] = client.run(code_there, on_error="return")
    try:
        answers["the scheduler"] = client.run_on_scheduler(code_there)
    except Exception:
        answers["the scheduler"] = None  # a version of tclose that does not know the question
    return {
        place: {_SOURCES: answer if isinstance(answer, str) else "another"}
        for place, answer in answers.items()
        if not worker_left(answer)
    }


def worker_left(answer: Any) -> bool:
    """Return whether a worker ended before it answered: that says nothing of the other workers."""
    from distributed.comm.core import CommClosedError

    return type(answer) in (OSError, CommClosedError)  # not what reading its sources could raise


def _read_versions(answer: Any) -> Versions:
    """Versions by package; Python's without its last part, which changes nothing that travels."""
    packages = answer["packages"] if isinstance(answer, Mapping) else {}
    python = ".".join(str(packages.get("python", "none")).split(".")[:2])
    return {"python": python} | {name: str(packages.get(name) or "none") for name in PACKAGES}


def _refuse_differences(
    address: str, client_versions: Versions, remote_versions: Mapping[str, Versions]
) -> None:
    lines = []
    for package, version in client_versions.items():
        places: dict[str, list[str]] = defaultdict(list)
        for place, versions in remote_versions.items():
            if versions[package] != version:
                places[versions[package]].append(place)
        differing = [
            f"{_short(v)} on {_name_places(p, len(remote_versions) - 1)}" for v, p in places.items()
        ]
        if differing:
            lines.append(f"  {package}: {_short(version)} here, {'; '.join(differing)}")
    if lines:
        raise ClusterError(
            f"engine.scheduler {address}: not the same software everywhere; install the same "
            "requirements.lock and tclose on scheduler, workers and here, and start them again\n"
            + "\n".join(lines)
        )


def _short(version: str) -> str:
    return version[:12]  # of a digest


def _name_places(places: list[str], n_workers: int) -> str:
    """Name processes, as in ``the scheduler and 2 of 3 workers (tcp://10.0.0.7:4123, ...)``."""
    workers = [place for place in places if place != "the scheduler"]
    named = ["the scheduler"] if len(workers) < len(places) else []
    if workers:
        shown = ", ".join(sorted(workers)[:_SHOWN_WORKERS])
        more = ", ..." if len(workers) > _SHOWN_WORKERS else ""
        named.append(f"{len(workers)} of {n_workers} workers ({shown}{more})")
    return " and ".join(named)


def check_registered(policy: Policy, ask: Callable[[Callable[[], str]], list[str]]) -> None:
    """Refuse workers that lack what a policy names of other distributions.

    ``ask``: has a question answered wherever tasks run.

    Raises
    ------
    ClusterError
        One does not know it, or has another version.
    """
    named: list[tuple[str, Registrable]] = [("method", policy.method)]
    named += [("model", model) for model in policy.privacy.models]
    named += [("format", policy.output.format)]
    for kind, one in named:
        if type(one).__module__.startswith(_OWN):
            continue
        here, there = find_version(kind, one.name), ask(partial(find_version, kind, one.name))
        if any(version != here for version in there):
            raise _unknown(kind, one.name, here, there)


def find_version(kind: str, name: str) -> str:
    """The version of what this process knows by a name; ``none`` where it knows nothing."""
    found = _REGISTRIES[kind].find(name)
    return "none" if found is None else str(found.version)


def _unknown(kind: str, name: str, here: str, there: Sequence[str]) -> ClusterError:
    n_without = sum(version == "none" for version in there)
    what = (
        f"is not known to {n_without:,} of {len(there):,} workers"
        if n_without
        else f"has version {here} here, and another on a worker"
    )
    return ClusterError(
        f"{kind} {name!r} {what}; install the distribution that has it on each of them, with an "
        f"entry point of the group tclose.{kind}s: what a script registers is known to the script "
        "alone"
    )
