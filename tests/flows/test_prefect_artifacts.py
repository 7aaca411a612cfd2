"""What artifacts say: of every kind of failure what to do, and nothing that a value could be in."""

import base64
import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from tclose import errors
from tclose.data.places.locations import parse_location
from tclose.errors import ChangedInputError, InfeasibleError, TcloseError
from tclose.releases.manifest.figure_sections import Shares

KINDS = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, TcloseError)
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_failure_says_what_to_do_and_whether_it_was_tried_again(kind):
    from tclose_flows.pages.failures import describe_failure

    text = describe_failure(kind("the message\nin two lines"), "release: failed")
    head, advice = text.split("\n## What to do\n\n")
    assert "    the message\n    in two lines\n" in head
    assert advice.strip()
    again = kind.retryable or kind.exit_code == 1
    assert ("What was finished is kept" in head) == again
    assert ("It was not tried again" in advice) == (not again)


def test_input_that_changed_is_not_said_to_fail_again():
    from tclose_flows.pages.failures import advise

    told = advise(ChangedInputError("changed while it was read; run again when it is at rest"))
    assert told == (
        "Run again when nothing writes to the input any more. It was not tried again, as the "
        "files may still be written for a while."
    )


def test_partition_is_not_named():
    from tclose_flows.pages.failures import describe_failure

    error = InfeasibleError("partition site=Bergen: is too far", partition="partition site=Bergen")
    assert "    a partition: is too far\n" in describe_failure(error, "failed")
    assert "Bergen" not in describe_failure(error, "failed")
    told = error.redacted()
    assert (type(told), told.whole) == (InfeasibleError, error)
    whole = TcloseError("the table: is too far", partition="the table")
    assert whole.redacted() is whole


def test_tables_hold_any_text():
    from tclose_flows.pages.prefect_artifacts import table

    rows = table(("a|b", "c"), [("x\ny", "<b>*1*</b>"), ("  deeper", "2")])
    assert rows == [
        r"| a\|b | c |",
        "| --- | --- |",
        r"| x y | \<b\>\*1\*\</b\> |",
        "| · deeper | 2 |",
    ]


def test_long_messages_fit_the_page():
    from tclose_flows.pages.prefect_artifacts import quote

    message = "name: " + "a word " * 40 + "\n  key: [x]"
    lines = quote(message)
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()) == " ".join(message.split())
    assert all(line.startswith("    ") for line in lines)


def test_remedy_of_a_time_that_was_over_is_more_time():
    from tclose_flows.pages.failures import advise
    from tclose_flows.release_flow import describe

    assert "`timeout_minutes`" in advise(describe(TimeoutError(), "release"))


def test_remedy_names_the_policy_of_the_run():
    from tclose_flows.pages.failures import advise

    advice = advise(InfeasibleError("never"), "a.yaml --set k=9")
    assert "`tclose plan a.yaml --set k=9`" in advice


def test_a_folder_is_named_once_and_a_bucket_has_links():
    from tclose_flows.pages.prefect_artifacts import _links

    folder = "\n".join(_links(Path("/releases/people/0a")))
    assert folder.count("/releases/people/0a") == 1
    assert "`report.html`" in folder
    assert "to hand out: all but `internal`" in folder  # a part of it does not pass an audit
    bucket = _links(parse_location("s3://bucket/releases/people/0a"))
    assert "- report: [`s3://bucket/releases/people/0a/report.html`]" in "\n".join(bucket)


def test_pictures_show_distances_and_no_values():
    from tclose_flows.pages.prefect_artifacts import _pictures

    distances = [0.0] * 10 + [1.0] + [0.0] * 9
    of_pay = SimpleNamespace(distances=distances, table=Shares(labels=["secret"], shares=[1.0]))
    manifest: Any = SimpleNamespace(
        figures=SimpleNamespace(attributes={"pay <€>": of_pay, "free": of_pay}),
        privacy=SimpleNamespace(t={"pay <€>": SimpleNamespace(asked=0.2)}),
    )
    [line, gap] = _pictures(manifest)
    assert gap == ""
    [alt, data] = re.findall(r"!\[(.*)\]\(data:image/svg\+xml;base64,(.*)\)", line)[0]
    assert alt == r"pay \<€\>: classes by distance"
    drawn = ElementTree.fromstring(base64.b64decode(data))
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    assert [one.text for one in drawn][:2] == [
        "pay <€>: classes by distance", "0.1 to 0.11: 100 %",
    ]  # fmt: skip
    assert "secret" not in base64.b64decode(data).decode()
    manifest.figures = None
    assert _pictures(manifest) == []


def test_places_are_linked_by_their_own_url_and_paths_are_text():
    from tclose_flows.pages.prefect_artifacts import _link

    assert _link(Path("/releases/a b")) == "`/releases/a b`"
    bucket = parse_location("s3://bucket/releases")
    assert _link(bucket) == "[`s3://bucket/releases`](<s3://bucket/releases>)"
