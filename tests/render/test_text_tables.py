"""Tables in plain text: columns that line up as they are shown."""

from tclose.render.text_tables import align_rows, render_table


def test_columns_line_up_and_nothing_is_cut():
    rows = [("", "a", "bb"), ("*", "x" * 300, "1"), ("", "", "")]
    assert align_rows(rows) == ["   a" + " " * 301 + "bb", "*  " + "x" * 300 + "  1", ""]
    assert render_table([("k", "5"), ("  loss", "0.1")]) == "  k       5\n    loss  0.1"


def test_wide_letters_count_as_the_places_that_they_take():
    assert align_rows([("日本", "1"), ("abcd", "2"), ("é", "3")]) == [
        "日本  1", "abcd  2", "é     3",
    ]  # fmt: skip


def test_a_short_row_ends_in_a_text_over_the_columns_that_are_left():
    rows = [("k", "loss", "risk"), ("10", "0.5", "1"), ("5", "infeasible: too few records")]
    assert align_rows(rows, to_right=True) == [
        " k  loss  risk",
        "10   0.5     1",
        " 5  infeasible: too few records",
    ]
