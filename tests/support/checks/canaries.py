"""Values that must not leave, and searches of pages that could show them."""

from html.parser import HTMLParser

CANARY_ID = "CANARY-IDENTIFIER-7f3a"
CANARY_PLACE = "canary-quasi-identifier-c41d"
CANARY_AGE = 73_141_592
CANARY_CHARGE = 918_273_645.25


class Page(HTMLParser):
    """Elements of a page, and whether it loads or runs anything."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
