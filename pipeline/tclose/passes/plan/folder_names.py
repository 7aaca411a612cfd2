"""Checks that values of partition columns can be names of folders."""

from typing import Any, cast

import numpy as np

from tclose.data.keys import FOLDER_TYPES, Encoding, folder_name
from tclose.errors import PolicyError
from tclose.methods.generalisation.notation import spell_keys

MAX_FOLDER_BYTES = 255


def check_folders(encodings: dict[str, Encoding], partition_by: tuple[str, ...]) -> None:
    """Refuse partition columns whose values cannot name folders, or would read back as others.

    Raises
    ------
    PolicyError
    """
    for name in partition_by:
        encoding = encodings[name]
        if encoding.release_type not in FOLDER_TYPES:
            raise PolicyError(
                f"output.partition_by: column {name!r} of type {encoding.release_type} cannot "
                "name folders; use text, integer, boolean or date"
            )
        folders = [folder_name(name, value) for value in _list_values(encoding)]
        unfit = [f for f in folders if len(f.encode()) > MAX_FOLDER_BYTES or f in _unfit(name)]
        if unfit or len({folder.casefold() for folder in folders}) < len(folders):
            raise PolicyError(
                f"output.partition_by: column {name!r} has values that cannot name folders (empty, "
                f"over {MAX_FOLDER_BYTES} bytes, reserved, or alike but for case); take another"
            )


def _list_values(encoding: Encoding) -> list[Any]:
    """The values that there are; of numbers and dates the ends of their range.

    Raises
    ------
    PolicyError
        Dates are beyond those that have a name.
    """
    if encoding.categories is not None:
        return cast(list[Any], encoding.categories.to_pylist())
    ends = np.unique([encoding.low, encoding.high])
    try:
        return cast(list[Any], encoding.decode_values(ends).to_pylist())
    except (ValueError, OverflowError):
        raise PolicyError(
            f"output.partition_by: column {encoding.column.name!r} has dates that are too early or "
            "too late to name folders; take another, or correct them"
        ) from None


def check_set_folders(quasi: list[Encoding], partition_by: tuple[str, ...]) -> None:
    """Refuse nominal partition columns whose sets of values could be too long for a folder.

    Raises
    ------
    PolicyError
    """
    for encoding in quasi:
        name = encoding.column.name
        is_set = encoding.is_nominal and not encoding.column.attribute.taxonomy
        if name not in partition_by or not is_set:
            continue
        largest = "{" + ", ".join(spell_keys(encoding, np.arange(len(encoding.texts)))) + "}"
        if len(folder_name(name, largest).encode()) > MAX_FOLDER_BYTES:
            raise PolicyError(
                f"output.partition_by: column {name!r} is released as sets of values, which can be "
                f"too long to name folders (over {MAX_FOLDER_BYTES} bytes); give it a taxonomy, or "
                "take another"
            )


def _unfit(name: str) -> tuple[str, str]:
    """Explain a name that a reader takes for a missing value."""
    return folder_name(name, ""), folder_name(name, "__HIVE_DEFAULT_PARTITION__")
