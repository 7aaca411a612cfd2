"""The example of the documentation, cell by cell, as a notebook runs and shows it."""

import ast
from pathlib import Path

import pytest

import tclose
from support.length import FULL

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "discharges.py"
SHORT = '"name": "discharges"', '"name": "discharges", "method": {"refine": "lean"}'


def _cells() -> list[str]:
    return [cell for cell in EXAMPLE.read_text().split("# %%\n")[1:] if cell.strip()]


def _run_cell(cell: str, names: dict) -> object:
    """Run a cell; what its last expression gives."""
    tree = ast.parse(cell)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, EXAMPLE.name, "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), EXAMPLE.name, "eval"), names)


def test_the_example_runs(capsys, tmp_path, monkeypatch, scratch):
    pytest.importorskip("matplotlib")
    names: dict = {}
    shown = [_run_cell(cell if FULL else cell.replace(*SHORT), names) for cell in _cells()]
    results = [value for value in shown if hasattr(value, "_repr_html_")]
    assert {type(value).__name__ for value in results} >= {
        "PlanSummary",
        "Release",
        "Check",
        "Chart",
    }
    assert all(value._repr_html_() for value in results)
    assert "3000 is more than" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["load_policy", "plan", "release", "audit", "frontier", "check"])
def test_the_page_tells_of_each_function(name):
    assert f"`{name}(" in (DOCS / "python.md").read_text()
    assert getattr(tclose, name).__doc__


def test_the_page_tells_of_each_error_and_result():
    text = (DOCS / "python.md").read_text()
    for name in tclose.__all__:
        assert f"`{name}" in text or name == "__version__"
