"""Bytes that tasks hold of wide records and long values; refusals of what no worker can hold.

The factors are what was measured (benchmarks/RESULTS.md, wide tables): how many copies of something
are in memory at once where most are.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tclose.data.files.input_partitions import PARTITION_BYTES
from tclose.data.files.inspection import FileContent
from tclose.data.files.piece_widths import WORKER_BYTES
from tclose.data.widths import WIDE_RECORD
from tclose.errors import DataError, PolicyError
from tclose.passes.plan.plan import Plan
from tclose.passes.verify.key_range_rows import FETCHED_BYTES

STREAM_BYTES = 200_000_000  # pages and batches of the columns that are decoded together
COPIES_OF_GROUP = 1.3
COPIES_OF_FETCHED = 6
COPIES_OF_LARGEST = 6
COPIES_OF_TEXTS = 5  # of the distinct ones, and of those of a partition
SHORT_TEXT = 25  # what a column of keys is counted with already
SMALL_BYTES = 1 << 25


_TEXTS = "texts in quasi-identifiers and confidential attributes"


def wide_bytes(plan: Plan) -> int:
    """Bytes of referenced columns that passes hold, besides the records' keys and codes.

    Encoding and summaries hold batches, verification some classes, the writer a row group.
    """
    if not plan.referenced:
        return 0
    of_record = plan.widths.per_record
    in_class = (
        max(release_partition.class_size.adjusted for release_partition in plan.release_partitions)
        * of_record
    )
    in_chunk = plan.output_format.rows_per_chunk(plan.widths)
    in_group = min(in_chunk, plan.rows_per_file, plan.n_records) * of_record
    streamed = STREAM_BYTES + COPIES_OF_LARGEST * plan.widths.largest
    fetched = COPIES_OF_FETCHED * max(min(FETCHED_BYTES, plan.n_records * of_record), in_class)
    return int(streamed + max(fetched, COPIES_OF_GROUP * in_group))


def text_bytes(plan: Plan) -> int:
    """Bytes of texts of deciding columns that passes hold: the distinct ones, and a partition's."""
    encodings = {
        e.column.name: e for e in (*plan.encodings, *plan.confidential, *plan.partition_columns)
    }
    held = in_partition = 0
    for encoding in encodings.values():
        if encoding.categories is not None and len(encoding.categories):
            held += encoding.categories.nbytes
            of_value = encoding.categories.nbytes / len(encoding.categories)
            in_partition += int(max(0.0, of_value - SHORT_TEXT) * plan.n_records)
    return COPIES_OF_TEXTS * (held + min(in_partition, PARTITION_BYTES))


def refuse_wide(plan: Plan, limit: int | None) -> None:
    """Refuse wide records that no worker can hold as many of as have to be together.

    Raises
    ------
    PolicyError
        Says how much is needed, of what, and what needs less.
    """
    of_records, of_texts = wide_bytes(plan), text_bytes(plan)
    needed = WORKER_BYTES + of_records + of_texts
    if limit is None or needed <= limit or max(of_records, of_texts) < SMALL_BYTES:
        return
    widest = max(plan.widths.columns, key=lambda n: plan.widths.columns[n], default="")
    lines = []
    if of_records >= SMALL_BYTES:
        lines.append(
            f"a record's pass-through columns have {plan.widths.per_record:,.0f} bytes on average "
            f"and up to {plan.widths.largest:,}, column {widest!r} most of all: leave it "
            "out, shorten its texts, or make output.rows_per_file smaller"
        )
    if of_texts >= SMALL_BYTES:
        lines.append(
            "quasi-identifiers and confidential attributes have many long texts: group them, or "
            "store codes"
        )
    raise PolicyError(
        f"engine.memory_per_worker: a task needs about {needed / 1e6:,.0f} MB, and a "
        f"worker has {limit / 1e6:,.0f} MB; {'; '.join(lines)}; or give workers more memory"
    )


def check_pieces(contents: Sequence[FileContent], limit: int | None) -> None:
    """Refuse wide records that no worker can read at all.

    Raises
    ------
    DataError
        Names the file, and what is needed.
    """
    for content in contents:
        for width, (group, start, stop) in zip(content.widths, content.pieces, strict=True):
            n_bytes = width.held + width.passthrough
            if group < 0 or n_bytes <= (stop - start) * WIDE_RECORD:
                continue
            held = min(width.held, PARTITION_BYTES) if width.held > SMALL_BYTES else 0
            needed = WORKER_BYTES + STREAM_BYTES + COPIES_OF_TEXTS * held
            if limit is not None and needed > limit:
                of_texts = f", {held / 1e6:,.0f} MB of {_TEXTS} held whole" if held else ""
                raise DataError(
                    f"file {content.file.name}: records of {n_bytes / (stop - start):,.0f} bytes "
                    f"take about {needed / 1e6:,.0f} MB to read{of_texts}, and a worker has "
                    f"{limit / 1e6:,.0f} MB; give engine.memory_per_worker more, or store codes "
                    "for long texts"
                )


def check_disk(contents: Sequence[FileContent], folder: Path) -> None:
    """Refuse an input that does not fit on the disk when it is decoded: twice, on its way.

    Raises
    ------
    DataError
        Names the file that has most, and how much is needed and there.
    """
    of_file = {c.file.name: sum(w.held + w.passthrough for w in c.widths) for c in contents}
    needed = 2 * sum(of_file.values())
    place = _existing(folder)
    there = shutil.disk_usage(place).free
    if needed > there:
        name = max(of_file, key=lambda n: of_file[n])
        raise DataError(
            f"file {name}: its columns take {_in_words(of_file[name])} when they are decoded, "
            "as texts stand in the file once that many records have; working files would take "
            f"about {_in_words(needed)}, and there are {_in_words(there)} in {place}. Give "
            "engine.work_path a larger disk, or leave out the columns of long texts"
        )


def _in_words(n_bytes: int) -> str:
    """Bytes in MB; in kB where these would be none."""
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:,.0f} kB"


def _existing(folder: Path) -> Path:
    while not os.path.exists(folder):  # noqa: PTH110  # False also of one that is closed
        folder = folder.parent
    return folder
