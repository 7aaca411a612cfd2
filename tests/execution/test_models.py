"""Further models asked by a policy: met by construction, proved by verification, found by audit."""

import json
from collections import Counter
from math import exp, floor, log

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli import main
from pipeline.errors import InfeasibleError, PolicyError, VerificationError
from pipeline.execution.audit import audit_release
from pipeline.execution.progress import Progress
from pipeline.execution.release import run_release
from pipeline.settings import load_policy, parse_policy
from pipeline.stages.microaggregate import _Merger
from pipeline.stages.models.ratio import ASSUMPTIONS
from pipeline.storage.releases import file_sha256
from support.policies import data_digests, discharge_document, shared_file, write_discharges

QUASI = ["age", "sex", "zip", "length_of_stay"]
ROLES = dict.fromkeys(QUASI, "quasi-identifier")
CONFIDENTIAL = {
    "diagnosis_group": {"role": "confidential"},
    "insurance_type": {"role": "confidential"},
    "charge": {"role": "confidential"},
}
INSURED = {"attributes": ["insurance_type"]}
# Each of them fails in some class of what is made without it.
MODELS = {
    "distinct": {"name": "distinct-l-diversity", "l": 3} | INSURED,
    "entropy": {"name": "entropy-l-diversity", "l": 2.5} | INSURED,
    "recursive": {"name": "recursive-cl-diversity", "c": 1.2, "l": 2} | INSURED,
    "sensitive": {"name": "p-sensitive-k-anonymity", "p": 3} | INSURED,
    "supersets": {"name": "n-t-closeness", "n": 500, "t": 0.2, "attributes": ["charge"]},
    "ratio": {"name": "ratio-closeness", "t": 4, "buckets": 3, "attributes": ["charge"]},
}
STRICTER = {
    "distinct": {"l": 5},
    "entropy": {"l": 4.9},
    "recursive": {"c": 0.1},
    "sensitive": {"p": 5, "k": 5},
    "supersets": {"n": 2_900, "t": 0.01},
    "ratio": {"t": 1.001},
}


def document(path, place, models, **keys):
    given = {
        "attributes": ROLES | CONFIDENTIAL,
        "privacy": {"k": 4, "models": [*models, {"name": "distinct-l-diversity", "l": 2}]},
        "method": {"refine": "off"},
    }
    return discharge_document(path, place, **(given | keys))


@pytest.fixture(scope="module")
def discharges(tmp_path_factory):
    return write_discharges(tmp_path_factory.mktemp("input") / "discharges.parquet", 3_000)


def run(path, place, *models, **keys):
    return run_release(parse_policy(document(path, place, models, **keys)), Progress("none"))


def frame_of(release):
    return pd.read_parquet(release / "data")


def groups_of(release, column):
    """Counts of the values in each class, by pandas."""
    frame = frame_of(release)
    return [Counter(of_class) for _, of_class in frame.groupby(QUASI, observed=True)[column]]


def entropy(counts):
    n = sum(counts.values())
    return exp(-sum(c / n * log(c / n) for c in counts.values()))


def recursive(counts):
    most, *rest = sorted(counts.values(), reverse=True)
    return most / sum(rest) if rest else float("inf")


@pytest.mark.parametrize("which", MODELS)
def test_each_model_is_met_and_found_by_the_audit(which, discharges, tmp_path):
    made = run(discharges, tmp_path, MODELS[which])
    audit = audit_release(made.release)
    assert audit["findings"] == []
    said = made.manifest["privacy"]["models"][0]
    assert said["name"] == MODELS[which]["name"]
    assert said["failing_classes"] == 0
    assert audit["privacy"]["models"][0]["reached"] == pytest.approx(said["reached"], rel=1e-12)
    measures = {
        "distinct": (len, min),
        "entropy": (entropy, min),
        "recursive": (recursive, max),
        "sensitive": (len, min),
    }
    if which in measures:
        measure, worst = measures[which]
        found = [measure(c) for c in groups_of(made.release, "insurance_type")]
        assert said["reached"] == pytest.approx(worst(found))


