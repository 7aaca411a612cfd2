"""What artifacts say: of every kind of failure what to do, and nothing that a value could be in."""

import inspect

import pytest

from tclose import errors
from tclose.errors import InfeasibleError, TcloseError

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_failure_says_what_to_do_and_whether_it_was_tried_again(kind):
    from tclose_flows.prefect_artifacts import describe_failure

    text = describe_failure(kind("the message\nin two lines"), "release: failed")
    head, advice = text.split("\n## What to do\n\n")
    assert "    the message\n    in two lines\n" in head
    assert advice.strip()
    again = kind.retryable or kind.exit_code == 1
    assert ("What was finished is kept" in head) == again
    assert ("It was not tried again" in advice) == (not again)


def test_partition_is_not_named():
    from tclose_flows.prefect_artifacts import describe_failure

    error = InfeasibleError("partition site=Bergen: is too far", partition="partition site=Bergen")
    assert "    a partition: is too far\n" in describe_failure(error, "failed")
    assert "Bergen" not in describe_failure(error, "failed")
    told = error.redacted()
    assert (type(told), told.whole) == (InfeasibleError, error)
    whole = TcloseError("the table: is too far", partition="the table")
    assert whole.redacted() is whole


def test_tables_hold_any_text():
    from tclose_flows.prefect_artifacts import table

    rows = table(("a|b", "c"), [("x\ny", "<b>*1*</b>"), ("  deeper", "2")])
    assert rows == [
        r"| a\|b | c |",
        "| --- | --- |",
        r"| x y | \<b\>\*1\*\</b\> |",
        "| · deeper | 2 |",
    ]
