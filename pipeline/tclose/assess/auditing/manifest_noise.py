"""Noise in an audit: what the manifest says was drawn, beside the rows that hold it.

What was drawn cannot be told from the rows. What can be: that every value is one that the noise
gives, and the t that epsilon gives classes of these sizes (Domingo-Ferrer and Soria-Comas 2015,
Proposition 1).
"""

from collections.abc import Sequence
from fractions import Fraction
from math import inf

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.assess.auditing.file_checks import open_checked
from tclose.assess.auditing.misfits import refusing_misfits
from tclose.data.arrow_errors import refusing_arrow
from tclose.data.keys import from_keys, is_text, to_keys, widen_decimals
from tclose.data.listed_values import read_listed
from tclose.data.places.locations import Location
from tclose.data.places.untrusted_files import MalformedError
from tclose.methods.dp.dp_confidential import NoiseGrid
from tclose.model.counted_words import count_words
from tclose.model.verification import ClassSizes
from tclose.passes.publish.describe_privacy import state_closeness
from tclose.releases.manifest.privacy_sections import NoiseResult
from tclose.releases.manifest.privacy_summary import find_differences
from tclose.releases.manifest.public_manifest import Manifest

Noises = dict[str, NoiseResult]


def measure_noise(manifest: Manifest, n_records: int, sizes: ClassSizes) -> Noises:
    """Read the manifest's noise of each column, with the t that it gives these classes.

    Raises
    ------
    MalformedError
        It says it of other columns than those with noise, or of no records.
    """
    noises = manifest.noise
    if set(noises) != {column.name for column in manifest.columns if column.noised}:
        raise MalformedError("noise on other columns than those that have it")
    if noises and not n_records:
        raise MalformedError("noise on no records")
    return {
        name: noise.model_copy(
            update={"stochastic_t": state_closeness(Fraction(str(noise.epsilon)), n_records, sizes)}
        )
        for name, noise in noises.items()
    }


def compare_noise(manifest: Manifest, measured: Noises, paths: list[Location]) -> list[str]:
    """List the manifest's entries on noise that differ from the rows.

    Raises
    ------
    MalformedError
        What it says is no noise.
    """
    places = find_differences(manifest.noise, measured, "noise")
    findings = [f"manifest.json: {place} differs from what the rows say" for place in places]
    for name, noise in measured.items():
        limit = inf if noise.asked_t is None else noise.asked_t
        achieved = noise.stochastic_t
        if not achieved <= limit:
            what = f"stochastic t of {name}"
            findings.append(f"{what}: asked at most {limit:g}, found {achieved:.6f}")
        n_others = sum(_count_others(_read_column(path, name), noise) for path in paths)
        if n_others:
            rows = count_words(n_others, "row has a value", "rows have values")
            findings.append(f"noise on {name}: {rows} that it does not give")
    return findings


def _read_column(path: Location, name: str) -> pa.Array:
    with open_checked(path) as file:
        is_listed = is_text(file.schema.field(name).type)
    with open_checked(path, [name] if is_listed else []) as file:
        return file.read([name])[name].combine_chunks()


def _count_others(values: pa.Array, noise: NoiseResult) -> int:
    """Rows whose value is not on the grid, or not in the list, that the noise was drawn on."""
    if noise.low is None or noise.high is None:
        encoded = widen_decimals(values).dictionary_encode()
        listed = _read_listed(noise.values, encoded.dictionary.type)
        known = pc.is_in(encoded.dictionary, listed).to_numpy(zero_copy_only=False)
        rows = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
        return int(np.count_nonzero(~np.append(known, False)[rows]))
    with refusing_misfits():
        grid = NoiseGrid(*map(_to_fraction, (noise.low, noise.high, noise.step)))
        keys = to_keys(values, "noise")
    given = grid.to_values(grid.to_steps(keys))
    if pa.types.is_float32(values.type):  # which holds the grid's values less exactly
        given = to_keys(from_keys(given, values.type), "noise")
    return int(np.count_nonzero(given != keys))


def _to_fraction(number: float) -> Fraction:
    """The number that was asked: 0.1 is what it reads as, a whole one what it is."""
    return Fraction(number) if number == int(number) else Fraction(str(number))


def _read_listed(values: Sequence[str | int | float], dtype: pa.DataType) -> pa.Array:
    refusal = MalformedError("noise among values that are none of its column")
    with refusing_arrow(refusal):  # the manifest's, which anybody may have written
        return read_listed([str(value) for value in values], dtype)