@pytest.mark.parametrize("which", MODELS)
def test_what_is_not_met_is_not_published(which, discharges, tmp_path, monkeypatch):
    """Construction that knows nothing of the models: verification alone stands between."""
    monkeypatch.setattr(_Merger, "mend", lambda self, labels: (labels, 0, 0))
    stricter = MODELS[which] | ({"n": 2_900, "t": 0.02} if which == "supersets" else {})
    with pytest.raises(VerificationError, match=f"{MODELS[which]['name']} of .* classes fail"):
        run(discharges, tmp_path, stricter, method={"refine": "off", "class_size": 4})
    assert not list(tmp_path.glob("discharges/*/manifest.json"))


def edit(release, change):
    path = release / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


@pytest.fixture(scope="module")
def published(discharges, tmp_path_factory):
    return run(discharges, tmp_path_factory.mktemp("all"), *MODELS.values()).release


@pytest.fixture
def copied(published, tmp_path):
    """A release to tamper with, without its internal part."""
    for path in published.rglob("*"):
        if path.is_file() and "internal" not in path.parts:
            place = tmp_path / "copy" / path.relative_to(published)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
    return tmp_path / "copy"


def test_untouched_copy_passes(copied):
    assert audit_release(copied)["findings"] == []


@pytest.mark.parametrize("which", MODELS)
def test_stricter_demand_in_the_manifest_is_found_unmet(which, copied):
    place = list(MODELS).index(which)
    edit(copied, lambda m: m["privacy"]["models"][place]["asked"].update(STRICTER[which]))
    name = MODELS[which]["name"]
    findings = audit_release(copied)["findings"]
    assert any(f.startswith(f"{name} of ") and "classes fail" in f for f in findings), findings


@pytest.mark.parametrize("which", MODELS)
def test_edited_figure_is_found(which, copied):
    place = list(MODELS).index(which)
    edit(copied, lambda m: m["privacy"]["models"][place].update(reached=1.25))
    (finding,) = audit_release(copied)["findings"]
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
def test_edited_accounts_are_found(change, copied):
    edit(copied, change)
    (finding,) = audit_release(copied)["findings"]
    assert "differs from what the rows say" in finding


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["privacy"].pop("models"),
        lambda m: m.pop("risk"),
        lambda m: m["privacy"]["models"][0].update(attribute="age"),
        lambda m: m["privacy"]["models"][0].update(name="l-diversity"),
        lambda m: m["privacy"]["models"][5]["asked"].update(buckets=[["1"], ["2"]]),
        lambda m: m["privacy"]["models"][5]["asked"].update(buckets=10**6),
    ],
)
def test_manifest_that_fits_no_rows_is_damaged(change, copied):
    edit(copied, change)
    assert any("is damaged" in finding for finding in audit_release(copied)["findings"])


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
    edit(copied, lambda m: m["files"][0].update(digests))
    findings = audit_release(copied)["findings"]
    for name in {model["name"] for model in MODELS.values()}:
        assert any(f.startswith(f"{name} of ") and "classes fail" in f for f in findings), name


class TestWithoutT:
    def test_attribute_of_a_model_needs_no_t(self, discharges, tmp_path):
        made = run(discharges, tmp_path, MODELS["distinct"])
        assert {t["asked"] for t in made.manifest["privacy"]["t"].values()} == {1.0}

    def test_others_do(self, discharges, tmp_path):
        privacy = {"k": 4, "models": [MODELS["distinct"]]}
        with pytest.raises(PolicyError, match="'diagnosis_group' is confidential and has no t"):
            run(discharges, tmp_path, privacy=privacy)

    def test_n_t_closeness_is_made_by_t_and_judged_by_itself(self, discharges, tmp_path):
        made = run(discharges, tmp_path, MODELS["supersets"])
        t = made.manifest["privacy"]["t"]["charge"]
        assert (t["asked"], t["largest_emd"] <= 0.2) == (1.0, True)
        assert made.manifest["privacy"]["models"][0]["reached"] <= t["largest_emd"]


