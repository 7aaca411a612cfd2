"""Columns: what a policy says of one and what its data hold go together, or are refused."""

import pyarrow as pa
import pytest

from support.tables.column_kinds import CONFIDENTIAL, PASSTHROUGH, QUASI, ROWS, column
from tclose.errors import DataError
from tclose.model.column_terms import Distance, Kind, Scale


class TestResolve:
    @pytest.mark.parametrize(
        ("dtype", "kind"),
        [
            (pa.int8(), Kind.NUMERIC),
            (pa.decimal128(18, 2), Kind.NUMERIC),
            (pa.dictionary(pa.int8(), pa.string()), Kind.NOMINAL),
            (pa.bool_(), Kind.BOOLEAN),
            (pa.duration("s"), Kind.DATE),
        ],
        ids=str,
    )
    def test_kinds(self, dtype, kind):
        assert column("x", QUASI, dtype).kind is kind

    @pytest.mark.parametrize(
        ("role", "dtype", "keys", "message"),
        [
            (
                QUASI,
                pa.string(),
                {"kind": Kind.NUMERIC},
                "the policy says numeric, the data hold te",
            ),
            (
                QUASI,
                pa.int8(),
                {"kind": Kind.DATE},
                "the policy says date, the data hold type int8",
            ),
            (
                QUASI,
                pa.int8(),
                {"kind": Kind.BOOLEAN},
                "the policy says boolean, the data hold type",
            ),
            (
                QUASI,
                pa.null(),
                {"kind": Kind.NUMERIC},
                "the policy says numeric, the data hold type",
            ),
            (
                CONFIDENTIAL,
                pa.string(),
                {"distance": Distance.ORDERED},
                "distance: ordered needs values with an order, the data hold text",
            ),
            (
                CONFIDENTIAL,
                pa.int8(),
                {"kind": Kind.NOMINAL, "distance": Distance.ORDERED},
                "distance: ordered needs values with an order, the data hold type int8",
            ),
            (
                CONFIDENTIAL,
                pa.int8(),
                {"taxonomy": ROWS},
                "is numeric, a taxonomy goes with nominal",
            ),
            (QUASI, pa.bool_(), {"taxonomy": ROWS}, "is boolean, a taxonomy goes with nominal"),
            (
                PASSTHROUGH,
                pa.list_(pa.int8()),
                {},
                "type list is not supported; convert it",
            ),
            (
                PASSTHROUGH,
                pa.binary(),
                {"kind": Kind.NOMINAL},
                "type binary is not supported; convert it",
            ),
            (
                CONFIDENTIAL,
                pa.timestamp("s", "Foo/Bar"),
                {},
                "its time zone is not known here; store it in UTC",
            ),
            (QUASI, pa.timestamp("ns", "-25:00"), {}, "its time zone is not known here"),
            (QUASI, pa.decimal128(19, 0), {}, "has more than 18 digits; store it as a decimal"),
            (
                QUASI,
                pa.string(),
                {"aggregate": "mean"},
                "is nominal, its aggregate can be mode or representative, not",
            ),
            (
                QUASI,
                pa.int8(),
                {"aggregate": "mode"},
                "its aggregate can be mean or median or low-median, not mode",
            ),
            (
                QUASI,
                pa.string(),
                {"scale": Scale.STD},
                "is nominal; scale goes with values that have an order",
            ),
            (QUASI, pa.bool_(), {"scale": Scale.RANK}, "is boolean; scale goes with values that"),
            (QUASI, pa.date32(), {"rounded": False}, "is date; round: false goes with numbers"),
            (QUASI, pa.string(), {"rounded": False}, "is nominal; round: false goes with numbers"),
        ],
    )
    def test_refused(self, role, dtype, keys, message):
        with pytest.raises(DataError) as error:
            column("x", role, dtype, **keys)
        assert str(error.value).startswith("column 'x': ")
        assert message in str(error.value)

    @pytest.mark.parametrize(
        ("role", "dtype", "keys"),
        [
            (PASSTHROUGH, pa.decimal128(38, 2), {}),
            (PASSTHROUGH, pa.timestamp("s", "Foo/Bar"), {}),
            (CONFIDENTIAL, pa.timestamp("us", "Europe/Berlin"), {}),
            (CONFIDENTIAL, pa.timestamp("us", "+05:30"), {}),
            (QUASI, pa.decimal128(38, 2), {"kind": Kind.NOMINAL}),
            (QUASI, pa.int8(), {"aggregate": "median"}),
            (QUASI, pa.date32(), {"aggregate": "low-median", "scale": Scale.IQR}),
            (QUASI, pa.decimal128(9, 2), {"rounded": False}),
            (QUASI, pa.bool_(), {"aggregate": "mode"}),
            (QUASI, pa.bool_(), {"aggregate": "representative"}),
            (CONFIDENTIAL, pa.bool_(), {}),
        ],
    )
    def test_allowed(self, role, dtype, keys):
        assert column("x", role, dtype, **keys).type == dtype
