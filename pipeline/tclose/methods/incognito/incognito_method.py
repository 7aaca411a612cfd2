"""The method incognito: every value of an attribute at one level of its hierarchy."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from tclose.data.keys import Encoding, Keys
from tclose.methods.generalisation.full_domain import FullDomain, Holds, height_of, make_hierarchy
from tclose.methods.method import Method, MethodContext
from tclose.methods.method_registry import register_method

if TYPE_CHECKING:
    from tclose.methods.clustering_problem import Clustering, ClusteringProblem


@register_method
class Incognito(Method):
    """Full-domain generalisation at the least general levels that meet what is asked."""

    generalises: ClassVar[bool] = True
    whole_table: ClassVar[bool] = True
    refines: ClassVar[bool] = False
    uses_intervals: ClassVar[bool] = True

    name: Literal["incognito"] = "incognito"

    def check(self, context: MethodContext, /) -> None:
        """Refuse hierarchies that do not fit the attributes, and too many combinations of them."""
        check_hierarchies(context.quasi)

    def make_classes(self, problem: "ClusteringProblem") -> "Clustering":
        """Classes of equal values at the chosen levels."""
        from tclose.methods.clustering_problem import Clustering

        chosen = generalise_fully(problem.encodings, problem.keys, problem.holds)
        return Clustering(chosen.labels, chosen)


def generalise_fully(encodings: tuple[Encoding, ...], keys: list[Keys], holds: Holds) -> FullDomain:
    """The least general levels at which every class meets the requirements, by Incognito.

    Parameters
    ----------
    keys : of each quasi-identifier (n,)
    holds : takes records class by class and says which classes meet the requirements
    """
    from tclose.methods.clustering_problem import label_records
    from tclose.methods.incognito.lattice_search import find_generalisations

    distinct: list[Any] = [np.unique(column) for column in keys]
    hierarchies = tuple(
        make_hierarchy(e, column) for e, column in zip(encodings, distinct, strict=True)
    )
    codes = np.array(
        [np.searchsorted(h.keys, column) for h, column in zip(hierarchies, keys, strict=True)]
    )
    result = find_generalisations(codes, [h.tables for h in hierarchies], holds)
    labels = label_records(result.classes.order, result.classes.starts)
    return FullDomain(result.chosen, labels, hierarchies)


def check_hierarchies(encodings: Sequence[Encoding]) -> None:
    """Refuse hierarchies that the quasi-identifiers of a table cannot be generalised over.

    Raises
    ------
    PolicyError, DataError
        Intervals that do not fit the attribute, which is named; too many combinations of levels.
    """
    from tclose.methods.incognito.lattice_search import check_combinations

    check_combinations([height_of(encoding) + 1 for encoding in encodings])
