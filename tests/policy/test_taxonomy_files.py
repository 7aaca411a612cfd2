"""Taxonomies from files: as they are written, and errors that name the file and the place."""

from pathlib import Path

import pytest

from tclose.errors import PolicyError
from tclose.policy.taxonomy_files import read_taxonomy


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


class TestYaml:
    @pytest.mark.parametrize("name", ["t.yaml", "t.yml", "T.YAML"])
    def test_scalars_stay_as_they_are_written(self, tmp_path, name) -> None:
        text = "'*':\n  Nordic: [no, SE]\n  numbers: [1.50, 010, 2020-01-01, null, ~]\n  true: x\n"
        taxonomy = read_taxonomy(write(tmp_path, name, text))
        assert taxonomy.leaves == ("no", "SE", "1.50", "010", "2020-01-01", "null", "~", "x")
        assert taxonomy.names[8:] == ("Nordic", "numbers", "true", "*")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "nothing where"),
            ("'*': [a", "not valid YAML at line 1"),
            ("a: [b]\n---\nc: [d]\n", "not valid YAML at line 2"),
            ("*: [a, b]", r"not valid YAML at line 1; put a text that begins with \* in quotes"),
            ("'*':\n  x: [a]\n  y: [b]\n  x: [c]\n", "line 4: a name appears twice"),
            ("'*':\n  x: [a]\n  y:\n", "below 'y': a level without a name"),
            ("'*':\n  x: &here [a]\n  y: *here\n", "below 'y': a branch that appears elsewhere"),
            ("'*': &here\n  - a\n  - x: *here\n", "line 1: an alias is inside what it names"),
            ("? [a, b]\n: [c]\n", "not valid YAML"),
            ("'*': " + "[" * 5000, "not valid YAML"),
        ],
    )
    def test_refused(self, tmp_path, text, message) -> None:
        path = write(tmp_path, "t.yaml", text)
        with pytest.raises(PolicyError, match=rf"^taxonomy {path}: .*{message}"):
            read_taxonomy(path)


class TestCsv:
    @pytest.mark.parametrize(
        "text",
        [
            "a;x;*\nb;x;*\nc;y;*\n",
            "a,x,*\r\nb,x,*\r\nc,y,*",
            '\n"a";"x";"*"\n\nb;x;*\nc;y;*\n\n',
            "\ufeffa,x,*\nb,x,*\nc,y,*\n",
        ],
    )
    def test_lines(self, tmp_path, text) -> None:
        taxonomy = read_taxonomy(write(tmp_path, "t.csv", text))
        assert taxonomy.names == ("a", "b", "c", "x", "y", "*")
        assert taxonomy.parents.tolist() == [3, 3, 4, 5, 5, -1]

    def test_separators_within_names(self, tmp_path) -> None:
        taxonomy = read_taxonomy(write(tmp_path, "t.csv", "1;[0, 10);*\n12;[10, 20);*\n"))
        assert taxonomy.names == ("1", "12", "[0, 10)", "[10, 20)", "*")
        taxonomy = read_taxonomy(write(tmp_path, "t.csv", '"a;b","x;""y""",*\nc,*\n'))
        assert taxonomy.names == ("a;b", "c", 'x;"y"', "*")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "no values"),
            ("a;*\n\na;*\n", "line 3: a value that appears twice"),
            ("a;x;*\nb;;*\n", "line 2: a level without a name"),
            ('a;*\n"b"c;*\n', "line 2: not valid CSV"),
            ('a;*\n"b;*\n', "line 2: not valid CSV"),
            ("a\nb\n", "line 1: a value with nothing above it"),
        ],
    )
    def test_refused(self, tmp_path, text, message) -> None:
        path = write(tmp_path, "t.csv", text)
        with pytest.raises(PolicyError, match=rf"^taxonomy {path}: .*{message}"):
            read_taxonomy(path)


class TestFiles:
    def test_that_are_not_there(self, tmp_path) -> None:
        with pytest.raises(PolicyError, match=r"none\.csv: cannot be read \(No such file"):
            read_taxonomy(tmp_path / "none.csv")

    def test_of_another_kind(self, tmp_path) -> None:
        with pytest.raises(PolicyError, match=r"t\.txt: has to be a file \.yaml, \.yml or \.csv"):
            read_taxonomy(write(tmp_path, "t.txt", "a;*"))

    @pytest.mark.parametrize("name", ["t.csv", "t.yaml"])
    def test_in_another_encoding(self, tmp_path, name) -> None:
        with pytest.raises(PolicyError, match="not UTF-8 text; convert it"):
            read_taxonomy(write(tmp_path, name, "Köln;*".encode("latin-1")))
