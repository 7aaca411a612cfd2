"""The complete records of a policy's input, in its order: those that a release can be made of."""

from collections.abc import Sequence

import pyarrow as pa

from tclose.data.files import input_files
from tclose.data.files.input_partitions import read_partition
from tclose.data.value_counts import complete_records
from tclose.model.column_terms import UNRELEASED
from tclose.passes.release import RELEASE
from tclose.passes.summarise.input_summary import INPUT_SUMMARY, PARTITIONS, InputSummary
from tclose.policy.policy import Policy
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.runtime.engines.engine import InProcess, open_engine, runs_in_process
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import run_pipeline
from tclose.runtime.run import Run
from tclose.runtime.scratch import Purpose, scratch_folder


def read_complete(
    policy: Policy, purpose: Purpose, more: Sequence[str] | None, progress: Progress
) -> tuple[InputSummary, pa.Table]:
    """Read them on this machine, as a sample numbers them, and the summary of the input.

    Parameters
    ----------
    purpose : of the scratch folder
    more : columns besides those that decide over classes, or None for all that are released

    Raises
    ------
    TcloseError
        Whatever a run of the policy would be refused for before it is planned.
    """
    policy = policy.without_series()
    if policy.engine.scheduler != "local":  # others do not see the folder
        policy = policy.model_copy(update={"engine": EngineSettings()})
    n_bytes = input_files.total_bytes(input_files.find_files(policy.input))
    small = runs_in_process(policy.engine, n_bytes)
    with (
        scratch_folder(purpose) as scratch,
        open_engine(policy.engine, n_bytes) as engine,
    ):
        run = Run(policy, purpose, scratch / "work", InProcess() if small else engine)
        run_pipeline(RELEASE.until(INPUT_SUMMARY), run, progress)
        summary = run.workspace.load(INPUT_SUMMARY)
        columns, checked = summary.source.columns, summary.source.checked
        if more is None:
            more = [column.name for column in columns if column.role not in UNRELEASED]
        names = dict.fromkeys([*more, *(column.name for column in checked)])
        reading = summary.source.reading.of(list(names))
        pieces = []
        for partition in run.workspace.load(PARTITIONS):
            table = read_partition(partition, reading)
            mask = complete_records(table, checked)
            pieces.append(table if mask is None else table.filter(mask))
        return summary, pa.concat_tables(pieces)
