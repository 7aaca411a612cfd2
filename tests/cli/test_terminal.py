"""Verdicts have a colour on a terminal, unless somebody wants none; files and pipes have none."""

import os
import subprocess
import sys

import pytest

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


def test_pipe_has_no_colours(capsys):
    from tclose.cli.terminal import show

    show("verdict  PASS")
    assert capsys.readouterr().out == "verdict  PASS\n"
