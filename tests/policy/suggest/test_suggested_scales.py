"""Orders of values that show themselves; rare values are not written down."""

import pyarrow as pa
import pytest

from tclose.policy.suggest.column_profile import profile_column
from tclose.policy.suggest.scales import order_values
from tclose.policy.suggest.spellings import PLAIN


def order(*texts: str, n_times: int = 10) -> tuple[str, ...]:
    column = pa.chunked_array([list(texts) * n_times])
    return order_values(profile_column("x", column, PLAIN, ()), column)


@pytest.mark.parametrize(
    "values",
    [
        ("Low", "Medium", "High"), ("never", "sometimes", "always"), ("S", "M", "L"),
        ("<18", "18-24", "25-64", "65+"), ("0-9", "10-19", "100+"), ("niedrig", "mittel", "hoch"),
        ("under", "low")[:0],
    ],
)  # fmt: skip
def test_orders(values) -> None:
    assert order(*reversed(values), *([] if values else ["a", "b", "c"])) == values


@pytest.mark.parametrize(
    "values", [("low", "high"), ("red", "green", "blue"), ("01067", "10115", "20095")]
)
def test_no_order(values) -> None:
    assert order(*values) == ()


def test_rare_values_are_not_written_down() -> None:
    assert order("low", "medium", "high", n_times=9) == ()
