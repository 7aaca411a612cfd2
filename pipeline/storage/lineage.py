"""Lineage as OpenLineage events: what was read, what was made of which column, how it ended.

No statistics of the input are given: the facet made for them would publish raw extremes.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

import pipeline
from pipeline.model import Role, Verdict
from pipeline.settings import Policy

PRODUCER = f"urn:tclose:{pipeline.__version__}"
JOB_NAMESPACE = "tclose"
Columns = Sequence[Mapping[str, Any]]
PRIVACY_SCHEMA = "urn:tclose:schema:PrivacyDatasetFacet:1"


@dataclass
class Lineage:
    """The events of one run, in order, as JSON lines."""

    policy: Policy
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    lines: list[str] = field(default_factory=list)

    def start(self, schema: pa.Schema | None = None) -> None:
        """The run has begun."""
        _name_producer()
        self._emit("START", inputs=[self._input(schema)], outputs=[])

    def complete(
        self,
        schema: pa.Schema,
        release_id: str,
        verdict: Verdict,
        released: Columns,
        n_bytes: int,
        n_files: int,
    ) -> None:
        """The run has published: ``released``: its columns, as the manifest describes them."""
        _name_producer()
        output = self._output(release_id, verdict, released, n_bytes, n_files)
        self._emit("COMPLETE", inputs=[self._input(schema)], outputs=[output])

    def fail(self, message: str) -> None:
        """The run has ended without a release."""
        from openlineage.client.facet_v2 import error_message_run

        _name_producer()
        facet = error_message_run.ErrorMessageRunFacet(message, "PYTHON")
        self._emit("FAIL", inputs=[self._input(None)], outputs=[], errorMessage=facet)

    def _emit(self, kind: str, *, inputs: list[Any], outputs: list[Any], **facets: Any) -> None:
        from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
        from openlineage.client.facet_v2 import job_type_job
        from openlineage.client.serde import Serde

        job_type = job_type_job.JobTypeJobFacet("BATCH", "TCLOSE", "JOB")
        event = RunEvent(
            eventTime=datetime.now(UTC).isoformat(),
            producer=PRODUCER,
            eventType=RunState[kind],
            run=Run(self.run_id, facets),
            job=Job(JOB_NAMESPACE, self.policy.name, {"jobType": job_type}),
            inputs=inputs,
            outputs=outputs,
        )
        self.lines.append(Serde.to_json(event))

    @property
    def _source(self) -> tuple[str, str]:
        """Namespace and name of the input: scheme and host of a URL, or an absolute path."""
        place = urlsplit(self.policy.input.path)
        if place.scheme in ("", "file"):
            return "file", str(Path(place.path).absolute())
        return f"{place.scheme}://{place.hostname or ''}", place.path

    def _input(self, schema: pa.Schema | None) -> Any:
        from openlineage.client.event_v2 import InputDataset

        facets = {"schema": _schema_facet(_types(schema))} if schema is not None else {}
        return InputDataset(*self._source, facets=facets)

    def _output(
        self,
        release_id: str,
        verdict: Verdict,
        released: Columns,
        n_bytes: int,
        n_files: int,
    ) -> Any:
        from openlineage.client.event_v2 import OutputDataset
        from openlineage.client.facet_v2 import (
            dataset_version_dataset,
            output_statistics_output_dataset,
        )

        facets = {
            "schema": _schema_facet({column["name"]: column["type"] for column in released}),
            "columnLineage": self._column_lineage(released),
            "version": dataset_version_dataset.DatasetVersionDatasetFacet(release_id),
            "tclose_privacy": _privacy_facet(verdict, self.policy),
        }
        statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            verdict.n_records, n_bytes, n_files
        )
        name = str(Path(self.policy.output.path).absolute() / self.policy.name)
        return OutputDataset("file", name, {"outputStatistics": statistics}, facets=facets)

    def _column_lineage(self, released: Columns) -> Any:
        from openlineage.client.facet_v2 import column_lineage_dataset as facet

        fields = {}
        for column in released:
            subtype = _subtype(column)
            change = facet.Transformation(
                type="DIRECT",
                subtype=subtype,
                description=column["treatment"],
                masking=subtype != "IDENTITY",
            )
            source = facet.InputField(*self._source, column["name"], [change])
            fields[column["name"]] = facet.Fields([source])
        return facet.ColumnLineageDatasetFacet(fields)

    def as_bytes(self) -> bytes:
        """All events, one JSON document a line."""
        return "".join(f"{line}\n" for line in self.lines).encode()


def _subtype(column: Mapping[str, Any]) -> str:
    """What was done to a column, in OpenLineage's words."""
    if column["role"] == Role.QUASI_IDENTIFIER:
        return "AGGREGATION"
    return "TRANSFORMATION" if column.get("noised") or column.get("bucketed") else "IDENTITY"


def _name_producer() -> None:
    from openlineage.client.facet_v2 import set_producer

    set_producer(PRODUCER)


def _types(schema: pa.Schema) -> dict[str, str]:
    return {column.name: str(column.type) for column in schema}


def _schema_facet(types: Mapping[str, str]) -> Any:
    from openlineage.client.facet_v2 import schema_dataset as facet

    return facet.SchemaDatasetFacet(
        [facet.SchemaDatasetFacetFields(name, dtype) for name, dtype in types.items()]
    )


def _privacy_facet(verdict: Verdict, policy: Policy) -> Any:
    import attr
    from openlineage.client.facet_v2 import DatasetFacet

    @attr.define
    class PrivacyDatasetFacet(DatasetFacet):
        """k, t and joint t asked and achieved, by what method, with what verdict."""

        method: str
        verdict: str
        k: dict[str, int]
        t: dict[str, dict[str, float]]
        joint: list[dict[str, Any]]

        @staticmethod
        def _get_schema() -> str:
            return PRIVACY_SCHEMA

    t = {
        result.name: {"asked": float(result.max_emd), "largestEmd": result.largest_emd}
        for result in verdict.attributes
    }
    combined = policy.combine_attributes()
    joint = [{"attributes": list(a.combines)} | t.pop(a.name) for a in combined]
    k = {"asked": verdict.k, "achieved": verdict.sizes.smallest}
    passed = "pass" if verdict.passed else "fail"
    return PrivacyDatasetFacet(policy.method.name, passed, k, t, joint)
