"""Persons of the rows of a release of a series, by its register, where that is at hand.

The classes of such a release depend on those before it, so it is not made again. Its register has
the rows in the order of the released ones. Confidential values are compared with those of the
originals: a register of other rows, or of other persons, is not used.
"""

import numpy as np
import pyarrow as pa

from tclose.assess.over_time.published import Published
from tclose.errors import TcloseError
from tclose.model.array_types import Int64
from tclose.model.attributes import Column
from tclose.passes.persons.named_key import find_person_key
from tclose.passes.persons.person_keys import hash_persons
from tclose.passes.series.series_cells import number_hashes
from tclose.policy.policy import Policy
from tclose.releases.repository.contents import find_key, read_internal
from tclose.releases.series.register_file import load_register
from tclose.releases.series.series_history import SeriesRelease


def find_registered(
    policy: Policy, published: Published, table: pa.Table, person: Column
) -> Int64 | None:
    """Find the record of a table that each row of a release is: int64 (rows,); None if unknown.

    Parameters
    ----------
    table : complete records with the person and the confidential values of each
    """
    assert published.release is not None
    internal = read_internal(published.release)
    key = find_person_key(policy, find_key(published.release))
    if internal is None or internal.over_time is None or key is None:
        return None
    try:
        register = load_register(SeriesRelease(published.release, internal.over_time))
    except TcloseError:
        return None
    hashes, places = hash_persons(table, person, key)
    n_persons, (of_rows, of_hashes) = number_hashes([register.hashes, hashes])
    record_of = np.full(n_persons, -1, dtype=np.int64)
    record_of[of_hashes[places]] = np.arange(len(table))
    records: Int64 = record_of[of_rows]
    if records.size != len(published.confidential) or (records < 0).any():
        return None
    return records if _have_values(published.confidential, table, records) else None


def _have_values(released: pa.Table, table: pa.Table, records: Int64) -> bool:
    """Return whether the records have the confidential values of the rows."""
    names = released.column_names
    taken = table.select(names).take(pa.array(records)).combine_chunks()
    theirs = released.cast(taken.schema).combine_chunks()
    return bool(taken.equals(theirs))
