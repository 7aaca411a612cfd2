"""The public functions: each takes a table and a policy, and returns a value, or raises.

Nothing is printed unless ``progress`` asks for it.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

from tclose.api.checking import Check, check_data, read_whole
from tclose.api.results import Audit, Frontier, PlanSummary, Release, audit_location
from tclose.api.staging import Staged, replace_input, staged_data
from tclose.data.places.locations import Location, parse_location
from tclose.errors import UsageError, name_kind
from tclose.policy.policy import Policy, parse_policy
from tclose.policy.sections.engine_settings import LOCAL
from tclose.policy.yaml_loader import read_document
from tclose.runtime.engines.engine import connect
from tclose.runtime.engines.user_client import user_client_address, using_client
from tclose.runtime.interrupts import deferred
from tclose.runtime.monitoring.progress import Progress, default_style
from tclose.runtime.safe_errors import to_safe_error

if TYPE_CHECKING:
    from distributed import Client

    from tclose.api.staging import Data

PolicyLike: TypeAlias = Policy | Mapping[str, Any] | str | os.PathLike[str]


def release(
    data: "Data | None",
    policy: PolicyLike,
    *,
    client: "Client | None" = None,
    progress: bool = False,
) -> Release:
    """Make, verify and publish the release that a policy asks for.

    The same table, policy and seed give the same bytes, whatever it runs on. A release that is
    there already is not made again.

    Parameters
    ----------
    data : path, pandas.DataFrame, pyarrow.Table, dask.dataframe.DataFrame or None
        The records: (n,) rows, a column for each attribute. A path (file, folder, glob or URL)
        takes the place of ``input.path``; None leaves it as it is. The index of a frame is not
        read, and its NaN are missing values.
    policy : Policy, mapping, or path of a YAML file
        With a table it may leave ``input`` out.
    client : distributed.Client, optional
        What it runs on instead of ``engine.scheduler``; it stays open.
    progress : bool
        Show progress on standard error.

    Returns
    -------
    Release

    Raises
    ------
    PolicyError, DataError, UsageError, OutputError
        The policy, the table, the call or the place is wrong; nothing was published.
    InfeasibleError, VerificationError
        The policy cannot be met, or was not; nothing was published.
    TcloseError
        Anything else.
    """
    with _prepared("release", data, policy, client) as resolved:
        with deferred():
            from tclose.passes.release import run_release

        outcome = run_release(resolved, _progress(progress))
    return Release(
        outcome.release,
        outcome.manifest.release_id,
        outcome.manifest,
        outcome.already_published,
        outcome.seconds,
    )


def plan(
    data: "Data | None",
    policy: PolicyLike,
    *,
    client: "Client | None" = None,
    sample: int | None = None,
    progress: bool = False,
) -> PlanSummary:
    """Say what a release would do, and whether it can be; publishes nothing.

    Parameters
    ----------
    data, policy, client, progress : as of `release`
    sample : int, optional
        Records that losses are estimated from, drawn at random: where not given 40,000, of methods
        that compare all records with all 10,000, with no search or a lean one 100,000; 0 for no
        estimate.

    Raises
    ------
    UsageError
        A sample of a few records. Otherwise as `release`.
    """
    with _prepared("plan", data, policy, client) as resolved:
        with deferred():
            from tclose.assess.ahead.plan_ahead import plan_ahead

        try:
            n_sampled = None if sample is None else read_whole(sample, "sample")
            return PlanSummary(*plan_ahead(resolved, _progress(progress), n_sampled))
        except UsageError as error:  # whose words are those of the command's options
            raise UsageError(str(error).replace("--", "")) from None


def audit(
    release: "Release | str | os.PathLike[str]",
    *,
    data: "Data | None" = None,
    policy: PolicyLike | None = None,
    progress: bool = False,
) -> Audit:
    """Verify a published release again, from its files alone.

    Parameters
    ----------
    release : Release, folder of a release or of its name (the current one)
        Of an id the beginning is enough.
    data, policy : as of `release`
        With a policy the release is compared with the records that it was made of, which gives
        figures of the raw data: keep them inside.
    progress : bool
        Show progress on standard error.

    Raises
    ------
    OutputError
        There is no such release.
    UsageError
        It is no place; a table without a policy; it was made with a model or a format that is not
        installed. With a policy also as `release`.
    """
    with _safe("audit"):
        audited = audit_location(_locate(release))
    if policy is None:
        if data is not None:
            raise UsageError("data: goes with a policy, which says what its columns are")
        return audited
    with _prepared("audit", data, policy, None) as resolved:
        with deferred():
            from tclose.assess.originals import add_originals

        if not audited.details.checked:
            return audited
        return Audit(add_originals(audited.details, resolved, _progress(progress)))


def frontier(
    data: "Data | None",
    policy: PolicyLike,
    *,
    k: int | Sequence[int] | None = None,
    t: float | Sequence[float] | None = None,
    sample: int | None = None,
    seed: int | None = None,
    progress: bool = False,
) -> Frontier:
    """Compute what other k and t would cost and give, on this machine; publishes nothing.

    Parameters
    ----------
    data, policy, progress : as of `release`
    k : whole numbers from 2, or one, optional
        Class sizes to try, in records; around the policy's where not given.
    t : numbers above 0, at most 1, or one, optional
        Distances to try; around the policy's where not given.
    sample : int, optional
        Records to compute on, drawn at random: 20,000 where not given.
    seed : int, optional
        Draws them; the policy's where not given.

    Raises
    ------
    UsageError
        Numbers out of range. Otherwise as `release`.
    """
    with _prepared("frontier", data, policy, None) as resolved:
        with deferred():
            from tclose.assess.frontier import compute_frontier
            from tclose.assess.frontier_grid import make_grid, read_sampling

        try:
            grid = make_grid(resolved, _listed(k), _listed(t))
            size, drawn_by = read_sampling(
                resolved,
                None if sample is None else read_whole(sample, "sample"),
                None if seed is None else read_whole(seed, "seed"),
            )
        except UsageError as error:  # whose words are those of the command's options
            raise UsageError(str(error).replace("--", "")) from None
        return Frontier(compute_frontier(resolved, grid, size, drawn_by, _progress(progress)))


def check(  # noqa: PLR0913 (keywords of what a policy says of attributes)
    data: "Data",
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    *,
    k: SupportsIndex = 5,
    t: float | Mapping[str, float] = 0.1,
    distance: Mapping[str, str] | None = None,
    order: Mapping[str, Sequence[Any]] | None = None,
    taxonomy: Mapping[str, Any] | None = None,
) -> Check:
    """Check k-anonymity and t-closeness of any table, whoever made it.

    Exact over the rows as they are given: whether a class is above t is decided in whole numbers.
    A missing quasi-identifier is a value of its own; no row is left out. The table is read into
    memory.

    Parameters
    ----------
    data : path, pandas.DataFrame, pyarrow.Table or dask.dataframe.DataFrame
        Quasi-identifiers of CSV files are compared as texts; confidential columns have the type
        that a release would give them, by all files.
    quasi : names of the columns that tell classes
    confidential : names of the columns whose distribution is compared
    k : int
        Records that a class has to have, at least.
    t : float, or mapping of names to floats
        Largest earth mover's distance of a class to the whole table, 0 to 1.
    distance : mapping of names to ``ordered``, ``equal`` or ``hierarchical``
        As in a policy: ordered for numbers, dates and booleans, equal for texts.
    order : mapping of names to lists of values, lowest first
    taxonomy : mapping of names to taxonomies, as in a policy

    Returns
    -------
    Check

    Raises
    ------
    UsageError, PolicyError
        What is asked has no meaning.
    DataError
        A column is missing, or has values without a place in their order.
    """
    given = {"distance": distance, "order": order, "taxonomy": taxonomy}
    settings = {key: values for key, values in given.items() if values is not None}
    with _safe("check"):
        return check_data(data, quasi, confidential, k, t, settings)


@contextlib.contextmanager
def _prepared(
    call: str, data: "Data | None", policy: PolicyLike, client: "Client | None"
) -> Iterator[Policy]:
    """The policy with its table and its engine, for the block."""
    with _safe(call), contextlib.ExitStack() as stack:
        if client is not None:
            stack.enter_context(using_client(client))
        staged = None if data is None else stack.enter_context(staged_data(data, client))
        resolved = _read_policy(policy, staged)
        if client is None:
            yield resolved
            return
        if staged is not None:
            _check_seen(staged)
        # Settings of a cluster that there is: nothing of a policy's own engine is started.
        changed = {"scheduler": LOCAL, "tls": None, "workers": sum(client.nthreads().values()) or 1}
        yield resolved.model_copy(update={"engine": resolved.engine.model_copy(update=changed)})


@contextlib.contextmanager
def _safe(call: str) -> Iterator[None]:
    """Raise tclose's own errors: those of others could quote records."""
    try:
        yield
    except Exception as error:
        known = to_safe_error(error, call)
        if known is error:
            raise
        raise known from None


