"""Comparison of the software of client, scheduler and workers; all mismatches in one error."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from tclose.errors import ClusterError
from tclose.releases.provenance import source_digest

# What values travel through, and what makes the bytes. Asked for by Dask's own question, which a
# process answers that has none of them: no code travels before it is known to arrive.
PACKAGES = ("dask", "distributed", "cloudpickle", "numpy", "pandas", "pyarrow", "numba", "tclose")
_SOURCES = "tclose's code"
_SHOWN_WORKERS = 3

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
