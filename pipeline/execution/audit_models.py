"""The further models that a manifest names, bound to the values that the files have."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from pipeline.model import Column, Distribution
from pipeline.stages.grouping import similar_values
from pipeline.stages.requirements import Further, bind, requirement_of
from pipeline.stages.whole_table import check_size


def bind_models(
    models: Sequence[Mapping[str, Any]],
    columns: Sequence[Column],
    distributions: Sequence[Distribution],
    categories: Mapping[str, pa.Array],
) -> Further:
    """What classes have to be checked for.

    Parameters
    ----------
    models : as the manifest's ``privacy.models`` has them
    columns, distributions : of the confidential attributes
    categories : the values of nominal ones in the order of their codes, by name

    Raises
    ------
    ValueError, KeyError, TypeError, PolicyError
        They are no models of these attributes.
    """
    places = {column.name: a for a, column in enumerate(columns)}
    texts = [_texts_of(categories.get(column.name)) for column in columns]
    requirements = []
    for entry in models:
        a = places[entry["attribute"]]
        asked = requirement_of(entry["name"], entry["attribute"], dict(entry["asked"]))
        requirements.append(bind(asked, a, columns[a], distributions[a], texts[a]))
    groupings = map(similar_values, columns, distributions, texts)
    further = Further(tuple(requirements), tuple(groupings))
    check_size(further, max((d.n_records for d in distributions), default=0))
    return further


def _texts_of(values: pa.Array | None) -> list[str]:
    return [] if values is None else [str(value) for value in values.to_pylist()]
