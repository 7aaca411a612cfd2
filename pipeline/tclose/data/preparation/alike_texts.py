"""Texts that a reader takes for one another: they differ in capitals or blanks alone."""

import pyarrow as pa
import pyarrow.compute as pc


def count_alike(texts: pa.Array) -> int:
    """Count the texts that another one differs from in no more than how it is written.

    That is in capitals, in blanks, or in how its characters are composed (Unicode, Annex 15:
    NFKC), as ``M``, ``m`` and ``m `` are.

    Parameters
    ----------
    texts : distinct ones
    """
    folded = pc.utf8_lower(pc.utf8_normalize(texts, form="NFKC"))
    folded = pc.utf8_trim_whitespace(pc.replace_substring_regex(folded, r"\s+", " "))
    n_of = pc.value_counts(folded).field("counts")
    return pc.sum(n_of.filter(pc.greater(n_of, 1))).as_py() or 0
