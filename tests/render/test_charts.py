"""Figures: the same bytes for the same content, as XML, and an error where nothing can draw."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tclose.errors import UsageError
from tclose.render.charts import COLOURS, chart_style, line_styles, make_figure, to_svg


def draw(name: str = "a") -> str:
    with chart_style():
        figure = make_figure(4, 3, "title", ["basis $x$ <&>"])
        figure.subplots().plot([1, 2], [1, 4], label=name)
        figure.legend()
        return to_svg(figure, "title")


def test_the_same_figures_give_the_same_bytes_whatever_is_set_up():
    matplotlib = pytest.importorskip("matplotlib")
    first = draw()
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.hashsalt": None}):
        assert draw() == first
    assert draw("b") != first


# Prints what was taken from the working folder, and then a figure.
DRAWS = """
import sys; sys.path.insert(0, {tests!r})
from render.test_charts import draw
drawn = draw()
import matplotlib
print(matplotlib.rcParams['backend_fallback'])
print(drawn)
"""


@pytest.mark.parametrize("planted", ["backend_fallback: False", "text.usetex: True", "\xff: ["])
def test_settings_in_the_working_folder_are_not_read(planted, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "matplotlibrc").write_bytes(planted.encode("latin-1"))
    script = DRAWS.format(tests=str(Path(__file__).parents[1]))
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, b"")
    said, drawn = ended.stdout.decode().split("\n", 1)
    assert said == "True"
    assert drawn.strip() == draw().strip()


def test_text_stays_text_and_says_no_date():
    pytest.importorskip("matplotlib")
    drawn = draw()
    texts = [e.text for e in ElementTree.fromstring(drawn).iter() if e.tag.endswith("text")]
    assert {"title", "basis $x$ <&>", "a"} <= set(texts)
    assert drawn.startswith("<svg ")
    assert "date" not in drawn
    assert "matplotlib.org" not in drawn


def test_without_matplotlib_one_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'tclose\[charts\]'"):
        draw()


def test_lines_below_others_are_wider_and_colours_begin_again():
    styles = line_styles(len(COLOURS) + 2, thinnest=1.5, step=1.0)
    assert [style["color"] for style in styles] == [*COLOURS, *COLOURS[:2]]
    assert [style["linewidth"] for style in styles] == [4.5] * 6 + [3.5, 2.5, 1.5]
