"""A page of HTML as tests look at it."""

from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """Elements, attributes and texts of a page, in which every end is that of the open element.

    ``open``: elements that are not closed.
    """

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def tags(self) -> list[str]:
        """The elements' names."""
        return [tag for tag, _ in self.elements]

    @property
    def text(self) -> str:
        """All texts but styles."""
        return " ".join(self.texts)

    def all(self, tag: str) -> list[dict[str, Any]]:
        """Attributes of each element of a name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def values(self, attribute: str) -> list[str]:
        """All values of an attribute, as they are."""
        return [of[attribute] for _, of in self.elements if attribute in of]
