"""Releases of real microdata, checked by tclose's audit and by an independent checker."""

import pandas as pd
import pytest
from pycanon import anonymity

from support.cases.discharge_policies import shared_file
from support.cases.people import publish
from support.length import every
from tclose.assess.auditing.audit import audit_release
from tclose.passes.release import run_release
from tclose.policy.policy import load_policy, parse_policy
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")

ADULT_QIS = ["age", "education", "marital-status", "sex", "native-country"]
FARS_QIS = ["age", "year", "modelyr", "sex", "Restraint"]


@pytest.mark.parametrize(
    ("t", "size"),
    [(0.01, 49), (0.05, 10), (0.09, 6), (0.13, 4), (0.17, 3), (0.21, 3), (0.25, 2)],
)
@pytest.mark.parametrize("confidential", ["FEDTAX", "FICA"])
def test_census_class_sizes_are_those_of_the_paper(t, size, confidential, tmp_path):
    """Soria-Comas et al. 2015, Table 3: minimum cluster sizes at k = 2 (1,080 records)."""
    path = shared_file("casc_census.csv")
    roles = {"TAXINC": "quasi-identifier", "POTHVAL": "quasi-identifier"}
    policy = parse_policy(
        {
            "name": "census",
            "input": {"path": str(path)},
            "unlisted": "drop",
            "attributes": roles | {confidential: "confidential"},
            "privacy": {"k": 2, "t": t},
            "method": {"class_size": "paper", "refine": "off", "losses": "absolute"},
            "output": {"path": str(tmp_path)},
        }
    )
    outcome = run_release(policy, Progress("none"))
    frame = pd.read_parquet(outcome.release / "data")
    sizes = frame.groupby(["TAXINC", "POTHVAL"]).size()
    assert outcome.manifest.classes.smallest == sizes.min() == size
    assert sizes.max() <= 2 * size + 1
    assert audit_release(outcome.release).findings == []
    assert sorted(frame[confidential]) == sorted(pd.read_csv(path)[confidential])


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("policy_file", "confidential", "t"),
    every(
        3,
        [
            ("fars", "injury", 0.1),
            ("adult", "hours-per-week", 0.1),
            ("adult", "capital-gain", 0.05),
        ],
    ),
)
def test_independent_checker_agrees(policy_file, confidential, t, tmp_path):
    """On some thousand records, as it takes minutes for all; ours are checked on all elsewhere."""
    name = {"adult": "adult.csv", "fars": "fars_gamclass.csv"}[policy_file]
    given = load_policy(f"config/{policy_file}.yaml").model_dump(mode="json", exclude_unset=True)
    roles = {n: a for n, a in given["attributes"].items() if a["role"] != "confidential"}
    given["attributes"] = roles | {confidential: {"role": "confidential"}}
    given["input"]["path"] = str(tmp_path / name)
    pd.read_csv(shared_file(name), dtype=str).head(5_000).to_csv(tmp_path / name, index=False)
    given |= {"privacy": {"k": 5, "t": t}, "output": {"path": str(tmp_path / "out")}}
    outcome = publish(given)
    audit = audit_release(outcome.release)
    assert audit.findings == []
    frame = pd.read_parquet(outcome.release / "data")
    quasi = ADULT_QIS if policy_file == "adult" else FARS_QIS
    assert anonymity.k_anonymity(frame, quasi) == audit.privacy.k.achieved >= 5
    found = anonymity.t_closeness(frame, quasi, [confidential])
    assert found == pytest.approx(audit.privacy.t[confidential].largest_emd, abs=1e-12)
    assert found <= t


@pytest.mark.nightly
def test_independent_checker_agrees_on_nominal_values(tmp_path):
    """Its distance of texts is the equal one; some thousand records, as it takes its time."""
    frame = pd.read_csv(shared_file("adult.csv")).head(4_000)
    frame = frame[(frame != "?").all(axis=1)]
    frame.to_csv(tmp_path / "adult.csv", index=False)
    given = load_policy("config/adult.yaml").model_dump(mode="json", exclude_unset=True)
    given["attributes"].pop("hours-per-week")
    given["attributes"]["occupation"] = {"role": "confidential"}
    given["input"]["path"] = str(tmp_path / "adult.csv")
    given |= {"privacy": {"k": 5, "t": 0.25}, "output": {"path": str(tmp_path / "out")}}
    outcome = publish(given)
    audit = audit_release(outcome.release)
    assert audit.findings == []
    released = pd.read_parquet(outcome.release / "data")
    assert sorted(released["occupation"]) == sorted(frame["occupation"])
    assert anonymity.k_anonymity(released, ADULT_QIS) == audit.privacy.k.achieved >= 5
    found = anonymity.t_closeness(released, ADULT_QIS, ["occupation"])
    said = audit.privacy.t["occupation"]
    assert (said.asked, said.distance) == (0.25, "equal")
    assert found == pytest.approx(said.largest_emd, abs=1e-12)
    assert found <= 0.25
