"""Policies over discharges that ask further models, and the classes of what is released."""

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from support.cases.discharge_policies import discharge_document
from support.cases.people import publish
from tclose.assess.auditing.audit_result import AuditResult
from tclose.releases.manifest.privacy_sections import PrivacyModelResult
from tclose.releases.manifest.public_manifest import Manifest
from tclose.runtime.run import Outcome

QUASI = ["age", "sex", "zip", "length_of_stay"]
ROLES = dict.fromkeys(QUASI, "quasi-identifier")
CONFIDENTIAL = {
    "diagnosis_group": {"role": "confidential"},
    "insurance_type": {"role": "confidential"},
    "charge": {"role": "confidential"},
}
INSURED = {"attributes": ["insurance_type"]}
# Each of them fails in some class of what is made without it.
MODELS: dict[str, dict[str, Any]] = {
    "distinct": {"name": "distinct-l-diversity", "l": 3} | INSURED,
    "entropy": {"name": "entropy-l-diversity", "l": 2.5} | INSURED,
    "recursive": {"name": "recursive-cl-diversity", "c": 1.2, "l": 2} | INSURED,
    "sensitive": {"name": "p-sensitive-k-anonymity", "p": 3} | INSURED,
    "supersets": {"name": "n-t-closeness", "n": 500, "t": 0.2, "attributes": ["charge"]},
    "ratio": {"name": "ratio-closeness", "t": 4, "buckets": 3, "attributes": ["charge"]},
}


def document(path: Path, place: Path, models: tuple[dict[str, Any], ...], **keys: Any) -> Any:
    """A policy that asks these models, and two values in every class; ``keys`` replace its own."""
    given = {
        "attributes": ROLES | CONFIDENTIAL,
        "privacy": {"k": 4, "models": [*models, {"name": "distinct-l-diversity", "l": 2}]},
        "method": {"refine": "off"},
    }
    return discharge_document(path, place, **(given | keys))


def run(path: Path, place: Path, *models: dict[str, Any], **keys: Any) -> Outcome:
    """Run such a policy, and tell nobody meanwhile."""
    return publish(document(path, place, models, **keys))


def frame_of(release: Path) -> pd.DataFrame:
    """The rows of all its files."""
    return pd.read_parquet(release / "data")


def groups_of(release: Path, column: str) -> list[Counter[Any]]:
    """Counts of the values in each class, by pandas."""
    frame = frame_of(release)
    return [Counter(of_class) for _, of_class in frame.groupby(QUASI, observed=True)[column]]


def models_of(of: AuditResult | Manifest) -> list[PrivacyModelResult]:
    """Results of the further models, in the order of the policy."""
    assert of.privacy is not None
    assert of.privacy.models is not None
    return of.privacy.models
