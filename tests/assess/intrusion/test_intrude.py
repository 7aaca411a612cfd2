"""The command, with a program in the place of the other Python that has Anonymeter."""

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    QUASI,
    Released,
    people,
    policy_for,
    release,
    tree,
    write_parquet,
    write_policy,
)
from tclose.cli.main import main
from tclose.releases.repository.contents import is_intact

N_RELEASED, N_HELD_OUT = 300, 150
CANARY = "canary-town-7b21"
FIGURES = {
    "attacks": 100, "rate": 0.25, "control": 0.1251, "baseline": 0.01, "risk": 0.14286,
    "low": 0.1, "high": 0.2,
}  # fmt: skip
# It notes what it is given and what it finds, and answers as it is told to.
PROGRAM = """#!{python} -I
import json, os, pathlib, stat, sys
beside = pathlib.Path({beside!r})
folder = pathlib.Path(sys.argv[-1])
request = json.loads((folder / "request.json").read_text())
tables = {{path.stem: path.read_bytes().hex() for path in folder.glob("*.parquet")}}
seen = dict(folder=str(folder), mode=stat.S_IMODE(folder.stat().st_mode), request=request,
            variables=sorted(os.environ), words=sys.argv[1:-1], tables=tables)
beside.joinpath("seen.json").write_text(json.dumps(seen))
results = [dict({figures!r}) for _ in request["attacks"]]
{answer}
"""
ANSWER = 'print(json.dumps(dict(version="9.9", results=results)))'


@pytest.fixture(scope="module")
def made(tmp_path_factory: Any) -> Released:
    """A release of the first records; the others are beside it as a hold-out, with the policy."""
    place = tmp_path_factory.mktemp("people")
    n = N_RELEASED + N_HELD_OUT
    towns = [CANARY if i % 7 == 0 else "b" for i in range(n)]
    table = people(n, town=towns)
    document = policy_for(write_parquet(place / "in.parquet", table[:N_RELEASED]))
    document["attributes"] |= {"town": {"role": QUASI, "type": "nominal"}, "pay": CONFIDENTIAL}
    write_parquet(place / "holdout.parquet", table[N_RELEASED:])
    write_policy(place / "people.yaml", document)
    return release(document)


def write_program(folder: Path, answer: str = ANSWER) -> Path:
    program = folder / "other-python"
    text = PROGRAM.format(python=sys.executable, beside=str(folder), figures=FIGURES, answer=answer)
    program.write_text(text)
    program.chmod(0o755)
    return program


def place_of(made: Released) -> Path:
    return made.folder.parents[2]


def intrude(made: Released, program: Path | str, *more: str, holdout: Path | None = None) -> int:
    place = place_of(made)
    given = ["--originals", str(place / "people.yaml"), "--python", str(program), "--quiet"]
    held_out = place / "holdout.parquet" if holdout is None else holdout
    return main(["intrude", str(made.folder), *given, "--holdout", str(held_out), *more])


def test_what_was_found_is_in_a_page_outside_of_the_release(made, tmp_path, capsys) -> None:
    before = tree(made.folder)
    out = tmp_path / "intruder.html"
    assert intrude(made, write_program(tmp_path), "--out", str(out), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["library"], found["records"], found["held_out"]) == ("anonymeter 9.9", 300, 150)
    assert found["attacks"][0] == {
        "kind": "linkability", "known": ["age", "town"], "secret": ["sex"], "attacks": 100,
        "rate": 0.25, "control": 0.125, "baseline": 0.01, "risk": 0.143, "low": 0.1, "high": 0.2,
    }  # fmt: skip
    assert [attack["kind"] for attack in found["attacks"][1:]] == [
        "linkability", "inference",
        *2 * ["singling-out-univariate", "singling-out-multivariate"],
    ]  # fmt: skip
    page = out.read_text()
    assert "Motivated intruder" in page
    assert "age, town, with sex (100 persons)" in page
    assert "not sealed" in page
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert tree(made.folder) == before
    assert is_intact(made.folder)
    assert "Motivated" not in (made.folder / "report.html").read_text()


