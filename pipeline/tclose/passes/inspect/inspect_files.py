"""The inspect pass: digest and columns of every file of the input."""

from contextlib import closing

from tclose.data.files import input_files
from tclose.data.files.input_settings import InputSettings
from tclose.data.files.inspection import FileContent, check_same_schema, inspect_file
from tclose.data.files.piece_widths import ReadColumns
from tclose.model.column_terms import Role
from tclose.policy.policy import Policy
from tclose.runtime.engines.engine import least_memory
from tclose.runtime.pipeline import Pass, PassContext
from tclose.runtime.run import INSPECTION
from tclose.runtime.safe_errors import to_safe_error
from tclose.security.redaction import name_apart


def inspect_input(context: PassContext) -> None:
    """Inspect all files, on the workers, and see that they have the same columns.

    No task does it: what one has done is kept where all workers see it, and that folder is named by
    what is found here.

    Raises
    ------
    DataError
        A file cannot be read, or its columns are others than the first one's.
    """
    policy, engine, progress = context.run.policy, context.engine, context.progress
    paths = input_files.find_files(policy.input)
    limit = least_memory(policy.engine, input_files.total_bytes(paths), engine)
    wanted, names = _wanted(policy, limit), name_apart(paths)
    items = [(path, policy.input, wanted, names[i]) for i, path in enumerate(paths)]
    content_of: dict[int, FileContent] = {}
    with (
        progress.tracing(engine, "inspect"),
        progress.following("inspect", len(paths), label="reading files") as step,
        closing(engine.run(_inspect_item, items, name="inspect")) as found,
    ):
        for position, content in found:
            content_of[position] = content
            step()
    contents = [content_of[position] for position in range(len(items))]
    check_same_schema(contents, policy.attributes)
    context.write(INSPECTION, contents)


def _wanted(policy: Policy, limit: int | None) -> ReadColumns:
    """The columns that will be read; what gets noise goes along with what classes are made by."""
    passthrough = {
        name
        for name, settings in policy.attributes.items()
        if settings.role is Role.NON_CONFIDENTIAL and name not in policy.output.partition_by
    }
    identifiers = {
        n for n, settings in policy.attributes.items() if settings.role is Role.IDENTIFIER
    }
    held = policy.attributes.keys() - passthrough - identifiers
    return ReadColumns(frozenset(held), frozenset(passthrough), limit)


def _inspect_item(item: tuple[str, InputSettings, ReadColumns, str]) -> FileContent:
    try:
        return inspect_file(*item)
    except Exception as error:
        raise to_safe_error(error, f"file {item[-1]}") from None


INSPECT = Pass(
    "inspect",
    "Digest every file of the input.",
    reads=(),
    writes=(INSPECTION,),
    work=inspect_input,
)
