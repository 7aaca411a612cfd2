"""Commands that have to refuse: what their messages may not hold, and that nothing is left.

`refuse_policy` is for policies, files and columns; `refuse_method` for methods and their keys.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from support.cases.people import (
    CONFIDENTIAL,
    N_PEOPLE,
    QUASI,
    people,
    policy_for,
    tree,
    write_policy,
)
from tclose.cli.main import main

SECRET = "Quecksilber4711"
SECRET_NUMBER = 86_753_091
ILLS = ["flu", "cold", "ulcer"]
_LOCK = "releases/people/.lock"

Refuse = Callable[..., str]
Capture = pytest.CaptureFixture[str]


def with_secret(column: str = "sex", value: Any = SECRET) -> pa.Table:
    """People, one of whom has the value that no message may hold."""
    table = people()
    values = [type(value)(other) for other in table[column].to_pylist()]
    values[N_PEOPLE // 2] = value
    changed: dict[str, Any] = {column: values}
    return people(**changed)


def csv_of(folder: Path, text: str | bytes, name: str = "people.csv") -> Path:
    """Write a CSV file as it is given."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refuse_policy(
    folder: Path,
    capsys: Capture,
    given: dict[str, Any] | str,
    *fragments: str,
    sets: tuple[str, ...] = (),
) -> str:
    """Run a policy (a document, or YAML as text), which has to be refused; gives the message.

    Twice: with an output folder that is not there, and with one that is.
    """
    policy, output = folder / "policy.yaml", folder / "releases"
    text = given if isinstance(given, str) else yaml.safe_dump(given, sort_keys=False)
    policy.write_text(text, encoding="utf-8")
    message = ""
    for _ in range(2):
        before = tree(folder)
        status = main(["run", str(policy), "--quiet", *(f"--set={key}" for key in sets)])
        message = _read_message(capsys, fragments)
        assert status == 2, message
        assert str(SECRET_NUMBER) not in message.replace(",", "").replace("_", "")
        assert tree(folder) == before
        if not output.exists():
            output.mkdir()
            (output / "notes.txt").write_text("was there before")
    return message


def _read_message(capsys: Capture, fragments: tuple[str, ...]) -> str:
    """One message, which has the fragments and gives no value away; nothing else was printed."""
    printed, message = capsys.readouterr()
    assert printed == ""
    assert message.startswith("tclose: ")
    assert "Traceback" not in message
    assert SECRET not in message
    for fragment in fragments:
        assert fragment in message
    return message


def table_of(n_records: int = 60, /, **columns: Any) -> pa.Table:
    """People with an illness, a day and a site; pays are far from each other."""
    rng = np.random.default_rng(5)
    days = pa.array((18_000 + np.arange(n_records) % 90).astype(np.int32)).cast(pa.date32())
    own = {"ill": rng.choice(ILLS, n_records), "day": days, "site": ["a", "b"] * (n_records // 2)}
    return people(n_records, **(own | columns))


def refuse_method(
    folder: Path,
    capsys: Capture,
    method: dict[str, Any],
    *fragments: str,
    status: int = 2,
    planned: int | None = None,
    **keys: Any,
) -> str:
    """Plan and run a policy over a table; both have to refuse it alike, and to leave nothing.

    Parameters
    ----------
    planned : the plan's status where only verification can tell
    keys : of the policy; and ``table``, ``attributes`` beside its own, ``partition_by``
    """
    policy = _write_method(folder, method, keys)
    before = tree(folder)
    assert main(["plan", str(policy), "--quiet"]) == (status if planned is None else planned)
    told = capsys.readouterr()
    assert tree(folder) == before
    assert main(["run", str(policy), "--quiet"]) == status
    message = _read_message(capsys, fragments)
    if planned is None:
        assert told == ("", message)
    else:
        assert re.search("feasible +perhaps: ", told.out)
    left = {p for p in tree(folder) if ".failed" not in p and p not in before}
    assert left <= {"releases", "releases/.release-key", "releases/people", _LOCK}
    assert status == 3 or not left
    return message


def _write_method(folder: Path, method: dict[str, Any], keys: dict[str, Any]) -> Path:
    source = folder / "people.parquet"
    pq.write_table(keys.pop("table", None) or table_of(), source)
    roles = {"age": QUASI, "sex": QUASI, "pay": CONFIDENTIAL} | keys.pop("attributes", {})
    partition_by = keys.pop("partition_by", [])
    if method.get("name") == "dp-confidential":  # which holds classes to no t
        keys = {"privacy": {"k": 3}} | keys
    document = policy_for(source, method=method, unlisted="drop", attributes=roles, **keys)
    document["output"]["partition_by"] = partition_by
    return write_policy(folder / "policy.yaml", document)
