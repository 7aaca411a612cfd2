"""Benchmark data: the correlation that is asked for is there, in the sample itself."""

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.microdata.correlated import generate_correlated
from support.tables.generated_columns import SEED, column
from tclose.errors import UsageError


def multiple_correlation(table: pa.Table) -> float:
    """Of the last column with the others, by least squares with an intercept."""
    columns = [column(table, name).astype(float) for name in table.column_names]
    design = np.column_stack([np.ones(table.num_rows), *columns[:-1]])
    fitted = design @ np.linalg.lstsq(design, columns[-1], rcond=None)[0]
    return float(np.corrcoef(fitted, columns[-1])[0, 1])


class TestCorrelated:
    @pytest.mark.parametrize("correlation", [0.0, 0.13, 0.52, 0.92, 1.0])
    @pytest.mark.parametrize("n_quasi_identifiers", [1, 2, 7])
    def test_multiple_correlation(self, n_quasi_identifiers: int, correlation: float) -> None:
        table = generate_correlated(2_000, n_quasi_identifiers, correlation, SEED)
        assert multiple_correlation(table) == pytest.approx(correlation, abs=1e-3)

    def test_columns(self) -> None:
        table = generate_correlated(500, 4, 0.13, SEED)
        assert table.column_names == ["q1", "q2", "q3", "q4", "confidential"]
        assert [str(kind) for kind in table.schema.types] == [
            "int32",
            "double",
            "double",
            "int32",
            "double",
        ]
        assert all(values.null_count == 0 for values in table.columns)
        assert len(np.unique(column(table, "q1"))) < 60
        assert len(np.unique(column(table, "confidential"))) > 490

    def test_further_confidential_attributes(self) -> None:
        table = generate_correlated(2_000, 7, 0.13, SEED, n_confidential=3)
        alone = generate_correlated(2_000, 7, 0.13, SEED)
        assert table.column_names[-3:] == ["confidential", "confidential2", "confidential3"]
        assert table.select(alone.column_names).equals(alone)
        for name in ("confidential2", "confidential3"):
            of_name = table.select([*alone.column_names[:-1], name])
            assert multiple_correlation(of_name) == pytest.approx(0.5, abs=1e-3)
        noise = np.corrcoef([column(table, name) for name in table.column_names[-3:]])
        assert np.abs(noise[np.triu_indices(3, 1)]).max() < 0.35

    def test_refuses_no_confidential_attribute(self) -> None:
        with pytest.raises(UsageError, match="0 confidential attributes"):
            generate_correlated(100, 2, 0.5, SEED, n_confidential=0)

    def test_seed_decides(self) -> None:
        table = generate_correlated(500, 3, 0.5, SEED)
        assert table.equals(generate_correlated(500, 3, 0.5, SEED))
        assert not table.equals(generate_correlated(500, 3, 0.5, SEED + 1))

    @pytest.mark.parametrize(
        ("n_rows", "n_quasi_identifiers", "correlation", "seed", "message"),
        [
            (0, 2, 0.5, 1, "2 rows more"),
            (100, 0, 0.5, 1, "at least 1 is needed"),
            (5, 4, 0.5, 1, "2 rows more"),
            (100, 2, 1.01, 1, "multiple correlation is 1.01"),
            (100, 2, -0.1, 1, "multiple correlation is -0.1"),
            (100, 2, float("nan"), 1, "multiple correlation is nan"),
            (100, 2, 0.5, -1, "seed is -1"),
        ],
    )
    def test_refuses_numbers_out_of_range(
        self, n_rows: int, n_quasi_identifiers: int, correlation: float, seed: int, message: str
    ) -> None:
        with pytest.raises(UsageError, match=message):
            generate_correlated(n_rows, n_quasi_identifiers, correlation, seed)