class TestInfeasible:
    def refuse(self, discharges, tmp_path, model, words, error=InfeasibleError):
        with pytest.raises(error, match=words):
            run(discharges, tmp_path, model)
        assert not list(tmp_path.glob("discharges/*/manifest.json"))

    def test_more_values_than_there_are(self, discharges, tmp_path):
        n_values = pd.read_parquet(discharges)["insurance_type"].nunique()
        words = f"it has {n_values} different values: l can be at most that"
        self.refuse(discharges, tmp_path, MODELS["distinct"] | {"l": n_values + 1}, words)

    def test_the_nearest_demand_can_be_met(self, discharges, tmp_path):
        """Of distinct values, entropy and recursion; one class of all records is a release too."""
        counts = Counter(pd.read_parquet(discharges)["insurance_type"])
        n_values = len(counts)
        run(discharges, tmp_path / "a", MODELS["distinct"] | {"l": n_values})
        words = f"l can be at most {floor(entropy(counts) * 1e4) / 1e4:.4f}"
        self.refuse(discharges, tmp_path / "b", MODELS["entropy"] | {"l": n_values}, words)
        words = rf"with l = 2, c has to be above {recursive(counts):.6f}"
        self.refuse(discharges, tmp_path / "c", MODELS["recursive"] | {"c": 0.01}, words)
        made = run(
            discharges, tmp_path / "d", MODELS["recursive"] | {"c": recursive(counts) * 1.01}
        )
        assert audit_release(made.release)["findings"] == []

    def test_rank_above_the_number_of_values(self, discharges, tmp_path):
        model = MODELS["recursive"] | {"l": 40}
        self.refuse(discharges, tmp_path, model, "fewer than 40 different values: lower l")

    def test_partition_that_lacks_a_bucket(self, tmp_path):
        table = {
            "age": list(range(40)),
            "site": ["a"] * 20 + ["b"] * 20,
            "pay": [1, 2] * 10 + [3] * 20,
        }
        pq.write_table(pa.table(table), tmp_path / "in.parquet")
        roles = {"age": "quasi-identifier", "site": "non-confidential", "pay": "confidential"}
        policy = {
            "name": "sites",
            "input": {"path": str(tmp_path / "in.parquet")},
            "attributes": roles,
            "privacy": {"k": 2, "models": [{"name": "ratio-closeness", "t": 3}]},
            "output": {"path": str(tmp_path / "out"), "partition_by": ["site"]},
        }
        with pytest.raises(InfeasibleError, match=r"partition site=\w: .* lacks values"):
            run_release(parse_policy(policy), Progress("none"))
        policy["privacy"]["models"] = [{"name": "n-t-closeness", "n": 4, "t": 0.1}]
        with pytest.raises(InfeasibleError, match="made by way of t-closeness"):
            run_release(parse_policy(policy), Progress("none"))

    def test_buckets_that_leave_values_out(self, discharges, tmp_path):
        model = MODELS["ratio"] | {"buckets": [["private"], ["public"]]} | INSURED
        self.refuse(discharges, tmp_path, model, "are in no bucket", PolicyError)

    def test_stretches_of_what_has_no_order(self, discharges, tmp_path):
        model = MODELS["ratio"] | INSURED
        self.refuse(discharges, tmp_path, model, "name the groups", PolicyError)


def test_epsilon_stands_with_its_assumptions(published, capsys):
    said = audit_release(published)["privacy"]["models"][5]
    assert said["epsilon"] == pytest.approx(2 * log(4))
    assert said["epsilon_assumes"] == list(ASSUMPTIONS)
    assert "the value itself is released" in said["epsilon_is_about"]
    assert main(["audit", str(published)]) == 0
    printed = capsys.readouterr().out
    assert "epsilon (Proposition 3)" in printed
    assert all(text in printed for text in ASSUMPTIONS)


