"""The page of results: what is measured is rewritten, the rest stays."""

import pytest

from benchmarks.results import (
    BY_HAND,
    NOTED,
    PREAMBLE,
    Target,
    append_row,
    describe_command,
    read_page,
    read_sections,
    render_table,
    render_targets,
    replace_sections,
    update_page,
)

PAGE = replace_sections("", {"Time": "first\n\n### inner", BY_HAND: "| a |\n| --- |", "Loss": "x"})


class TestSections:
    def test_page_begins_with_the_preamble_and_ends_with_runs_by_hand(self):
        assert PAGE.startswith(f"{PREAMBLE}\n\n- Sections: [Time](#time), [Loss](#loss), ")
        assert "[Run by hand](#run-by-hand)\n\n## Time\n\nfirst\n" in PAGE
        assert list(read_sections(PAGE)) == ["Time", "Loss", BY_HAND]
        assert PAGE.endswith("| --- |\n")

    def test_measured_ones_are_replaced_in_their_place(self):
        page = replace_sections(PAGE, {"Time": "second"})
        assert read_sections(page) == read_sections(PAGE) | {"Time": "second"}
        assert list(read_sections(page)) == list(read_sections(PAGE))

    def test_what_was_written_by_hand_below_a_section_stays(self):
        page = replace_sections(PAGE, {"Time": f"second\n\n{NOTED}\n\na word"})
        page = replace_sections(page, {"Time": "third", "Loss": "y"})
        sections = {"Time": f"third\n\n{NOTED}\n\na word", "Loss": "y"}
        assert read_sections(page) == read_sections(PAGE) | sections

    def test_nothing_measured_changes_nothing(self):
        assert replace_sections(PAGE, {}) == PAGE

    def test_what_stands_before_the_first_section_is_not_kept(self):
        assert replace_sections("old words\n", {}) == f"{PREAMBLE}\n"

    def test_files(self, tmp_path):
        path = tmp_path / "RESULTS.md"
        assert read_page(path) == ""
        update_page(path, {"Loss": "1"})
        update_page(path, {"Time": "2"})
        assert read_sections(path.read_text()) == {"Loss": "1", "Time": "2"}


class TestOverview:
    def test_sections_of_one_subject_stand_together(self):
        page = replace_sections("", {"Loss": "x", "Time: 1,000 `a`": "y", "Loss: far, k 5": "z"})
        assert "- Loss: [in general](#loss), [far, k 5](#loss-far-k-5)\n" in page
        assert "\n- Others: [Time: 1,000 `a`](#time-1000-a)\n" in page

    def test_what_is_not_met_is_told_at_the_top(self):
        targets = [Target("a", 2, 3.0), Target("b", 2, 1.0), Target("c", 2, None)]
        page = replace_sections("", {"Time": render_targets(targets)})
        overview, _ = page.split("\n## Time\n")
        assert overview.splitlines()[-1] == "| [Time](#time) | a | at most 2 | 3 |"
        assert "Wanted, and not met" not in replace_sections("", {"Time": "| a | met |"})


class TestAppendRow:
    def test_table_is_made_once(self):
        page = append_row("", "note", ["a", "b"], ["1", "2"])
        page = append_row(page, "another", ["a", "b"], ["3", "4"])
        assert read_sections(page) == {
            BY_HAND: "note\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"
        }


class TestTarget:
    @pytest.mark.parametrize(
        ("found", "at_least", "verdict"),
        [
            (0.5, False, "met"),
            (0.51, False, "**not met**"),
            (0.5, True, "met"),
            (0.49, True, "**not met**"),
            (None, False, "not measured"),
            (None, True, "not measured"),
        ],
    )
    def test_verdict(self, found, at_least, verdict):
        target = Target("loss", 0.5, found, at_least)
        assert target.is_met is (verdict == "met")
        assert target.cells[-1] == verdict
        assert target.cells[1] == ("at least 0.5" if at_least else "at most 0.5")

    def test_table(self):
        text = render_targets([Target("loss", 0.5, 0.123456)])
        assert text.splitlines()[-1] == "| loss | at most 0.5 | 0.12346 | met |"
        assert render_table(["a"], []) == "| a |\n| --- |"


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], "python -m benchmarks.performance.run"),
        (["--out", "a b", "--full"], "python -m benchmarks.performance.run --full"),
        (["--only", "a b", "--folder", "c"], "python -m benchmarks.performance.run --only 'a b'"),
    ],
)
def test_command(arguments, command):
    assert describe_command("benchmarks.performance.run", arguments) == command
