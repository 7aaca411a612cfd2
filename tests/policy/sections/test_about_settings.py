"""The publisher's words: lines and paragraphs, without characters that move what is shown."""

import pytest
from pydantic import ValidationError

from tclose.policy.sections.about_settings import AboutSettings

LINES = ("title", "publisher", "contact", "licence")
PARAGRAPHS = ("description", "citation")


def test_nothing_has_to_be_said() -> None:
    assert set(AboutSettings().model_dump().values()) == {None}


@pytest.mark.parametrize(("keys", "most"), [(LINES, 200), (PARAGRAPHS, 4000)])
def test_words_have_a_length(keys: tuple[str, ...], most: int) -> None:
    for key in keys:
        assert getattr(AboutSettings.model_validate({key: "ä" * most}), key) == "ä" * most
        for refused in ("", "a" * (most + 1)):
            with pytest.raises(ValidationError, match=key):
                AboutSettings.model_validate({key: refused})


@pytest.mark.parametrize("character", ["\0", "\t", "\r", "\x1b", "\x7f"])
def test_no_word_has_a_control_character(character: str) -> None:
    for key in (*LINES, *PARAGRAPHS):
        with pytest.raises(ValidationError, match=key):
            AboutSettings.model_validate({key: f"a{character}b"})


def test_only_paragraphs_have_lines() -> None:
    assert AboutSettings(description="a\nb").description == "a\nb"
    with pytest.raises(ValidationError, match="title"):
        AboutSettings(title="a\nb")