def _read_policy(policy: PolicyLike, staged: Staged | None) -> Policy:
    if isinstance(policy, Policy):
        if staged is None:
            return policy
        document = replace_input(policy.model_dump(include={"input"}), staged)
        settings = type(policy.input).model_validate(document["input"])
        return policy.model_copy(update={"input": settings})
    if isinstance(policy, Mapping):
        document, source = _with_texts(policy), "given"
    elif isinstance(policy, str | os.PathLike):
        document, source = read_document(policy), os.fspath(policy)
    else:
        raise UsageError(
            f"policy: is {name_kind(policy)}; give a Policy, a mapping, or the path of a YAML file"
        )
    if staged is not None and isinstance(document, dict):
        document = replace_input(document, staged)
    return parse_policy(document, source=source)


def _with_texts(value: Any) -> Any:
    """A policy's document with the texts of the paths in it."""
    if isinstance(value, Mapping):
        return {key: _with_texts(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_with_texts(one) for one in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _locate(release: object) -> Location:
    if isinstance(release, Release):
        return release.path
    if not isinstance(release, str | os.PathLike):
        raise UsageError(f"release: is {name_kind(release)}; give a Release, or its folder")
    return parse_location(os.fspath(release))


def _check_seen(staged: Staged) -> None:
    """Refuse workers that do not see the file that a frame is in."""
    if staged.folder is None:
        return
    with connect(user_client_address()) as engine:
        if not engine.sees(staged.folder):
            raise UsageError(
                "data: the client's workers do not share this machine's TMPDIR, in which frames "
                "are handed to them; write it to storage that all share and give the path, or "
                "name a TMPDIR there"
            )


def _progress(shown: bool) -> Progress:
    return Progress(default_style(quiet=not shown), cautions=shown)


def _listed(values: Any) -> str | None:
    """One number or several, as the command's options have them."""
    if values is None or isinstance(values, str):
        return values
    try:
        return ",".join(map(str, values))
    except TypeError:  # it is one
        return str(values)
