"""The method bucketization: classes within a ratio of the table in every bucket.

Domingo-Ferrer and Soria-Comas 2015.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from tclose.data.keys import Encoding
from tclose.errors import PolicyError
from tclose.methods.generalisation.value_buckets import Bucketing, bucketize
from tclose.methods.method import Method, MethodContext
from tclose.methods.method_registry import register_method
from tclose.model.distribution import Distribution
from tclose.model.setting_fields import refuse_truth
from tclose.privacy.bucket_cuts import MOST_BUCKETS
from tclose.privacy.class_counts import group_table
from tclose.privacy.models.ratio_model import RATIO_CLOSENESS
from tclose.privacy.privacy_model import PrivacyModel

if TYPE_CHECKING:
    from tclose.methods.clustering_problem import Clustering, ClusteringProblem


@register_method
class Bucketization(Method):
    """Classes of records from each bucket, which is released, or its values are."""

    whole_table: ClassVar[bool] = True
    refines: ClassVar[bool] = False
    cuts_buckets: ClassVar[bool] = True
    without_joint: ClassVar[str] = "works with one confidential attribute"

    name: Literal["bucketization"] = "bucketization"
    buckets: Annotated[int, Field(ge=2)] | None = Field(
        default=None,
        description="Of bucketization: how many; as many as ratio allows by default.",
        examples=[6],
    )
    ratio: Annotated[float, Field(gt=1), BeforeValidator(refuse_truth)] | None = Field(
        default=None,
        description="Of bucketization: how many times as common a bucket may be in a class as in "
        "the table, or the other way round, at most.",
        examples=[2],
    )
    release: Literal["bucket", "value"] = Field(
        default="bucket",
        description="Of bucketization: the confidential attribute is released as its bucket, or as "
        "it is; the ratio then holds for buckets only, and there is no epsilon.",
    )

    @model_validator(mode="after")
    def _check_ratio(self) -> "Bucketization":
        if self.ratio is None:
            raise ValueError("bucketization needs its ratio, as in ratio: 2")
        return self

    @property
    def limit(self) -> Fraction:
        """The ratio, exactly as it is written."""
        return Fraction(str(self.ratio))

    @property
    def releases_buckets(self) -> bool:
        """True if the confidential attribute is released as its buckets."""
        return self.release == "bucket"

    def require_models(self, confidential: Iterable[str], /) -> tuple[PrivacyModel, ...]:
        """Ratio closeness of the buckets."""
        of_values = not self.releases_buckets
        return tuple(
            PrivacyModel(RATIO_CLOSENESS, name, self.limit, of_values=of_values)
            for name in confidential
        )

    def cut_buckets(
        self,
        confidential: Sequence[Encoding],
        read: Callable[[], Distribution],
        k: int,
        *,
        is_cut: bool,
    ) -> Bucketing:
        """The buckets of the one confidential attribute."""
        from tclose.methods.bucketization.bucketization import RatioDemand

        if len(confidential) != 1 or is_cut:
            raise PolicyError(
                "method.name: bucketization works with one confidential attribute of the whole "
                "table; give one, and no partition columns that are released as they are"
            )
        demand, distribution = RatioDemand(k, self.limit, self.buckets), read()
        # More buckets than records are cut at the same ranks, and audits would not believe them.
        n_buckets = min(demand.wanted_buckets, max(MOST_BUCKETS, distribution.n_records))
        return bucketize(confidential[0], distribution, n_buckets, demand.t)

    def check(self, context: MethodContext, /) -> None:
        """Refuse a ratio that no classes of k records are within."""
        from tclose.methods.bucketization.plan_counts import plan_counts

        if context.bucketing is not None:
            plan_counts(context.bucketing.sizes, context.k, context.bucketing.ratio)

    def make_classes(self, problem: "ClusteringProblem") -> "Clustering":
        """Classes filled from the buckets."""
        from tclose.methods.bucketization.bucketization import RatioDemand, fill_from_buckets
        from tclose.methods.clustering_problem import Clustering

        buckets, sizes = problem.codes[0], problem.distributions[0].counts
        if problem.bucket_of is not None:
            buckets, sizes = problem.bucket_of[buckets], group_table(sizes, problem.bucket_of)
        labels = fill_from_buckets(
            problem.scaled.numeric,
            problem.scaled.nominal,
            buckets,
            sizes,
            RatioDemand(problem.k, self.limit),
            problem.scaled.weights,
            problem.scaled.heights,
        )
        return Clustering(labels)
