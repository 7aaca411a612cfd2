"""The further models that a manifest names, bound to the values that the files have."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tclose.assess.auditing.misfits import refusing_misfits
from tclose.data.places.untrusted_files import MalformedError
from tclose.model.attributes import Column
from tclose.model.distribution import Distribution
from tclose.privacy.bound_models import PrivacyModels, bind, privacy_model_of
from tclose.privacy.bucket_cuts import MOST_BUCKETS
from tclose.privacy.privacy_model import PrivacyModel
from tclose.privacy.value_groups import similar_values
from tclose.privacy.whole_table import check_size
from tclose.releases.manifest.privacy_sections import Privacy, PrivacyModelResult
from tclose.releases.manifest.public_manifest import Manifest


def bind_models(
    stated: Privacy,
    columns: Sequence[Column],
    distributions: Sequence[Distribution],
    categories: Mapping[str, pa.Array],
) -> PrivacyModels:
    """Bind the models that classes have to be checked for.

    Parameters
    ----------
    stated : as the manifest's ``privacy`` has k and the models, all of them registered
    columns, distributions : of the confidential attributes
    categories : the values of nominal ones in the order of their codes, by name

    Raises
    ------
    MalformedError
        They are no models of these attributes.
    """
    index_of = {column.name: a for a, column in enumerate(columns)}
    texts = [_texts_of(categories.get(column.name)) for column in columns]
    requirements = []
    for entry in stated.models or []:
        requirement = _read(entry, stated.k.asked)
        a = index_of.get(entry.attribute)
        if a is None:
            raise MalformedError("further models of other columns than the confidential ones")
        # Memory goes by the number of buckets, before it is found that values are fewer.
        most = max(MOST_BUCKETS, distributions[a].n_records)
        if isinstance(requirement.buckets, int) and not 2 <= requirement.buckets <= most:
            raise MalformedError("a number of buckets that the rows cannot have")
        with refusing_misfits():
            requirements.append(bind(requirement, a, columns[a], distributions[a], texts[a]))
    with refusing_misfits():
        groupings = tuple(map(similar_values, columns, distributions, texts))
        privacy_models = PrivacyModels(tuple(requirements), groupings)
        check_size(privacy_models, max((d.n_records for d in distributions), default=0))
    return privacy_models


def _read(entry: PrivacyModelResult, k: int) -> PrivacyModel:
    """Read an entry as an unbound model."""
    requirement = privacy_model_of(entry.name, entry.attribute, entry.asked, k)
    if requirement is None:
        raise MalformedError("further models with other parameters")
    return requirement


def _texts_of(values: pa.Array | None) -> list[str]:
    return [] if values is None else [str(value) for value in values.to_pylist()]


def is_earlier(manifest: Manifest, dictionary: str) -> bool:
    """Return whether a manifest is older than the measures of further models and attacks.

    An edited one from which they were taken out is none: it says so by its format, by what is left
    of them, or by the data dictionary that was made of it.
    """
    says_models = manifest.privacy.models is not None or "\n| models |" in dictionary
    return manifest.format == 1 and manifest.risk is None and not says_models
