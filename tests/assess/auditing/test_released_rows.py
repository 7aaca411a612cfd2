"""What a manifest says of columns, before any row is read: what no release has is refused."""

from typing import Any

import pyarrow as pa
import pytest

from tclose.assess.auditing.released_rows import ColumnRoles, as_column, check_roles
from tclose.data.places.untrusted_files import MalformedError
from tclose.releases.manifest.privacy_sections import Privacy
from tclose.releases.manifest.sections import ReleasedColumn

pytestmark = pytest.mark.every_case  # each takes milliseconds


def column(name: str, role: str = "confidential", **more: Any) -> ReleasedColumn:
    said = {
        "name": name,
        "role": role,
        "kind": "nominal",
        "type": "string",
        "treatment": "as it is",
    }
    return ReleasedColumn.model_validate(said | more)


def stated(*names: str) -> Privacy:
    t = {name: {"asked": 0.1, "largest_emd": 0.1, "distance": "equal"} for name in names}
    k = {"asked": 5, "achieved": 5}
    return Privacy.model_validate({"k": k, "t": t, "joint": [], "models": [], "counted": "records"})


AGE, PAY = column("age", "quasi-identifier"), column("pay")


@pytest.mark.parametrize(
    ("roles", "named", "has_files", "words"),
    [
        (ColumnRoles((AGE,), (PAY,), ()), ["pay"], True, None),
        (ColumnRoles((AGE,), (), ()), [], False, None),
        (ColumnRoles((), (PAY,), ()), ["pay"], True, "no quasi-identifiers"),
        (ColumnRoles((AGE,), (PAY,), ()), [], True, "t of other columns"),
        (ColumnRoles((AGE,), (PAY,), ()), ["pay", "age"], True, "t of other columns"),
        (ColumnRoles((AGE,), (PAY,), ()), ["age"], True, "t of other columns"),
        (ColumnRoles((AGE,), (PAY,), ()), ["pay"], False, "no files"),
    ],
)
def test_each_confidential_column_has_a_t_and_no_other(
    roles: ColumnRoles, named: list[str], has_files: bool, words: str | None
) -> None:
    if words is None:
        check_roles(roles, stated(*named), has_files=has_files)
        return
    with pytest.raises(MalformedError, match=words):
        check_roles(roles, stated(*named), has_files=has_files)


def test_texts_without_an_order_have_no_ordered_distance() -> None:
    """By their letters a class would be near that has one half of them."""
    with pytest.raises(MalformedError, match="an ordered distance of 'pay', which has no order"):
        as_column(column("pay", distance="ordered"), pa.string())
    assert as_column(column("pay", distance="equal"), pa.string()).name == "pay"