def test_the_program_sees_numbers_for_names_in_a_private_folder_that_goes(made, tmp_path, capsys):
    assert intrude(made, write_program(tmp_path), "--attacks", "120", "--seed", "4") == 0
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["mode"] == 0o700
    assert not Path(seen["folder"]).exists()
    assert set(seen["variables"]) <= {"HOME", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH", "TMPDIR"}
    assert (seen["request"]["seed"], seen["request"]["n_attacks"]) == (4, 120)
    tables = {
        name: pq.read_table(pa.BufferReader(bytes.fromhex(text)))
        for name, text in seen["tables"].items()
    }
    assert {name: len(table) for name, table in tables.items()} == {
        "original": 300, "released": 300, "control": 150,
    }  # fmt: skip
    originals = pq.read_table(place_of(made) / "in.parquet")
    codes = dict(zip(("age", "sex", "pay", "town"), tables["original"].column_names, strict=True))
    assert tables["original"][codes["age"]].to_pylist() == originals["age"].to_pylist()
    assert set(tables["original"][codes["town"]].to_pylist()) == {"v0", "v1"}
    assert all(CANARY.encode().hex() not in text for text in seen["tables"].values())
    table = capsys.readouterr().out
    assert "linkability: age, town with sex" in table
    assert CANARY not in table


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        ("sys.exit(f'Bonn {folder}')", 1, "ended with status 1 and no answer; it has to be a"),
        ("print('Bonn')", 1, "ended with status 0 and no answer; it has to be a Python in which"),
        ('print(\'{"missing": "polars"}\')', 2, "has no module 'polars'; install anonymeter 1.1"),
        (ANSWER.replace("results)", "results[1:])"), 1, "some of the attacks were not answered"),
        (f"results[2] = dict(error='KeyError'); {ANSWER}", 1, "inference of 'pay' failed (KeyErro"),
        (f"del results[0]['rate']; {ANSWER}", 1, "linkability has no figures"),
        (f"results[0]['rate'] = 2.0; {ANSWER}", 1, "linkability has no figures"),
    ],
)
def test_what_the_program_cannot_do_is_one_line(made, tmp_path, capsys, answer, status, said):
    out = tmp_path / "intruder.html"
    assert intrude(made, write_program(tmp_path, answer), "--out", str(out)) == status
    [line] = capsys.readouterr().err.splitlines()
    assert said in line
    assert "Bonn" not in line
    assert not out.exists()
    assert not Path(json.loads((tmp_path / "seen.json").read_text())["folder"]).exists()


def test_tables_that_cannot_be_compared_are_refused(made, tmp_path, capsys) -> None:
    table = pq.read_table(place_of(made) / "holdout.parquet")
    few = write_parquet(tmp_path / "few.parquet", table[:99])
    text = table.set_column(0, "age", table["age"].cast(pa.string()))
    text = write_parquet(tmp_path / "text.parquet", text)
    lacking = write_parquet(tmp_path / "lacking.parquet", table.drop_columns(["pay"]))
    cases = {
        few: "--holdout: has 99 complete records; keep 100 at least out of the release",
        place_of(made) / "in.parquet": "records are among the originals",
        text: "'age'",
        lacking: "'pay'",
        tmp_path / "none.parquet": "none.parquet",
    }
    for path, said in cases.items():
        assert intrude(made, write_program(tmp_path), holdout=path) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert said in line
    assert not (tmp_path / "seen.json").exists()


def test_originals_of_another_release_are_refused(made, tmp_path, capsys) -> None:
    """Also as many, of which one record has another value, and whatever their order."""
    table = pq.read_table(place_of(made) / "in.parquet")
    pay = table["pay"].to_pylist()
    other = table.set_column(2, "pay", pa.array([*pay[:-1], pay[-1] + 1], table["pay"].type))
    assert table.column_names[2] == "pay"
    cases = {
        write_parquet(tmp_path / "other.parquet", other): "differ from the released ones in pay; ",
        write_parquet(tmp_path / "more.parquet", pa.concat_tables([table, table[:1]])): (
            "reads 301 complete records, and the release has 300; name the policy and the input"
        ),
    }
    for path, said in cases.items():
        assert intrude(made, write_program(tmp_path), "--set", f"input.path={path}") == 2
        [line] = capsys.readouterr().err.splitlines()
        assert said in line
    assert not (tmp_path / "seen.json").exists()
    turned = write_parquet(
        tmp_path / "turned.parquet", table.take(pa.array(range(len(table) - 1, -1, -1)))
    )
    assert intrude(made, write_program(tmp_path), "--set", f"input.path={turned}") == 0


