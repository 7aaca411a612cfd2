"""Verdicts have a colour on a terminal, unless somebody wants none; files and pipes have none."""

import os
import subprocess
import sys

import pytest

from support.cases.people import policy_for, write_policy
from tclose.cli.main import main
from tclose.cli.terminal import say

PRINTS = (
    "from tclose.cli.terminal import show; show('  verdict  PASS\\n  verdict  FAIL\\n  PASSED')"
)


@pytest.mark.parametrize(
    ("environment", "printed"),
    [
        (
            {"TERM": "xterm"},
            "  verdict  \x1b[32mPASS\x1b[0m\n  verdict  \x1b[31mFAIL\x1b[0m\n  PASSED",
        ),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "  verdict  PASS\n  verdict  FAIL\n  PASSED"),
        ({"TERM": "dumb"}, "  verdict  PASS\n  verdict  FAIL\n  PASSED"),
    ],
)
def test_colours_of_verdicts_on_a_terminal(environment, printed):
    reader, writer = os.openpty()
    try:
        kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        subprocess.run(
            [sys.executable, "-c", PRINTS], env=kept | environment, stdout=writer, check=True
        )
        shown = os.read(reader, 10_000).decode()
    finally:
        os.close(writer)
        os.close(reader)
    assert shown.replace("\r\n", "\n").rstrip() == printed


def test_names_of_files_and_columns_move_nothing(tmp_path, capsys):
    (tmp_path / "a\x1b[31m.csv").write_text("")
    policy = write_policy(tmp_path / "policy.yaml", policy_for(tmp_path / "*.csv"))
    assert main(["run", str(policy)]) == 2
    say("wrote a\x1b[31m.csv\nand more")
    printed = capsys.readouterr()
    assert r"a\x1b[31m.csv" in printed.err
    assert printed.out == "wrote a\\x1b[31m.csv\nand more\n"
    assert "\x1b" not in printed.err


def test_pipe_has_no_colours(capsys):
    from tclose.cli.terminal import show

    show("verdict  PASS")
    assert capsys.readouterr().out == "verdict  PASS\n"
