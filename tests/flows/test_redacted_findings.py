"""What an audit finds is kept by Prefect without the values that name folders."""

import pytest

from tclose_flows.audit_flow import _redacted


@pytest.mark.parametrize(
    ("finding", "kept"),
    [
        ("data/city=Oslo/part-0.csv: is missing", "data/city=*/part-0.csv: is missing"),
        ("data/city=Oslo: is a symbolic link", "data/city=*: is a symbolic link"),
        ("data/a=1/b=x: is: y: is a symbolic link", "data/a=*/b=*: is a symbolic link"),
        ("data/city=a: b\nc", "data/city=*"),
        ("data/city=a=b: c", "data/city=*"),
        ("t of 'pay': asked 0.1, found 0.2", "t of 'pay': asked 0.1, found 0.2"),
    ],
)
def test_of_a_value_nothing_is_left(finding: str, kept: str) -> None:
    assert _redacted(finding) == kept
