"""The price of `suppress` from a sample, beside that of the whole table."""

from pathlib import Path

import yaml

from benchmarks.loss.planned_price import WHOLE, describe_price
from tclose.data.synthetic.writing import write_microdata

N_RECORDS = 2_000


def test_a_plan_of_the_whole_table_is_priced_beside_one_of_a_sample(tmp_path: Path) -> None:
    [data] = write_microdata(tmp_path / "in.parquet", N_RECORDS, 1)
    document = {
        "name": "priced",
        "input": {"path": str(data)},
        "unlisted": "drop",
        "attributes": {"age": "quasi-identifier", "charge": "confidential"},
        "privacy": {"k": 5, "t": 0.3},
    }
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump(document))
    some, whole = (describe_price(str(path), [], n) for n in (500, WHOLE))
    assert (whole[0], whole[1]) == (f"{N_RECORDS:,}", whole[2])
    assert int(some[0]) < N_RECORDS
    assert float(some[2]) >= float(some[1])
