"""The method sabre: buckets of near confidential values, classes with a share of each."""

from typing import TYPE_CHECKING, ClassVar, Literal

from tclose.data.keys import Encoding
from tclose.data.taxonomy import taxonomy_of
from tclose.errors import PolicyError
from tclose.methods.method import Method, MethodContext
from tclose.methods.method_registry import register_method
from tclose.model.column_terms import Distance

if TYPE_CHECKING:
    from tclose.methods.clustering_problem import Clustering, ClusteringProblem
    from tclose.methods.sabre.split_buckets import MakeBuckets


@register_method
class Sabre(Method):
    """Classes within t of a whole table with one confidential attribute."""

    generalises: ClassVar[bool] = True
    whole_table: ClassVar[bool] = True
    refines: ClassVar[bool] = False
    without_joint: ClassVar[str] = "works with one confidential attribute"

    name: Literal["sabre"] = "sabre"

    def check(self, context: MethodContext, /) -> None:
        """Refuse several confidential attributes, and tables that are cut."""
        _check_whole(len(context.confidential), is_cut=context.is_cut)

    def make_classes(self, problem: "ClusteringProblem") -> "Clustering":
        """Classes with their share of each bucket."""
        from tclose.methods.clustering_problem import Clustering
        from tclose.methods.sabre.sabre import partition_sabre

        n_table = problem.distributions[0].n_records if problem.distributions else 0
        _check_whole(len(problem.distributions), is_cut=problem.codes.shape[1] != n_table)
        labels = partition_sabre(
            (problem.scaled.numeric, problem.scaled.nominal, problem.scaled.weights),
            problem.codes[0],
            problem.distributions[0],
            k=problem.k,
            max_emd=problem.max_emds[0],
            make_buckets=_bucket_rule(problem.confidential[0]),
        )
        return Clustering(labels)


def _bucket_rule(encoding: Encoding) -> "MakeBuckets":
    from tclose.methods.sabre.split_buckets import equal_buckets, ordered_buckets
    from tclose.methods.sabre.tree_buckets import hierarchical_buckets

    distance = encoding.column.distance
    if distance is Distance.ORDERED:
        return ordered_buckets
    if distance is Distance.EQUAL:
        return equal_buckets
    taxonomy = taxonomy_of(encoding.column.attribute.taxonomy)
    leaves = taxonomy.encode(encoding.texts, encoding.column.name)
    return hierarchical_buckets(taxonomy.levels[:, leaves])


def _check_whole(n_confidential: int, *, is_cut: bool) -> None:
    """Refuse what sabre cannot take: it works with one attribute of a whole table.

    Raises
    ------
    PolicyError
    """
    if n_confidential != 1:
        raise PolicyError(
            "method.name: sabre works with one confidential attribute, the policy has "
            f"{n_confidential}; take t-closeness-first or mondrian"
        )
    if is_cut:
        raise PolicyError(
            "method.name: sabre makes classes of the whole table, output.partition_by cuts it "
            "into parts that must not mix; take t-closeness-first or mondrian"
        )
