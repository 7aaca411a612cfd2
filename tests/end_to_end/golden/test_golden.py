"""Released bytes change with a version only: a release id stands for one release.

The tables hold whole numbers, numbers of one decimal and texts, and kernels are compiled without
reordering or contracting of floating-point operations: the same digests came of kernels for any
x86-64 with the vector instructions of numpy and Arrow switched off. On other kinds of processors
rows are compared and files are not, since the library that compresses them is built for each.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from support.golden import GOLDEN, find_fault, make_entry, read_golden
from support.length import every
from tclose.methods.method import registered_methods
from tclose.privacy.model_registry import MODELS


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return read_golden()


@pytest.mark.every_case
@pytest.mark.parametrize("name", every(2, GOLDEN))
def test_bytes_are_those_of_their_versions(
    name: str, golden: dict[str, Any], tmp_path: Path
) -> None:
    fault = find_fault(name, make_entry(GOLDEN[name], tmp_path), golden)
    assert not fault, fault


def test_every_method_and_model_has_a_case(golden: dict[str, Any]) -> None:
    assert golden["cases"].keys() == GOLDEN.keys()
    of_all = [entry["versions"] for entry in golden["cases"].values()]
    assert {name for one in of_all for name in one["method"]} == set(registered_methods())
    assert {name for one in of_all for name in one["models"]} == set(MODELS.classes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": "other"}, r"Method\.version of mondrian, .* else Pass\.version .*microaggregate"),
        ({"rows": "other", "files": "other"}, "released bytes of 'mondrian' changed, and no"),
        ({"files": "other"}, r"Raise OutputFormat\.version of parquet"),
        ({"versions": {}}, "of other versions: write it anew"),
    ],
)
def test_what_to_do_is_said(change: dict[str, Any], message: str, golden: dict[str, Any]) -> None:
    entry = golden["cases"]["mondrian"]
    assert not find_fault("mondrian", entry, golden)
    assert re.search(message, find_fault("mondrian", entry | change, golden))
    others = golden | {"libraries": {}}
    assert "of other libraries" in find_fault("mondrian", entry, others)


def test_files_of_another_kind_of_processor_are_not_compared(golden: dict[str, Any]) -> None:
    entry, elsewhere = golden["cases"]["mondrian"], golden | {"machine": "another"}
    assert not find_fault("mondrian", entry | {"files": "other"}, elsewhere)
    assert find_fault("mondrian", entry | {"rows": "other"}, elsewhere)
