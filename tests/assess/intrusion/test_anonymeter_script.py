"""The program that runs in the other Python: with a library of a few lines, and with the real one.

The real one is asked where `make intruder` has made its Python, or TCLOSE_INTRUDER names one.
"""

import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tclose.assess.intrusion import anonymeter_script
from tclose.assess.intrusion.compared_tables import compare_tables
from tclose.assess.intrusion.motivated_intruder import attack_tables
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role
from tclose.runtime.monitoring.progress import Progress

N = 200
HERE = Path(__file__).parents[3]
REAL = Path(os.environ.get("TCLOSE_INTRUDER", HERE / ".venv-intruder" / "bin" / "python"))


class Results:
    """The library's results: a number for all three kinds of attacks, or one each."""

    def __init__(self, n_attacks, n_success, n_baseline, n_control=None) -> None:
        counts = n_attacks if isinstance(n_attacks, tuple) else 3 * (n_attacks,)
        self.n_attacks_ori, self.n_attacks_baseline, self.n_attacks_control = counts
        self.n_success, self.n_baseline, self.n_control = n_success, n_baseline, n_control

    def risk(self) -> Any:
        return SimpleNamespace(value=np.float64(0.5), ci=(0.25, 0.75))


class Evaluator:
    """One that notes what it is given and finds the same for all."""

    given: dict[str, Any]

    def __init__(self, **given: Any) -> None:
        type(self).given = given

    def evaluate(self) -> "Evaluator":
        return self

    def results(self) -> Results:
        n = self.given["n_attacks"]
        return Results((n, n, n // 2), 30, 0, 10)


class SinglingOut:
    """One that makes a predicate for each record, and has a control as it is told."""

    control: Any = 5

    def __init__(self, **given: Any) -> None:
        self.given = given

    def evaluate(self, mode: str) -> None:
        library = sys.modules["anonymeter.evaluators.singling_out_evaluator"]
        getattr(library, f"{mode}_singling_out_queries")(df=self.given["syn"])
        self._n_success, self._n_baseline, self._n_control = 20, 1, 3
        if isinstance(self.control, Exception):
            raise self.control
        self._n_control = self.control


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A library of that name, and a folder with tables."""
    modules: dict[str, dict[str, Any]] = {
        "anonymeter": {},
        "anonymeter.evaluators": {
            "LinkabilityEvaluator": type("Linkability", (Evaluator,), {}),
            "InferenceEvaluator": type("Inference", (Evaluator,), {}),
        },
        "anonymeter.evaluators.inference_evaluator": {
            "evaluate_inference_guesses": lambda guesses, secrets, regression: (
                guesses.to_numpy() == secrets.to_numpy()
            )
        },
        "anonymeter.evaluators.singling_out_evaluator": {
            "SinglingOutEvaluator": SinglingOut,
            "univariate_singling_out_queries": lambda df: list(df.index[:7]),
            "multivariate_singling_out_queries": lambda df: list(df.index),
        },
        "anonymeter.stats": {},
        "anonymeter.stats.confidence": {"EvaluationResults": Results},
    }
    for name, contents in modules.items():
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    for name in modules:
        above, _, last = name.rpartition(".")
        if above:
            monkeypatch.setattr(sys.modules[above], last, sys.modules[name], raising=False)
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"{name} 0")
    table = pd.DataFrame({"c0": range(N), "c1": ["v0"] * N, "c2": [1.0] * N})
    for name in ("original", "released", "control"):
        table.to_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def ask(folder: Path, *attacks: dict[str, Any]) -> Any:
    request = {"seed": 3, "n_attacks": 100, "n_attempts": 500, "attacks": attacks}
    (folder / "request.json").write_text(json.dumps(request))
    return json.loads(json.dumps(anonymeter_script.answer_request(folder)))


def asked(kind: str, known: list[str], *secret: str, mode: str = "") -> dict[str, Any]:
    return {
        "kind": kind, "mode": mode, "known": known, "secret": secret, "is_number": True,
        "n_columns": 3,
    }  # fmt: skip


def test_each_attack_is_asked_of_the_library(library: Path) -> None:
    answer = ask(
        library,
        asked("linkability", ["c0"], "c1"),
        asked("inference", ["c0", "c1"], "c2"),
        asked("singling", ["c0", "c1"], mode="multivariate"),
        asked("singling", ["c0"], mode="univariate"),
    )
    linked, inferred, several, one = answer["results"]
    assert answer["version"] == "anonymeter 0"
    assert linked == {
        "attacks": 100, "rate": 0.3, "control": 0.2, "baseline": 0.0, "risk": 0.5, "low": 0.25,
        "high": 0.75,
    }  # fmt: skip
    assert inferred == linked | {"baseline": 1.0}  # all secrets are the same
    assert several == linked | {
        "rate": 0.2, "control": 0.05, "baseline": 0.01, "predicates": N,
    }  # fmt: skip
    assert one["predicates"] == 7


@pytest.mark.parametrize(
    ("control", "share"),
    [(5, 0.05), (250.0, 1.0), (float("nan"), None), (RuntimeError("no curve"), None)],
)
def test_a_control_that_cannot_be_scaled_is_none(library, monkeypatch, control, share) -> None:
    monkeypatch.setattr(SinglingOut, "control", control)
    [found] = ask(library, asked("singling", ["c0", "c1"], mode="multivariate"))["results"]
    assert found["control"] == share


def test_of_errors_the_type_is_said_alone(library, monkeypatch) -> None:
    monkeypatch.setattr(SinglingOut, "control", ValueError("value 73141592"))
    answer = ask(library, asked("singling", ["c0", "c1"], mode="univariate"))
    assert answer["results"] == [{"error": "ValueError"}]


def test_what_is_not_installed_is_named(tmp_path: Path) -> None:
    assert anonymeter_script.answer_request(tmp_path) == {"missing": "anonymeter"}


@pytest.mark.nightly
def test_the_real_library_tells_a_table_from_one_that_has_nothing_of_it() -> None:
    if not REAL.exists():
        pytest.skip("Anonymeter's Python is not there: make intruder makes it")
    rng = np.random.default_rng(5)
    columns = [
        Column(Attribute(name, role), Kind.NUMERIC, pa.int64())
        for name, role in (
            *((name, Role.QUASI_IDENTIFIER) for name in ("a", "b", "c", "d")),
            ("pay", Role.CONFIDENTIAL),
        )
    ]

    def draw(n: int) -> pa.Table:
        values = {c.name: rng.integers(0, 1_000, n) for c in columns}
        return pa.table(values | {"sex": rng.choice(["m", "f"], n)})

    columns.append(Column(Attribute("sex", Role.NON_CONFIDENTIAL), Kind.NOMINAL, pa.string()))
    original, control = draw(1_000), draw(1_000)  # of one size: no share is scaled
    risks = []
    for released in (original, draw(1_000)):
        tables = {"original": original, "released": released, "control": control}
        found = attack_tables(
            compare_tables(columns, tables), REAL, Progress("none"), n_attacks=300, seed=1
        )
        risks.append([attack.risk for attack in found.attacks])
        assert found.library.startswith("anonymeter 1.")
    assert min(risks[0]) > 0.5
    assert max(risks[1]) < 0.15
