"""Lineage as OpenLineage events: what was read, what was made of which column, how it ended.

No statistics of the input are given: the facet made for them would publish raw extremes.
"""

import json
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa

from tclose.model.verification import Verdict
from tclose.package import VERSION
from tclose.policy.policy import Policy
from tclose.releases.lineage import facets
from tclose.releases.provenance import source_digest
from tclose.security.redaction import redact_place

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent

PRODUCER = f"urn:tclose:{VERSION}"
JOB_NAMESPACE = "tclose"
PARENT = ("prefect", "release")  # namespace and name of the flow that may be a run's parent
LAST = ("COMPLETE", "FAIL", "ABORT")


def import_client() -> None:
    """Import what events are made of, where that is waited for beside something else."""
    import openlineage.client.event_v2  # noqa: F401


@dataclass
class Lineage:
    """The events of one run, in order: as JSON lines, and those that nobody was told of yet.

    ``input_version``: names the input's content, and confirms no guess of it. ``parent``: the
    Prefect flow run that this run is a part of, if there is one.
    """

    policy: Policy
    input_version: str
    parent: str | None = None
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    lines: list[str] = field(default_factory=list)
    has_ended: bool = False
    emitted_at: float = field(default_factory=time.monotonic)
    pending: list[Any] = field(default_factory=list, metadata={"kept": False})

    def start(self, schema: pa.Schema) -> None:
        """The run has begun."""
        self._emit("START", inputs=[self._input(schema)])

    def heartbeat(self) -> None:
        """The run goes on."""
        self._emit("RUNNING", inputs=[self._input()])

    def complete(
        self,
        schema: pa.Schema,
        release_id: str,
        verdict: Verdict,
        released: facets.Columns,
        n_bytes: int,
        n_files: int,
    ) -> None:
        """The run has published: ``released``: its columns, as the manifest describes them."""
        _name_producer()
        output = self._output(release_id, verdict, released, n_bytes, n_files)
        self._emit("COMPLETE", inputs=[self._input(schema)], outputs=[output])

    def fail(self, message: str) -> None:
        """The run has ended without a release."""
        self._emit("FAIL", inputs=[self._input()], message=message)

    def abort(self, message: str) -> None:
        """The run was interrupted."""
        self._emit("ABORT", inputs=[self._input()], message=message)

    def recall(self) -> None:
        """Make the last event, as it was kept, one that nobody was told of."""
        self.pending = [_restore(self.lines[-1])]

    def _emit(
        self, kind: str, *, inputs: list[Any], outputs: list[Any] | None = None, message: str = ""
    ) -> None:
        from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
        from openlineage.client.facet_v2 import job_type_job
        from openlineage.client.serde import Serde

        _name_producer()
        job_type = job_type_job.JobTypeJobFacet("BATCH", "TCLOSE", "JOB")
        self.emitted_at = time.monotonic()
        event = RunEvent(
            eventTime=datetime.now(UTC).isoformat(),
            producer=PRODUCER,
            eventType=RunState[kind],
            run=Run(self.run_id, self._run_facets(message)),
            job=Job(JOB_NAMESPACE, self.policy.name, {"jobType": job_type}),
            inputs=inputs,
            outputs=outputs or [],
        )
        self.lines.append(Serde.to_json(event))
        self.pending.append(event)
        self.has_ended = kind in LAST

    def _run_facets(self, message: str) -> dict[str, Any]:
        from openlineage.client.facet_v2 import error_message_run, parent_run, processing_engine_run

        version = f"{VERSION}+{source_digest()[:12]}"
        run_facets: dict[str, Any] = {
            "processing_engine": processing_engine_run.ProcessingEngineRunFacet(version, "tclose")
        }
        if self.parent is not None:
            run_facets["parent"] = parent_run.ParentRunFacet(
                parent_run.Run(self.parent), parent_run.Job(*PARENT)
            )
        if message:
            run_facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(message, "PYTHON")
        return run_facets

    @property
    def _source(self) -> tuple[str, str]:
        """Namespace and name of the input: scheme and host of a URL, or an absolute path."""
        return _name_dataset(self.policy.input.path)

    def _input(self, schema: pa.Schema | None = None) -> "InputDataset":
        from openlineage.client.event_v2 import InputDataset
        from openlineage.client.facet_v2 import dataset_version_dataset

        _name_producer()
        version = dataset_version_dataset.DatasetVersionDatasetFacet(self.input_version)
        dataset_facets: dict[str, Any] = {"version": version}
        if schema is not None:
            dataset_facets["schema"] = facets.schema_of(schema)
        return InputDataset(*self._source, facets=dataset_facets)

    def _output(
        self,
        release_id: str,
        verdict: Verdict,
        released: facets.Columns,
        n_bytes: int,
        n_files: int,
    ) -> "OutputDataset":
        from openlineage.client.event_v2 import OutputDataset
        from openlineage.client.facet_v2 import (
            dataset_version_dataset,
            output_statistics_output_dataset,
        )

        dataset_facets = {
            "schema": facets.schema_of_columns(released),
            "columnLineage": facets.column_lineage(released, self._source),
            "version": dataset_version_dataset.DatasetVersionDatasetFacet(release_id),
            "tclose_privacy": facets.privacy(verdict, self.policy),
        }
        statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            verdict.n_records, n_bytes, n_files
        )
        namespace, place = _name_dataset(self.policy.output.path)
        name = f"{place.rstrip('/')}/{self.policy.name}"
        return OutputDataset(
            namespace, name, {"outputStatistics": statistics}, facets=dataset_facets
        )

    def as_bytes(self) -> bytes:
        """All events, one JSON document a line."""
        return "".join(f"{line}\n" for line in self.lines).encode()


def _restore(line: str) -> "RunEvent":
    """An event, of its JSON."""
    from openlineage.client.event_v2 import (
        InputDataset,
        Job,
        OutputDataset,
        Run,
        RunEvent,
        RunState,
    )

    event = json.loads(line)
    run, job = event["run"], event["job"]
    return RunEvent(
        eventTime=event["eventTime"],
        producer=event["producer"],
        eventType=RunState[event["eventType"]],
        run=Run(run["runId"], run.get("facets")),
        job=Job(job["namespace"], job["name"], job.get("facets")),
        inputs=[InputDataset(**one) for one in event.get("inputs", [])],
        outputs=[OutputDataset(**one) for one in event.get("outputs", [])],
    )


def _name_dataset(place: str) -> tuple[str, str]:
    """Namespace and name as OpenLineage has them; of a URL without who reads it, or how."""
    parts = urlsplit(redact_place(place))
    if parts.scheme in ("", "file"):
        return "file", str(Path(parts.path).absolute())
    if parts.scheme == "s3":
        return f"s3://{parts.netloc.rpartition('@')[2]}", parts.path.strip("/")
    return f"{parts.scheme}://{parts.hostname or ''}", parts.path


def _name_producer() -> None:
    from openlineage.client.facet_v2 import set_producer

    set_producer(PRODUCER)
