"""Facets of lineage events: schemas, what became of each column, and what privacy was reached."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tclose.model.column_terms import Role
from tclose.model.verification import Verdict
from tclose.policy.policy import Policy
from tclose.releases.manifest.privacy_summary import describe_models
from tclose.releases.manifest.sections import ReleasedColumn

if TYPE_CHECKING:
    from openlineage.client.facet_v2 import (
        DatasetFacet,
        column_lineage_dataset,
        schema_dataset,
    )

PRIVACY_SCHEMA = "urn:tclose:schema:PrivacyDatasetFacet:1"  # schemas/PrivacyDatasetFacet.json
Columns = Sequence[ReleasedColumn]


def schema_of(schema: pa.Schema) -> "schema_dataset.SchemaDatasetFacet":
    """The schema facet of a table."""
    return _schema_facet({column.name: str(column.type) for column in schema})


def schema_of_columns(columns: Columns) -> "schema_dataset.SchemaDatasetFacet":
    """The schema facet of columns as the manifest describes them."""
    return _schema_facet({column.name: column.type for column in columns})


def _schema_facet(types: Mapping[str, str]) -> "schema_dataset.SchemaDatasetFacet":
    from openlineage.client.facet_v2 import schema_dataset as facet

    return facet.SchemaDatasetFacet(
        [facet.SchemaDatasetFacetFields(name, dtype) for name, dtype in types.items()]
    )


def column_lineage(
    columns: Columns, source: tuple[str, str]
) -> "column_lineage_dataset.ColumnLineageDatasetFacet":
    """Return the columns that each released column is made of, and whether that masks them."""
    from openlineage.client.facet_v2 import column_lineage_dataset as facet

    fields = {}
    for column in columns:
        subtype = _subtype(column)
        change = facet.Transformation(
            type="DIRECT",
            subtype=subtype,
            description=column.treatment,
            masking=subtype != "IDENTITY",
        )
        fields[column.name] = facet.Fields([facet.InputField(*source, column.name, [change])])
    return facet.ColumnLineageDatasetFacet(fields)


def _subtype(column: ReleasedColumn) -> str:
    """Return the transformation of a column, in OpenLineage's words."""
    if column.role is Role.QUASI_IDENTIFIER:
        return "AGGREGATION"
    return "TRANSFORMATION" if column.noised or column.bucketed else "IDENTITY"


def privacy(verdict: Verdict, policy: Policy) -> "DatasetFacet":
    """The facet of tclose's own: what was asked and what was reached."""
    import attr
    from openlineage.client.facet_v2 import DatasetFacet

    @attr.define
    class PrivacyDatasetFacet(DatasetFacet):
        """k, t, joint t and further models asked and reached, by what method, the verdict."""

        method: str
        verdict: str
        k: dict[str, int]
        t: dict[str, dict[str, float]]
        joint: list[dict[str, Any]]
        models: list[dict[str, Any]]

        @staticmethod
        def _get_schema() -> str:
            return PRIVACY_SCHEMA

    t = {
        result.name: {"asked": float(result.max_emd), "largestEmd": result.largest_emd}
        for result in verdict.attributes
    }
    joint: list[dict[str, Any]] = [
        {"attributes": list(a.combines)} | t.pop(a.name) for a in policy.combine_attributes()
    ]
    return PrivacyDatasetFacet(
        method=policy.method.name,
        verdict="pass" if verdict.passed else "fail",
        k={"asked": verdict.k, "achieved": verdict.sizes.smallest},
        t=t,
        joint=joint,
        models=[model.to_json() for model in describe_models(verdict)],
    )
