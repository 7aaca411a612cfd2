"""A manifest beside what its rows say: every statement about them that differs is named."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from support.cases.discharge_policies import discharge_policy, write_discharges
from support.cases.people import folder_of
from tclose.assess.auditing.manifest_comparison import find_false_claims
from tclose.passes.release import run_release
from tclose.releases.manifest.public_manifest import Manifest, parse_as
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.every_case  # each takes milliseconds

Document = dict[str, Any]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """The manifest of a release with a further model and a combination of attributes."""
    folder = tmp_path_factory.mktemp("made")
    path = write_discharges(folder / "discharges.parquet", 1_000)
    privacy = {
        "k": 5,
        "t": 0.2,
        "joint": [{"attributes": ["charge", "severity"], "t": 0.9}],
        "models": [{"name": "distinct-l-diversity", "l": 2, "attributes": ["charge"]}],
    }
    policy = discharge_policy(
        path,
        folder / "out",
        attributes={
            "age": "quasi-identifier",
            "charge": "confidential",
            "severity": "confidential",
        },
        privacy=privacy,
    )
    release = folder_of(run_release(policy, Progress("none")))
    manifest: Document = json.loads((release / "manifest.json").read_text())
    return manifest


def compare(stated: Document, measured: Document) -> list[str]:
    first, second = (parse_as(Manifest, json.dumps(one).encode()) for one in (stated, measured))
    return find_false_claims(first, second.privacy, second.classes, second.risk)


def test_what_the_rows_say_is_no_finding(written: Document) -> None:
    assert compare(written, written) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update(verdict="fail"), "the verdict is not pass"),
        (lambda m: m["privacy"]["k"].update(achieved=6), "k differs"),
        (lambda m: m["privacy"]["t"]["charge"].update(largest_emd=0.0), "largest EMD of 'charge'"),
        (lambda m: m["privacy"]["t"]["charge"].update(distance="equal"), "distance of 'charge'"),
        (lambda m: m["privacy"]["t"]["charge"].update(of="buckets"), "what t of 'charge' is of"),
        (lambda m: m["privacy"]["joint"][0].update(largest_emd=0.0), "privacy.joint[0]"),
        (lambda m: m["privacy"]["joint"].clear(), "privacy.joint differs"),
        (lambda m: m["privacy"]["models"][0].update(reached=9), "privacy.models[0].reached"),
        (lambda m: m["privacy"]["models"][0].update(failing_classes=1), "failing_classes"),
        (lambda m: m["classes"].update(smallest=6), "classes.smallest"),
        (lambda m: m["risk"].update(discernibility=1), "risk.discernibility"),
        (
            lambda m: m["risk"]["attributes"]["charge"]["homogeneity"].update(records=1),
            "risk.attributes.charge.homogeneity.records",
        ),
        (
            lambda m: m["risk"]["attributes"]["charge"]["skewness"].update(largest=1.0),
            "risk.attributes.charge.skewness.largest",
        ),
    ],
)
def test_every_false_claim_is_named(
    written: Document, change: Callable[[Document], Any], words: str
) -> None:
    edited = copy.deepcopy(written)
    change(edited)
    [finding] = compare(edited, written)
    assert words in finding
