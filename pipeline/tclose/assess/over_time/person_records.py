"""The records that a release was made of: who they are about, and in which class each one is.

Quasi-identifiers and persons are what the intruder knows. The classes are known to the one who
measures, who has the originals: the release is made again in a private scratch folder with the
column of persons carried along, and only if that gives the rows of the release are they used. Of a
release of a series they are those of its register.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.assess.complete_records import read_complete
from tclose.assess.linking import read_verified_rows
from tclose.assess.originals import WHOLE, gives_rows_of
from tclose.assess.over_time.published import Published
from tclose.assess.over_time.registered_rows import find_registered
from tclose.assess.over_time.series_promise import read_section
from tclose.assess.sample import local_sample
from tclose.data.encodings import make_encoding
from tclose.data.keys import Encoding
from tclose.errors import DataError, PolicyError, UsageError, suggest
from tclose.model.array_types import Int64
from tclose.model.column_terms import Role
from tclose.model.counted_words import count_words
from tclose.passes.plan.plan import PLAN
from tclose.passes.release import TRIAL
from tclose.passes.summarise.input_summary import InputSummary
from tclose.policy.policy import Policy
from tclose.policy.sections.attribute_settings import AttributeSettings
from tclose.runtime.artifacts.arrays import column_array
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import run_pipeline
from tclose.runtime.run import Run

_ANOTHER = "record is about a person who has", "records are about persons who have"


@dataclass(frozen=True, eq=False)
class PersonRecords:
    """Complete records of a policy's input.

    ``persons``: whom each record is about, texts (n,); ``table``: quasi-identifiers and
    confidential values; ``encodings``: of the quasi-identifiers; ``person_of_row``: whom each row
    of the release is about, texts, or None where that is not known.
    """

    persons: pa.Array
    table: pa.Table
    encodings: tuple[Encoding, ...]
    person_of_row: pa.Array | None


def read_person_records(
    policy: Policy, person: str | None, published: Published, progress: Progress
) -> PersonRecords:
    """Read the originals of a release, and make it again if tclose made it.

    Parameters
    ----------
    person : the column that says whom a record is about, or None for that of role person

    Raises
    ------
    TcloseError
        Whatever a run of the policy would be refused for; a column of persons that is of no use.
    """
    person = _find_person(policy, person)
    summary, table = read_complete(_carry_persons(policy, person), "attack", [person], progress)
    persons = _as_texts(table[person], person, published.place)
    _check_single(persons, published.place)  # before the release is made again
    if published.manifest is None:
        return PersonRecords(persons, table, _make_encodings(summary), None)
    if read_section(published) is not None:
        column = next(c for c in summary.source.columns if c.name == person)
        encodings = _make_encodings(summary)
        records = find_registered(policy, published, table, column)
    else:
        encodings, records = _make_again(policy, published, progress)
    of_rows = None if records is None else persons.take(pa.array(records))
    return PersonRecords(persons, table, encodings, of_rows)


def _find_person(policy: Policy, person: str | None) -> str:
    """The column of persons: the one that is named, or that of the role.

    Raises
    ------
    UsageError, PolicyError
    """
    if person is None:
        columns = [
            name for name, settings in policy.attributes.items() if settings.role == "person"
        ]
        if not columns:
            raise UsageError(
                "--person is missing: name the column that says whom a record is about"
            )
        return columns[0]
    settings = policy.attributes.get(person)
    if settings is None:
        raise PolicyError(
            f"--person {person}: the policy has no such column{suggest(person, policy.attributes)}"
        )
    if settings.role in (Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL):
        raise PolicyError(
            f"--person {person}: is a {settings.role} column; name the identifier that says whom a "
            "record is about"
        )
    return person


def _carry_persons(policy: Policy, person: str) -> Policy:
    """The policy with the column of persons passed through."""
    passed = policy.attributes | {person: AttributeSettings(role=Role.NON_CONFIDENTIAL)}
    return policy.model_copy(update={"attributes": passed})


def _make_encodings(summary: InputSummary) -> tuple[Encoding, ...]:
    """Encodings of the quasi-identifiers."""
    return tuple(
        make_encoding(column, summary.table.columns[column.name])
        for column in summary.source.columns
        if column.role is Role.QUASI_IDENTIFIER
    )


def _make_again(
    policy: Policy, published: Published, progress: Progress
) -> tuple[tuple[Encoding, ...], Int64 | None]:
    """Encodings of the plan, and which record each row of the release is, if that is found."""
    release, manifest = published.release, published.manifest
    assert release is not None
    assert manifest is not None
    with local_sample(policy, "attack", WHOLE, policy.seed, progress) as (sample, engine):
        run = Run(sample.policy, "attack", sample.path.parent / "work", engine)
        run_pipeline(TRIAL, run, progress)
        encodings = run.workspace.load(PLAN).encodings
        if not gives_rows_of(run, sample, release, manifest):
            return encodings, None
        numbers = [column_array(rows, sample.number) for rows in read_verified_rows(run)]
        return encodings, np.concatenate(numbers)


def _check_single(persons: pa.Array, place: str) -> None:
    """Refuse several records of one person.

    Raises
    ------
    DataError
    """
    n_more = len(persons) - pc.count_distinct(persons).as_py()
    if n_more:
        raise DataError(
            f"originals of {place}: {count_words(n_more, *_ANOTHER)} another one; the "
            "attack is on panels, with one record for each person in a release"
        )


def _as_texts(values: pa.ChunkedArray, person: str, place: str) -> pa.Array:
    """Persons as texts, which compare over releases.

    Raises
    ------
    DataError
        Missing values, or no type to tell persons by.
    """
    joined = values.combine_chunks()
    if joined.null_count:
        raise DataError(
            f"originals of {place}: column {person!r} has "
            f"{count_words(joined.null_count, 'missing value')}; "
            "leave these records out, or say whom they are about"
        )
    try:
        return pc.cast(joined, pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"originals of {place}: column {person!r} cannot be compared; make it text or integers"
        ) from None
