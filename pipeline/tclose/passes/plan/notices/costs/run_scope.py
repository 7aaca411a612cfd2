"""The facts beside the plan that costs depend on: bytes of input, distinct values, the engine."""

from collections.abc import Sequence
from dataclasses import dataclass

from tclose.data.files.inspection import FileContent
from tclose.data.places.process_limits import count_processors
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.plan_files import load_distributions
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.runtime.artifacts.artifacts import Workspace
from tclose.runtime.engines.engine import MOST_AT_ONCE, runs_in_process
from tclose.runtime.engines.local import worker_count


@dataclass(frozen=True)
class RunScope:
    """The input and the engine of a run.

    ``n_bytes``: of the input's files; ``n_parsed``: of those, of CSV; ``n_distinct``: values of
    all confidential attributes; ``n_workers``: 1 where the run is in this process, ``alone``.
    """

    n_bytes: int
    n_parsed: int
    n_distinct: int
    n_workers: int
    alone: bool

    @property
    def n_beside(self) -> int:
        """Tasks whose kernels run side by side: in threads of this process, or in workers."""
        return min(count_processors(), MOST_AT_ONCE) if self.alone else self.n_workers

    def longest_share(self, n_tasks: int, n_beside: int | None = None) -> float:
        """Share of the work of equal tasks that the worker with most of them has.

        ``n_beside``: of so many, where tasks are kernels.
        """
        n_tasks = max(1, n_tasks)
        return -(-n_tasks // (n_beside or self.n_workers)) / n_tasks


def find_scope(
    plan: Plan, workspace: Workspace, contents: Sequence[FileContent], engine: EngineSettings
) -> RunScope:
    """Find it for a run whose plan has been made."""
    n_bytes = sum(content.file.n_bytes for content in contents)
    is_csv = [any(group < 0 for group, _, _ in content.pieces) for content in contents]
    alone = runs_in_process(engine, n_bytes)
    distributions = load_distributions(workspace, plan)
    return RunScope(
        n_bytes=n_bytes,
        n_parsed=sum(c.file.n_bytes for c, parsed in zip(contents, is_csv, strict=True) if parsed),
        n_distinct=sum(int(distribution.values.size) for distribution in distributions),
        n_workers=1 if alone else worker_count(engine),
        alone=alone,
    )


def count_coded_columns(plan: Plan) -> int:
    """Columns of a piece whose values are numbers or codes: the position of each record, too."""
    return len(plan.encodings) + len(plan.confidential) + 1


def passed_bytes(plan: Plan) -> float:
    """Bytes of all records' pass-through columns."""
    return float(plan.widths.per_record) * plan.n_records if plan.passthrough else 0.0


def region_records(plan: Plan) -> int:
    """Records of the largest region."""
    return max(
        (one.n_records // max(1, min(one.n_regions, one.n_clusters))
         for one in plan.release_partitions),
        default=0,
    )  # fmt: skip


def count_pieces(plan: Plan, piece_records: int) -> int:
    """Pieces of so many records that the table is cut into."""
    return max(1, -(-plan.n_records // max(1, piece_records)))
