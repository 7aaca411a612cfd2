"""Every method on the Adult data, and the policy in config that generalises."""

from datetime import date
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.discharge_policies import shared_file, write_discharges
from support.cases.method_cases import CASES, CONFIDENTIAL, EACH, QUASI
from support.cases.patients import patient_document
from support.cases.people import folder_of, publish
from support.checks.released import check_release
from support.sizes import Sizes
from tclose.assess.auditing.audit import audit_release
from tclose.data.synthetic.panel_files import write_panel
from tclose.methods.generalisation.notation import parse_interval, parse_set
from tclose.passes.release import run_release
from tclose.policy.policy import load_policy
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")

ADULT = {
    "id": "non-confidential",
    "age": QUASI,
    "education-num": QUASI,
    "marital-status": {
        "role": QUASI,
        "taxonomy": {
            "any": {
                "once": ["Divorced", "Separated", "Widowed"],
                "now": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
                "never": ["Never-married"],
            }
        },
    },
    "sex": QUASI,
    "hours-per-week": CONFIDENTIAL,
}


@pytest.fixture(scope="module")
def adults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = pd.read_csv(shared_file("adult.csv"), nrows=5_000, skipinitialspace=True)
    frame.insert(0, "id", range(len(frame)))
    path = tmp_path_factory.mktemp("adult") / "adult.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    return path


@pytest.mark.parametrize("case", EACH)
def test_adult(case: str, adults: Path, tmp_path: Path) -> None:
    method, keys = CASES[case]
    privacy = keys.get("privacy", {"k": 5, "t": 0.1})
    document = patient_document(adults, tmp_path, method, privacy=privacy)
    by_width = {"age": {"role": QUASI, "intervals": {"widths": [5, 10, 20]}}}
    document["attributes"] = ADULT | (by_width if case == "incognito" else {})
    made = publish(document)
    assert audit_release(made.release).findings == []
    check_release(folder_of(made), pq.read_table(adults), document)


def test_example_of_generalised_discharges(tmp_path: Path, sizes: Sizes) -> None:
    """The policy that stands in config, on what `make demo` generates."""
    sizes.regions(6_000)
    source = write_discharges(tmp_path / "discharges.parquet", 6_000)
    path = Path(__file__).parents[3] / "config" / "generalise.yaml"
    places = [f"input.path={source}", f"output.path={tmp_path / 'releases'}"]
    made = run_release(load_policy(path, places), Progress("none"))
    assert audit_release(made.release).findings == []
    frame = pd.read_parquet(made.release / "data")
    quasi = [c.name for c in made.manifest.columns if c.role == QUASI]
    assert len(quasi) == 7
    assert frame.groupby(quasi).size().min() >= 5
    assert frame.groupby(quasi).ngroups == made.manifest.classes.n_classes > 50
    for text in frame["admission_date"].unique():
        low, high = parse_interval(text)
        assert date.fromisoformat(low) <= date.fromisoformat(high)
    groups = {"any diagnosis", "whole body", "heart and lungs"}
    assert groups < set(frame["diagnosis_group"])
    assert {parse_set(text) for text in frame["insurance_type"]} > {("private", "public")}


@pytest.mark.nightly
def test_example_of_a_panel(tmp_path: Path) -> None:
    """Each month is a release of its own, of the file that the day names."""
    write_panel(tmp_path / "panel", 1_500, 1, range(2))
    path = Path(__file__).parents[3] / "config" / "panel.yaml"
    places = [
        f"input.path={tmp_path}/panel/{{as_of:%Y-%m}}.parquet",
        f"output.path={tmp_path / 'releases'}",
    ]
    for month in (1, 2):
        policy = load_policy(path, places, as_of=date(2024, month, 15))
        made = run_release(policy, Progress("none"))
        assert audit_release(made.release).findings == []
        released = pd.read_parquet(made.release / "data")
        original = pd.read_parquet(tmp_path / "panel" / f"2024-0{month}.parquet")
        assert sorted(released["cost"]) == sorted(original["cost"])
        assert made.manifest.classes.n_classes > 50
