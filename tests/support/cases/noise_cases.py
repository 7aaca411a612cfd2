"""Policies that release confidential attributes of the patients with noise."""

from pathlib import Path
from typing import Any

from support.cases.patients import CONFIDENTIAL, STAGES, patient_document

N_RECORDS = 1_000
# Bounds narrower than the data, which go from 50 to 1,850.
PAY = {"role": CONFIDENTIAL, "noise": {"epsilon": 2, "low": 200, "high": 1_500, "step": 25}}
STAGE = {"role": CONFIDENTIAL, "type": "ordinal", "order": STAGES, "noise": {"epsilon": 1.5}}
ILLS = ["asthma", "cold", "flu", "gout", "hernia", "ulcer"]
ILL = {"role": CONFIDENTIAL, "noise": {"epsilon": 0.5, "values": ILLS}}
HEIGHT = {"role": CONFIDENTIAL, "noise": {"epsilon": 3, "low": 150.1, "high": 190, "step": 0.1}}


def document_of(source: Path, place: Path, **keys: Any) -> dict[str, Any]:
    """A policy with noise on the pay; ``attributes`` and ``method`` replace or add."""
    attributes = {"pay": PAY} | keys.pop("attributes", {})
    method = {"name": "dp-confidential"} | keys.pop("method", {})
    return patient_document(source, place, method, privacy={"k": 5}, attributes=attributes, **keys)
