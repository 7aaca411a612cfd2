"""Texts that fixed-width arrays, readers or file systems would change are released as they are."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    PASSTHROUGH,
    QUASI,
    people,
    policy_for,
    release,
    write_csv,
    write_parquet,
)
from tclose.assess.auditing.audit import audit_release
from tclose.assess.frontier import compute_frontier
from tclose.assess.frontier_grid import FrontierGrid
from tclose.methods.generalisation.notation import parse_set
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")

N_RECORDS = 180
LONG = "x" * 3_000
ODD = ["low", "low\0", "low\0\0", "\0", "", "a\0b", "\u00e9", "e\u0301", LONG, LONG + "\0"]
NAMED = [text for text in ODD if text]
SHORT = [text for text in NAMED if len(text) < 100]
TAXONOMY = {"all\0": {"o\0": NAMED[:4], "o": NAMED[4:]}}


def write_odd(folder, texts=tuple(ODD)):
    """People with a column of odd texts, and one that says which text it is by its number."""
    places = np.random.default_rng(5).integers(0, len(texts), N_RECORDS)
    words = pa.array([texts[i] for i in places])
    table = people(N_RECORDS, word=words, place=places)
    return write_parquet(folder / "people.parquet", table), table


def make_document(path, word: Any, **changes: Any) -> dict[str, Any]:
    document = policy_for(path, privacy={"k": 3, "t": 0.5}) | changes
    document["attributes"] |= {"word": word, "place": PASSTHROUGH}
    return document


def pair_up(table: pa.Table) -> Counter:
    return Counter(zip(table["word"].to_pylist(), table["place"].to_pylist(), strict=True))


def check_pairs(made, table: pa.Table) -> None:
    """Every record's text is released beside the record's own number."""
    assert audit_release(made.folder).findings == []
    assert pair_up(made.table) == pair_up(table)


class TestParquet:
    @pytest.mark.parametrize("order", [ODD, ODD[::-1]], ids=["up", "down"])
    def test_ordinal_confidential(self, order, tmp_path):
        path, table = write_odd(tmp_path)
        word = {"role": CONFIDENTIAL, "type": "ordinal", "order": order}
        check_pairs(release(make_document(path, word)), table)

    @pytest.mark.parametrize("keys", [{"distance": "equal"}, {"taxonomy": TAXONOMY}])
    def test_nominal_confidential(self, keys, tmp_path):
        path, table = write_odd(tmp_path, NAMED)
        check_pairs(release(make_document(path, {"role": CONFIDENTIAL} | keys)), table)

    def test_passthrough(self, tmp_path):
        path, table = write_odd(tmp_path)
        check_pairs(release(make_document(path, PASSTHROUGH)), table)

    def test_dictionary_of_passthrough(self, tmp_path):
        path, table = write_odd(tmp_path)
        coded = table.set_column(3, "word", table["word"].dictionary_encode())
        write_parquet(path, coded)
        check_pairs(release(make_document(path, PASSTHROUGH)), table)

    @pytest.mark.parametrize(
        "keys",
        [{"type": "ordinal", "order": ODD}, {}, {"taxonomy": TAXONOMY}],
        ids=["ordinal", "nominal", "taxonomy"],
    )
    def test_quasi_identifier(self, keys, tmp_path):
        path, _ = write_odd(tmp_path, NAMED)
        made = release(make_document(path, {"role": QUASI} | keys))
        assert audit_release(made.folder).findings == []
        assert set(made.table["word"].to_pylist()) <= set(ODD)

    def test_partition_of_passthrough(self, tmp_path):
        path, table = write_odd(tmp_path, SHORT)
        output = {"path": str(tmp_path / "releases"), "partition_by": ["word"]}
        made = release(make_document(path, PASSTHROUGH, output=output, privacy={"k": 2, "t": 1}))
        assert audit_release(made.folder).findings == []
        words = ds.partitioning(pa.schema([("word", pa.string())]), flavor="hive")
        read = ds.dataset(made.folder / "data", partitioning=words).to_table()
        assert pair_up(read) == pair_up(table)


class TestCsv:
    @pytest.mark.parametrize(
        "word",
        [
            {"role": CONFIDENTIAL, "type": "ordinal", "order": NAMED},
            {"role": CONFIDENTIAL},
            PASSTHROUGH,
        ],
        ids=["ordinal", "nominal", "passthrough"],
    )
    def test_values_stay(self, word, tmp_path):
        _, table = write_odd(tmp_path, NAMED)
        path = write_csv(tmp_path / "people.csv", table)
        check_pairs(release(make_document(path, word)), table)


class TestGeneralised:
    def test_set_of_values(self, tmp_path):
        path, _ = write_odd(tmp_path)
        document = make_document(path, QUASI, method={"name": "mondrian"})
        made = release(document)
        assert audit_release(made.folder).findings == []
        covered = {text: set(parse_set(text)) for text in set(made.table["word"].to_pylist())}
        rows = zip(made.table["word"].to_pylist(), made.table["place"].to_pylist(), strict=True)
        assert all(ODD[place] in covered[text] for text, place in rows)

    def test_names_of_nodes(self, tmp_path):
        path, _ = write_odd(tmp_path, NAMED)
        word = {"role": QUASI, "taxonomy": TAXONOMY}
        made = release(make_document(path, word, method={"name": "mondrian"}))
        assert audit_release(made.folder).findings == []
        below = {"o\0": set(NAMED[:4]), "o": set(NAMED[4:]), "all\0": set(NAMED)}
        rows = zip(made.table["word"].to_pylist(), made.table["place"].to_pylist(), strict=True)
        for text, place in rows:
            (name,) = parse_set(text)
            assert NAMED[place] in below.get(name, {name})
        assert {parse_set(text)[0] for text in set(made.table["word"].to_pylist())} & below.keys()

    def test_frontier_names_of_nodes(self, tmp_path):
        """The record-linkage risk of nodes whose names differ by a NUL alone."""
        path, _ = write_odd(tmp_path, NAMED)
        word = {"role": QUASI, "taxonomy": TAXONOMY}
        policy = parse_policy(make_document(path, word, method={"name": "mondrian"}))
        grid = FrontierGrid((3,), (0.5,), 3, 0.5)
        found = compute_frontier(policy, grid, 1_000, 1, Progress("none"))
        assert [point.reason for point in found.points] == [""]