def test_groups_of_values(discharges, tmp_path):
    values = sorted(set(pd.read_parquet(discharges)["insurance_type"]))
    model = {"name": "ratio-closeness", "t": 5, "buckets": [values[:1], values[1:]]} | INSURED
    made = run(discharges, tmp_path, model)
    assert audit_release(made.release)["findings"] == []
    counts = groups_of(made.release, "insurance_type")
    total = sum(counts, Counter())
    shares = [c[values[0]] / sum(c.values()) for c in (total, *counts)]
    ratios = [
        max(a / b, b / a) for p in shares[1:] for a, b in [(p, shares[0]), (1 - p, 1 - shares[0])]
    ]
    assert made.manifest["privacy"]["models"][0]["reached"] == pytest.approx(max(ratios))


def test_workers_and_files_change_nothing(discharges, tmp_path):
    models = list(MODELS.values())
    one = run(discharges, tmp_path / "a", *models, engine={"workers": 1})
    two = run(discharges, tmp_path / "b", *models, engine={"workers": 2})
    assert data_digests(one.release) == data_digests(two.release)
    for key in ("privacy", "risk", "classes"):
        assert one.manifest[key] == two.manifest[key]


def test_files_cut_classes_and_audit_does_not_care(discharges, tmp_path):
    output = {"path": str(tmp_path), "rows_per_file": 700}
    made = run(discharges, tmp_path, *MODELS.values(), output=output)
    assert len(made.manifest["files"]) == 5
    assert audit_release(made.release)["findings"] == []


def test_risks_are_those_of_the_rows(published):
    risk = audit_release(published)["risk"]
    counts = groups_of(published, "insurance_type")
    total = sum(counts, Counter())
    n = sum(total.values())
    factors = [max(c[v] / sum(c.values()) * n / total[v] for v in c) for c in counts]
    sizes = [sum(c.values()) for c in counts]
    found = risk["attributes"]["insurance_type"]
    assert found["groups"] == "single values"
    alone = [size for c, size in zip(counts, sizes, strict=True) if len(c) == 1]
    assert found["homogeneity"] == {"records": sum(alone), "classes": len(alone)}
    assert found["skewness"]["largest"] == pytest.approx(max(factors))
    mean = sum(f * s for f, s in zip(factors, sizes, strict=True)) / n
    assert found["skewness"]["mean"] == pytest.approx(mean)
    assert risk["discernibility"] == sum(size * size for size in sizes)
    assert risk["average_class_size"] == pytest.approx(n / len(sizes) / 4)


@pytest.mark.parametrize("name", ["adult", "fars"])
def test_real_data(name, tmp_path):
    given = load_policy(f"config/{name}.yaml").model_dump(mode="json", exclude_unset=True)
    file = {"adult": "adult.csv", "fars": "fars_gamclass.csv"}[name]
    given["input"]["path"] = str(shared_file(file))
    models = [
        {"name": "distinct-l-diversity", "l": 3},
        {"name": "entropy-l-diversity", "l": 2},
        {"name": "recursive-cl-diversity", "c": 4, "l": 2},
        {"name": "p-sensitive-k-anonymity", "p": 2},
        {"name": "n-t-closeness", "n": 1_000, "t": 0.15},
        {"name": "ratio-closeness", "t": 20, "buckets": 2},
    ]
    given |= {"privacy": {"k": 5, "models": models}, "method": {"refine": "off"}}
    given["output"] = {"path": str(tmp_path)}
    made = run_release(parse_policy(given), Progress("none"))
    assert audit_release(made.release)["findings"] == []
    assert not any(model["failing_classes"] for model in made.manifest["privacy"]["models"])
