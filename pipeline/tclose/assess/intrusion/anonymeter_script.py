"""Anonymeter's attacks on three tables: a program for a Python that has Anonymeter, not tclose.

``python anonymeter_script.py FOLDER`` reads ``request.json``, ``original.parquet``,
``released.parquet`` and ``control.parquet`` there, and prints one JSON object: the version and a
result for each attack that was asked for, or the names of what is missing or went wrong. It writes
nothing. It needs Anonymeter, what that brings along, and the standard library.
"""

import json
import math
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

Tables = dict[str, Any]
Result = dict[str, Any]


def _link(tables: Tables, attack: dict[str, Any], n_attacks: int) -> Result:
    """Link both halves of what is known of a person by their nearest released records."""
    from anonymeter.evaluators import LinkabilityEvaluator

    evaluator = LinkabilityEvaluator(
        ori=tables["original"],
        syn=tables["released"],
        control=tables["control"],
        aux_cols=(attack["known"], attack["secret"]),
        n_attacks=n_attacks,
    )
    return _describe(evaluator.evaluate().results())


def _infer(tables: Tables, attack: dict[str, Any], n_attacks: int) -> Result:
    """Infer a person's value of the secret from the nearest released record."""
    from anonymeter.evaluators import InferenceEvaluator
    from anonymeter.evaluators.inference_evaluator import evaluate_inference_guesses

    secret, is_number = attack["secret"][0], attack["is_number"]
    evaluator = InferenceEvaluator(
        ori=tables["original"],
        syn=tables["released"],
        control=tables["control"],
        aux_cols=attack["known"],
        secret=secret,
        regression=is_number,
        n_attacks=n_attacks,
    )
    result = _describe(evaluator.evaluate().results())
    # The library compares drawn guesses by row number with the targets, of which few were drawn,
    # and counts the others as wrong; so the guess at random is made here.
    targets = tables["original"][secret].sample(n_attacks)
    guesses = tables["released"][secret].sample(n_attacks, replace=True)
    guesses.index = targets.index
    right = evaluate_inference_guesses(guesses=guesses, secrets=targets, regression=is_number)
    return result | {"baseline": float(right.mean())}


def _single_out(tables: Tables, attack: dict[str, Any], request: dict[str, Any]) -> Result:
    """Single out original records by predicates that hold for one released record."""
    from anonymeter.evaluators import singling_out_evaluator as library
    from anonymeter.stats.confidence import EvaluationResults

    counts: list[int] = []
    for name in ("univariate_singling_out_queries", "multivariate_singling_out_queries"):
        setattr(library, name, _counted(getattr(library, name), counts))
    n_attacks = request["n_attacks"]
    known = {name: table[attack["known"]] for name, table in tables.items()}
    evaluator = library.SinglingOutEvaluator(
        ori=known["original"],
        syn=known["released"],
        control=known["control"],
        n_attacks=n_attacks,
        n_cols=min(attack["n_columns"], len(attack["known"])),
        max_attempts=request["n_attempts"],
        seed=request["seed"],
    )
    try:
        evaluator.evaluate(mode=attack["mode"])
        figures = vars(evaluator)
        control = float(figures["_n_control"])  # scaled to the number of originals
    except (RuntimeError, ZeroDivisionError):  # no curve fits the control's few successes
        figures, control = vars(evaluator), math.nan
    results = EvaluationResults(
        n_attacks=n_attacks,
        n_success=figures["_n_success"],
        n_baseline=figures["_n_baseline"],
        n_control=min(max(control, 0.0), n_attacks) if math.isfinite(control) else None,
    )
    return _describe(results) | {"predicates": counts[-1]}


def _counted(make: Callable[..., list[Any]], counts: list[int]) -> Callable[..., list[Any]]:
    """The same function, which notes how many predicates it makes."""

    def make_and_count(*arguments: Any, **options: Any) -> list[Any]:
        queries = make(*arguments, **options)
        counts.append(len(queries))
        return queries

    return make_and_count


def _describe(results: Any) -> Result:
    """Plain shares of successes, and the library's risk with its interval of 95 %."""
    risk = results.risk()
    n_control = results.n_control
    return {
        "attacks": int(results.n_attacks_ori),
        "rate": float(results.n_success) / results.n_attacks_ori,
        "control": None if n_control is None else float(n_control) / results.n_attacks_control,
        "baseline": float(results.n_baseline) / results.n_attacks_baseline,
        "risk": float(risk.value),
        "low": float(risk.ci[0]),
        "high": float(risk.ci[1]),
    }


def _attack(tables: Tables, attack: dict[str, Any], request: dict[str, Any]) -> Result:
    """One attack; of an error its type alone, as its words could hold values."""
    import numpy as np

    np.random.seed(request["seed"])  # noqa: NPY002 (what the library draws targets from)
    n_attacks = request["n_attacks"]
    try:
        if attack["kind"] == "linkability":
            return _link(tables, attack, n_attacks)
        if attack["kind"] == "inference":
            return _infer(tables, attack, n_attacks)
        return _single_out(tables, attack, request)
    except Exception as error:
        return {"error": type(error).__name__}


def answer_request(folder: Path) -> dict[str, Any]:
    """Return all that is asked for, or the name of a module that is missing."""
    try:
        from importlib.metadata import version

        import anonymeter.evaluators  # noqa: F401
        import pandas as pd
    except ImportError as error:
        return {"missing": error.name or "anonymeter"}
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    names = ("original", "released", "control")
    tables = {name: pd.read_parquet(folder / f"{name}.parquet") for name in names}
    return {
        "version": version("anonymeter"),
        "results": [_attack(tables, attack, request) for attack in request["attacks"]],
    }


def end_with_caller() -> None:
    """End, with all that was started here, as soon as nobody holds the standard input open."""
    os.read(0, 1)  # not by sys.stdin, whose lock a thread would hold when the program ends
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=end_with_caller, daemon=True).start()
    said = json.dumps(answer_request(Path(sys.argv[1])))
    sys.stdout.write(f"{said}\n")
