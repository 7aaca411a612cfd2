"""What an audit says of further models and of risks, and finds where it was edited."""

import json
import re
from collections import Counter
from math import log

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.model_cases import MODELS, groups_of, models_of, run
from support.cases.published import edit_manifest, hand_out
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.privacy.models.ratio_closeness import ASSUMPTIONS
from tclose.releases.repository.repository import file_sha256

pytestmark = pytest.mark.usefixtures("small_regions")

STRICTER = {
    "distinct": {"l": 5},
    "entropy": {"l": 4.9},
    "recursive": {"c": 0.1},
    "sensitive": {"p": 5, "k": 5},
    "supersets": {"n": 2_900, "t": 0.01},
    "ratio": {"t": 1.001},
}


@pytest.fixture(scope="module")
def published(discharges, tmp_path_factory):
    size = {"class_size": 6, "refine": "lean"}  # as it is planned, and without halves
    return run(discharges, tmp_path_factory.mktemp("all"), *MODELS.values(), method=size).release


@pytest.fixture
def copied(published, tmp_path):
    """A release to tamper with, without its internal part."""
    return hand_out(published, tmp_path)


def test_untouched_copy_passes(copied):
    assert audit_release(copied).findings == []


@pytest.mark.parametrize("which", MODELS)
def test_stricter_demand_in_the_manifest_is_found_unmet(which, copied):
    place = list(MODELS).index(which)
    edit_manifest(copied, lambda m: m["privacy"]["models"][place]["asked"].update(STRICTER[which]))
    name = MODELS[which]["name"]
    findings = audit_release(copied).findings
    assert any(re.match(f"{name} of .*(class fails|classes fail)", f) for f in findings), findings


@pytest.mark.parametrize("which", MODELS)
def test_edited_figure_is_found(which, copied):
    place = list(MODELS).index(which)
    edit_manifest(copied, lambda m: m["privacy"]["models"][place].update(reached=1.25))
    (finding,) = audit_release(copied).findings
    assert f"privacy.models[{place}].reached differs" in finding


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["risk"].update(discernibility=1),
        lambda m: m["risk"]["attributes"]["charge"]["homogeneity"].update(records=7),
        lambda m: m["risk"]["attributes"]["charge"]["skewness"].update(mean=1.0),
        lambda m: m["privacy"]["models"][5].update(epsilon=0.1),
        lambda m: m["privacy"]["models"][5]["epsilon_assumes"].pop(),
    ],
)
def test_edited_results_are_found(change, copied):
    edit_manifest(copied, change)
    (finding,) = audit_release(copied).findings
    assert "differs from what the rows say" in finding


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["privacy"].pop("models"),
        lambda m: m.pop("risk"),
        lambda m: m["privacy"]["models"][0].update(attribute="age"),
        lambda m: m["privacy"]["models"][0].update(name="stochastic-t-closeness"),
        lambda m: m["privacy"]["models"][5]["asked"].update(buckets=[["1"], ["2"]]),
        lambda m: m["privacy"]["models"][5]["asked"].update(buckets=10**6),
    ],
)
def test_manifest_that_fits_no_rows_is_damaged(change, copied):
    edit_manifest(copied, change)
    assert any("is damaged" in finding for finding in audit_release(copied).findings)


def test_forged_rows_that_break_models_are_found(copied):
    """Values of a column are sorted, so that classes hold like ones; all digests are forged."""
    entry = json.loads((copied / "manifest.json").read_text())["files"][0]
    path = copied / entry["path"]
    table = pq.read_table(path)
    frame = table.to_pandas()
    for column in ("insurance_type", "charge"):
        frame[column] = frame[column].sort_values().to_numpy()
    made = pa.Table.from_pandas(frame, table.schema, preserve_index=False)
    pq.write_table(made.replace_schema_metadata(None), path)
    digests = {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
    edit_manifest(copied, lambda m: m["files"][0].update(digests))
    findings = audit_release(copied).findings
    for name in {model["name"] for model in MODELS.values()}:
        assert any(re.match(f"{name} of .*(class fails|classes fail)", f) for f in findings), name


def test_epsilon_stands_with_its_assumptions(published, capsys):
    said = models_of(audit_release(published))[5]
    assert said.epsilon == pytest.approx(2 * log(4))
    assert said.epsilon_assumes == list(ASSUMPTIONS)
    assert "the value itself is released" in (said.epsilon_is_about or "")
    assert main(["audit", str(published)]) == 0
    printed = capsys.readouterr().out
    assert "epsilon (Proposition 3)" in printed
    assert all(text in printed for text in ASSUMPTIONS)


def test_risks_are_those_of_the_rows(published):
    risk = audit_release(published).risk
    counts = groups_of(published, "insurance_type")
    total = sum(counts, Counter())
    n = sum(total.values())
    factors = [max(c[v] / sum(c.values()) * n / total[v] for v in c) for c in counts]
    sizes = [sum(c.values()) for c in counts]
    found = risk.attributes["insurance_type"]
    assert found.groups == "single values"
    alone = [size for c, size in zip(counts, sizes, strict=True) if len(c) == 1]
    assert found.homogeneity.to_json() == {"records": sum(alone), "classes": len(alone)}
    assert found.skewness.largest == pytest.approx(max(factors))
    mean = sum(f * s for f, s in zip(factors, sizes, strict=True)) / n
    assert found.skewness.mean == pytest.approx(mean)
    assert risk.discernibility == sum(size * size for size in sizes)
    assert risk.average_class_size == pytest.approx(n / len(sizes) / 4)
