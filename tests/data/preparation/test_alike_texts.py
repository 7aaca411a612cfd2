"""Texts that a reader takes for one another."""

import pyarrow as pa
import pytest

from tclose.data.preparation.alike_texts import count_alike


@pytest.mark.parametrize(
    ("texts", "n_alike"),
    [
        ([], 0),
        (["a", "b", "ab"], 0),
        (["male", "Male", "male ", "female"], 3),
        (["a b", "a  b", "a\u00a0b", "a\tb"], 4),
        (["\u00e9", "e\u0301", "e"], 2),
        (["M\u00dcNCHEN", "m\u00fcnchen", "muenchen"], 2),
        (["", " "], 2),
        (["01", "1"], 0),
    ],
)
def test_capitals_blanks_and_composed_characters_do_not_count(texts, n_alike):
    assert count_alike(pa.array(texts, pa.string())) == n_alike
