"""CSV of other conventions: the release has the values that the same records have in plain CSV."""

import functools

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pytest

from support.cases.people import CONFIDENTIAL, QUASI, policy_for, release
from support.checks.refusals import SECRET, refuse_policy

N_RECORDS = 200


@pytest.fixture
def refuse(tmp_path, capsys):
    """Runs a policy that has to be refused."""
    return functools.partial(refuse_policy, tmp_path, capsys)


def records() -> dict[str, list[str]]:
    rng = np.random.default_rng(3)
    days = np.datetime64("1950-01-01") + rng.integers(0, 15_000, N_RECORDS)
    return {
        "born": [str(day) for day in days],
        "zip": [f"{code:05d}" for code in rng.integers(4_000, 4_040, N_RECORDS)],
        "height": [f"{h:.2f}" for h in 1.5 + rng.random(N_RECORDS) / 2],
        "pay": [f"{p:.2f}" for p in rng.random(N_RECORDS) * 90_000],
    }


def foreign(columns: dict[str, list[str]]) -> dict[str, list[str]]:
    def number(text: str) -> str:
        return f"{float(text):,.2f}".translate(str.maketrans(",.", ".,"))

    return {
        "born": [".".join(reversed(day.split("-"))) for day in columns["born"]],
        "zip": columns["zip"],
        "height": [number(h) for h in columns["height"]],
        "pay": [number(p) for p in columns["pay"]],
    }


def write(path, columns, delimiter, encoding="utf-8"):
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    path.write_bytes("".join(delimiter.join(row) + "\r\n" for row in rows).encode(encoding))
    return path


ATTRIBUTES = {"born": QUASI, "zip": QUASI, "height": QUASI, "pay": CONFIDENTIAL}
KEYS = {"delimiter": ";", "decimal": ",", "thousands": ".", "date_format": "%d.%m.%Y"}


def policy_of(path, **keys):
    document = policy_for(path, attributes=ATTRIBUTES)
    document["input"] |= keys
    return document


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_same_release(encoding, tmp_path, sizes) -> None:
    sizes.pieces(csv_bytes=1_000)
    for folder in ("plain", "foreign"):
        (tmp_path / folder).mkdir()
    plain = release(policy_of(write(tmp_path / "plain" / "a.csv", records(), ",")))
    path = write(tmp_path / "foreign" / "a.csv", foreign(records()), ";", encoding)
    other = release(policy_of(path, **KEYS, encoding=encoding))
    assert other.schema == plain.schema
    assert other.schema.field("born").type == pa.date32()
    assert other.schema.field("zip").type == pa.string()
    assert other.schema.field("pay").type == pa.float64()
    assert sorted(other.table["pay"].to_pylist()) == sorted(plain.table["pay"].to_pylist())
    assert sorted(map(str, other.table.to_pylist())) == sorted(map(str, plain.table.to_pylist()))


def test_spelling_of_one_column(tmp_path) -> None:
    columns = records()
    columns["born"] = [day.replace("-", "") for day in columns["born"]]
    path = write(tmp_path / "a.csv", columns, ",")
    document = policy_of(path)
    document["attributes"] = ATTRIBUTES | {"born": {"role": QUASI, "date_format": "%Y%m%d"}}
    found = release(document).schema
    assert found.field("born").type == pa.date32()


@pytest.mark.parametrize(
    ("column", "text", "reason"),
    [
        ("pay", "1.5", "column 'pay': is confidential, but 1 of 200 values do not read as numbers"),
        ("pay", "1.5", "say how they are written by decimal and thousands, name them in input"),
        (
            "pay",
            SECRET,
            "column 'pay': is confidential, but 1 of 200 values do not read as numbers",
        ),
        ("born", "31.02.1980", "column 'born': its values look like dates, but 1 of 200"),
    ],
)
def test_what_is_of_another_spelling_is_refused(column, text, reason, tmp_path, refuse) -> None:
    columns = foreign(records())
    columns[column][7] = text
    message = refuse(policy_of(write(tmp_path / "a.csv", columns, ";"), **KEYS), reason)
    assert text not in message


def test_declared_dates_of_another_spelling_are_refused(tmp_path, refuse) -> None:
    document = policy_of(write(tmp_path / "a.csv", records(), ","))
    document["attributes"] = ATTRIBUTES | {"zip": {"role": QUASI, "date_format": "%d.%m.%Y"}}
    refuse(
        document, "column 'zip': the policy says date, but 200 of 200 values do not read as dates"
    )


def test_unconfirmed_roles_are_refused(tmp_path, refuse) -> None:
    path = write(tmp_path / "a.csv", records(), ",")
    refuse(policy_of(path) | {"unconfirmed": {QUASI: ["zip"]}}, "are suggestions (1 quasi-ident")


def test_plain_csv_is_read_by_arrow_alone(tmp_path) -> None:
    """The other spellings cost whoever has none of them nothing, and change nothing."""
    path = write(tmp_path / "a.csv", records(), ",")
    assert pv.read_csv(path)["pay"].to_pylist() == [float(p) for p in records()["pay"]]
    released = release(policy_of(path)).table["pay"].to_pylist()
    assert sorted(released) == sorted(map(float, records()["pay"]))
