"""Tables in plain text: the same on a terminal, in a file and in a pipe, nothing cut or coloured.

rich tells how wide a text is shown. Its tables are not used: for the same output they take as many
lines of code, and they have no text that spans columns, so that the reason why a point of a
frontier is infeasible would come to stand beyond the right edge of a terminal.
"""

from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len


def render_table(rows: Sequence[tuple[str, str]]) -> str:
    """Two columns, indented: names and texts."""
    return "\n".join(align_rows([("", name, text) for name, text in rows]))


def align_rows(rows: Sequence[Sequence[str]], *, to_right: bool = False) -> list[str]:
    """Rows as lines: each column as wide as its widest cell, two blanks between columns.

    Parameters
    ----------
    rows : the first has a cell for each column; the last cell of a row with fewer spans the rest
    to_right : cells are aligned to the right, those that span columns excepted
    """
    in_columns = [row if len(row) == len(rows[0]) else row[:-1] for row in rows]
    columns = zip_longest(*in_columns, fillvalue="")
    widths = [max(map(cell_len, column)) for column in columns]
    lines = []
    for row, cells in zip(rows, in_columns, strict=True):
        padding = [
            " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=False)
        ]
        aligned = [
            pad + cell if to_right else cell + pad for cell, pad in zip(cells, padding, strict=True)
        ]
        lines.append("  ".join([*aligned, *row[len(cells) :]]).rstrip())
    return lines