def test_originals_of_another_release_are_refused_where_records_may_be_left_out(
    tmp_path, capsys
) -> None:
    """One record has another value; the number is that of the release."""
    rents = [400 + i % 50 for i in range(N_RELEASED - 5)] + [9_000 * i for i in range(1, 6)]
    n = N_RELEASED + N_HELD_OUT
    table = people(n, rent=[*rents, *rents[:N_HELD_OUT]])
    document = policy_for(write_parquet(tmp_path / "in.parquet", table[:N_RELEASED]))
    document |= {"suppress": {"at_most": "2%"}, "privacy": {"k": 4, "t": 0.4}}
    document["attributes"]["rent"] = QUASI
    made = release(document)
    assert made.manifest["records"] < N_RELEASED
    policy = write_policy(tmp_path / "people.yaml", document)
    write_parquet(tmp_path / "holdout.parquet", table[N_RELEASED:])
    given = ["intrude", str(made.folder), "--originals", str(policy), "--quiet", "--holdout"]
    given += [str(tmp_path / "holdout.parquet"), "--python", str(write_program(tmp_path))]
    assert main(given) == 0
    pay = table["pay"][:N_RELEASED].to_pylist()
    other = table[:N_RELEASED].set_column(2, "pay", pa.array([pay[0] + 1, *pay[1:]]))
    path = write_parquet(tmp_path / "other.parquet", other)
    assert main([*given, "--set", f"input.path={path}"]) == 2
    assert "records that differ from the released ones in pay; name" in capsys.readouterr().err


def test_options_are_refused_before_anything_is_read(made, tmp_path, capsys) -> None:
    program = write_program(tmp_path)
    inside = made.folder / "internal" / "intruder.html"
    cases: list[tuple[tuple[Any, ...], str]] = [
        ((tmp_path / "no-python",), "no-python: is no program; name a Python in which anonymeter"),
        ((program, "--attacks", "0"), "--attacks 0: has to be at least 1"),
        ((program, "--seed", "-1"), "--seed -1: has to be from 0 to 4,294,967,295"),
        ((program, "--out", str(tmp_path / "page.txt")), "has to end in .html"),
        ((program, "--out", str(tmp_path / "no" / "page.html")), "cannot be written"),
        ((program, "--out", str(inside)), "is in the release, which does not change"),
        ((program, "--set", "name=other", "--originals", "no.yaml"), "no.yaml"),
    ]
    for given, said in cases:
        assert intrude(made, *given) == 2
        assert said in capsys.readouterr().err
    assert not inside.exists()


def test_a_release_without_its_inside_is_attacked_without_a_page(made, tmp_path, capsys) -> None:
    import shutil

    copy = tmp_path / "release" / made.folder.name
    shutil.copytree(made.folder, copy, ignore=shutil.ignore_patterns("internal"))
    handed_out = Released(copy, made.manifest)
    place = place_of(made)
    given = ["intrude", str(copy), "--originals", str(place / "people.yaml"), "--quiet"]
    given += ["--holdout", str(place / "holdout.parquet"), "--python", str(write_program(tmp_path))]
    assert main(given) == 0
    assert main([*given, "--out", str(tmp_path / "page.html")]) == 2
    assert "has no internal manifest here" in capsys.readouterr().err
    [name, *_] = handed_out.paths
    with (copy / name).open("ab") as stream:
        stream.write(b"more")
    assert main(given) == 2
    assert "is damaged; run `tclose audit` on it" in capsys.readouterr().err


def test_originals_of_prepared_values_are_known(tmp_path) -> None:
    """Rounded before they are protected, with records dropped for a missing value."""
    table = people(N_RELEASED + N_HELD_OUT)
    ages = [None if i % 50 == 0 else age for i, age in enumerate(table["age"].to_pylist())]
    table = table.set_column(0, "age", pa.array(ages, table["age"].type))
    document = policy_for(write_parquet(tmp_path / "in.parquet", table[:N_RELEASED]))
    document["attributes"]["pay"] = {"role": CONFIDENTIAL, "round": 7}
    write_parquet(tmp_path / "holdout.parquet", table[N_RELEASED:])
    write_policy(tmp_path / "people.yaml", document | {"missing": "drop"})
    made = release(document | {"missing": "drop"})
    assert intrude(made, write_program(tmp_path)) == 0
