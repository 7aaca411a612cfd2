"""The summarise pass: counts of every partition, merged; data that cannot be used are refused."""

from collections.abc import Sequence
from dataclasses import replace

from tclose.data.files.input_partitions import name_files
from tclose.data.files.inspection import FileContent
from tclose.data.preparation.prepared_columns import resolve_prepared
from tclose.data.unusable_values import check_summary, find_problems
from tclose.errors import DataError, OutputError
from tclose.methods.dp.noise import check_noise
from tclose.model.input_pieces import Partition
from tclose.passes.compare.comparison import prepare_comparison
from tclose.passes.compare.digest_task import DIGEST_KEY
from tclose.passes.persons.person_keys import DRAWN_KEY, PersonKey, load_person_key
from tclose.passes.plan.notices.footprint import check_disk, check_pieces
from tclose.passes.series.chosen_records import CHOOSE_TASK
from tclose.passes.series.held.held_records import HANDED_OUT, HELD
from tclose.passes.series.link_persons import SERIES, link_series
from tclose.passes.series.window.earlier_registers import (
    REGISTERED,
    REGISTERED_HASHES,
    REGISTERED_ROWS,
    REGISTERED_TABLES,
)
from tclose.passes.series.window.linked_records import LINK_TASK
from tclose.passes.series.window.window_persons import RANK_TASK, WINDOW_TASK
from tclose.passes.summarise.centres import find_centres
from tclose.passes.summarise.input_summary import (
    INPUT_SUMMARY,
    PARTITIONS,
    InputSummary,
    forget_left_out,
    grow_taxonomies,
    merge_summaries,
)
from tclose.passes.summarise.percentiles import find_bounds
from tclose.passes.summarise.ranked_values import GAPS_TASK
from tclose.passes.summarise.records import SOURCE
from tclose.passes.summarise.source import (
    make_source,
    naming_input,
    released_attributes,
    type_columns,
)
from tclose.passes.summarise.summarise_task import INFER_TASK, SUMMARISE_TASK
from tclose.passes.suppress.isolation_task import ISOLATE_TASK, MEASURE_TASK, NEAR_TASK, POINTS
from tclose.passes.suppress.suppress_records import SUPPRESSION, suppress_records
from tclose.runtime.engines.engine import least_memory
from tclose.runtime.pipeline import Pass, PassContext
from tclose.runtime.run import INSPECTION


def summarise(context: PassContext) -> None:
    """Count all partitions.

    Raises
    ------
    DataError
        The data cannot be used.
    OutputError
        Not every worker sees the working files.
    """
    with naming_input(context.run.policy):
        _summarise(context)


def _summarise(context: PassContext) -> None:
    policy = context.run.policy
    contents = context.read(INSPECTION)
    _check_sizes(context, contents)
    schema = contents[0].schema
    is_csv = contents[0].file.format == "csv"
    names = [one.file.name for one in contents]
    attributes = released_attributes(policy, schema, names, is_csv=is_csv)
    if not context.engine.sees(context.workspace.root):
        raise OutputError(
            f"working files {context.workspace.root.parent}: not every worker sees them; put them, "
            "and the input, on storage that all share (engine.work_path says where they go)"
        )
    partitions, types, ahead = type_columns(context, contents, attributes)
    columns = tuple(resolve_prepared(a, types[a.name]) for a in attributes)
    for column in columns:
        if column.attribute.noise is not None:
            check_noise(column)
    source = make_source(policy, schema, columns, types, partitions)
    source = find_bounds(context, source, partitions)
    source = find_centres(context, source, partitions)
    source = prepare_comparison(context, source)
    key = None if source.person is None else PersonKey(load_person_key(context.run))
    source, partitions, series = link_series(context, source, partitions, key)
    source, partitions, suppression = suppress_records(context, source, partitions)
    pieces = context.map(
        SUMMARISE_TASK,
        [(partition, source, key) for partition in partitions],
        sizes=[partition.n_records for partition in partitions],
    )
    summary = forget_left_out(merge_summaries(source, pieces), partitions)
    _check_summary(summary, partitions, policy.missing)
    summary = grow_taxonomies(summary)
    context.write(PARTITIONS, partitions)
    context.write(SOURCE, summary.source)
    context.write(SERIES, series)
    context.write(SUPPRESSION, suppression)
    context.write(INPUT_SUMMARY, replace(summary, ahead=ahead))


def _check_sizes(context: PassContext, contents: Sequence[FileContent]) -> None:
    """Refuse records that no worker can hold, and input that the disk has no room for."""
    settings = context.run.policy.engine
    n_bytes = sum(content.file.n_bytes for content in contents)
    check_pieces(contents, least_memory(settings, n_bytes, context.engine))
    check_disk(contents, context.run.repository.work)


def _check_summary(summary: InputSummary, partitions: Sequence[Partition], missing: str) -> None:
    columns = summary.source.columns
    try:
        check_summary(summary.table, columns, missing)
    except DataError as error:
        pairs = zip(partitions, summary.pieces, strict=True)
        bad = [p for p, piece in pairs if find_problems(piece.table, columns, missing)]
        raise DataError(f"{error}{name_files(bad, partitions)}") from None


SUMMARISE = Pass(
    "summarise",
    "Count every partition, and merge the counts.",
    reads=(INSPECTION,),
    writes=(
        PARTITIONS,
        SOURCE,
        DIGEST_KEY,
        DRAWN_KEY,
        SERIES,
        REGISTERED,
        REGISTERED_ROWS,
        REGISTERED_TABLES,
        SUPPRESSION,
        INPUT_SUMMARY,
    ),
    tasks=(
        INFER_TASK,
        GAPS_TASK,
        LINK_TASK,
        RANK_TASK,
        WINDOW_TASK,
        CHOOSE_TASK,
        NEAR_TASK,
        MEASURE_TASK,
        ISOLATE_TASK,
        SUMMARISE_TASK,
    ),
    own=(POINTS, HELD, HANDED_OUT, REGISTERED_HASHES),
    work=summarise,
)
