"""A method and a model that the package does not know: a release is made, verified, audited."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from pydantic import Field

from support.cases.method_cases import LOOSE, N_RECORDS
from support.cases.patients import patient_document, patients, write_patients
from support.cases.people import folder_of, publish
from support.cases.published import hand_out
from support.checks.released import check_release
from tclose.assess.ahead.plan_ahead import plan_ahead
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.errors import (
    ClusterError,
    DataError,
    InfeasibleError,
    NotInstalledError,
    PolicyError,
    TaskError,
    UsageError,
    VerificationError,
)
from tclose.methods.clustering_problem import Clustering, ClusteringProblem
from tclose.methods.method import Method
from tclose.methods.method_registry import METHODS, register_method
from tclose.policy.policy import load_policy, parse_policy, policy_schema
from tclose.privacy.class_counts import ClassCounts, ClassMeasures
from tclose.privacy.model_registry import MODELS, register_model
from tclose.privacy.privacy_model import Model, PrivacyModel
from tclose.runtime.monitoring.progress import Progress

ReplaceHook = Callable[[str, Callable[..., Any]], None]


class SortedGroups(Method):
    """Records in the order of the first quasi-identifier, cut into groups."""

    holds_t: ClassVar[bool] = False
    refines: ClassVar[bool] = False
    without_joint: ClassVar[str] = "looks at quasi-identifiers alone"

    name: Literal["sorted-groups"] = "sorted-groups"
    times: int = Field(default=1, ge=1, description="Groups of so many times k.")

    def make_classes(self, problem: ClusteringProblem) -> Clustering:
        keys = problem.keys[0]
        n_groups = max(1, keys.size // (self.times * problem.k))
        labels = np.empty(keys.size, dtype=np.int64)
        labels[np.argsort(keys, kind="stable")] = np.arange(keys.size) * n_groups // keys.size
        return Clustering(labels)


class LargestShare(Model):
    """The commonest value of each class has at most a share of its records.

    Monotone: the share in a union is at most the larger of the shares in its parts.
    """

    limit_key: ClassVar[str] = "share"

    name: Literal["largest-share"]
    share: float = Field(gt=0, le=1)

    @classmethod
    def measure(cls, requirement: PrivacyModel, counts: ClassCounts, table: Any) -> ClassMeasures:
        most = np.zeros(counts.n_classes, dtype=np.int64)
        np.maximum.at(most, counts.class_of, counts.counts)
        limit = requirement.limit
        meets = most * limit.denominator <= counts.sizes * limit.numerator
        return ClassMeasures(most / counts.sizes, meets)

    @classmethod
    def suggest(cls, requirement: PrivacyModel, achieved: float) -> str:
        return f"share can be {achieved:.3f} at least"


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    register_method(SortedGroups)
    register_model(LargestShare)
    yield
    METHODS.unregister("sorted-groups")
    MODELS.unregister("largest-share")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("patients") / "in", N_RECORDS, 2)


@pytest.fixture(scope="module")
def released(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that is held to the model."""
    document = document_of(source, tmp_path_factory.mktemp("released"))
    document["privacy"]["models"] = [{"name": "largest-share", "share": 0.9}]
    register_method(SortedGroups)
    register_model(LargestShare)
    return folder_of(publish(document))


def document_of(source: Path, place: Path, **keys: Any) -> dict[str, Any]:
    document = patient_document(source, place, {"name": "sorted-groups", **keys})
    return document | {"privacy": dict(LOOSE)}


@pytest.mark.parametrize("times", [1, 3])
def test_release_is_made_verified_and_audited(times: int, source: Path, tmp_path: Path) -> None:
    document = document_of(source, tmp_path, times=times)
    made = publish(document)
    manifest = json.loads((made.release / "manifest.json").read_text())
    assert (manifest["method"], manifest["verdict"]) == ("sorted-groups", "pass")
    assert times * LOOSE["k"] <= manifest["classes"]["mean"] <= 2 * times * LOOSE["k"]
    assert audit_release(made.release).findings == []
    check_release(folder_of(made), patients(N_RECORDS), document)


@pytest.mark.parametrize("keys", [{"times": 20}, {"name": "t-closeness-first"}])
def test_model_is_met_verified_and_audited(
    keys: dict[str, Any], source: Path, tmp_path: Path
) -> None:
    document = document_of(source, tmp_path, **keys)
    asked = {"share": 0.6}
    document["privacy"]["models"] = [{"name": "largest-share", **asked}]
    made = publish(document)
    manifest = json.loads((made.release / "manifest.json").read_text())
    [said] = manifest["privacy"]["models"]
    assert (said["name"], said["attribute"], said["asked"]) == ("largest-share", "pay", asked)
    assert said["failing_classes"] == 0
    assert 0 < said["reached"] <= 0.6
    assert audit_release(made.release).findings == []


@pytest.fixture
def replace_hook(monkeypatch: pytest.MonkeyPatch) -> ReplaceHook:
    """Have the toy model do something else where its protocol is asked."""
    return lambda hook, function: monkeypatch.setattr(LargestShare, hook, function)


@pytest.mark.parametrize("kind", [KeyError, ValueError, PolicyError, DataError, InfeasibleError])
@pytest.mark.parametrize("hook", ["measure", "describe_parameters", "describe", "require"])
def test_a_fault_of_the_models_own_code_is_no_finding(
    hook: str,
    kind: type[Exception],
    released: Path,
    replace_hook: ReplaceHook,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise kind("Mrs Doe")

    replace_hook(hook, stumble)
    assert main(["audit", str(released)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    own = r"test_registered_from_outside\.py:\d+ in stumble"
    place = rf"\([a-z_]+\.py:\d+ in \w+, calling {own}\)"
    assert re.fullmatch(rf"tclose: audit: stopped by \w+Error {place}\n", shown.err)


@pytest.fixture
def not_installed() -> Iterator[None]:
    """Return to an installation that has neither the method nor the model."""
    METHODS.unregister("sorted-groups")
    MODELS.unregister("largest-share")
    yield
    register_method(SortedGroups)
    register_model(LargestShare)


@pytest.mark.usefixtures("not_installed")
def test_audit_without_the_model(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody can tell whether it holds; that is no finding, and no pass."""
    assert main(["audit", str(released)]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    told = "made with the model 'largest-share', which is not installed here: install the dist"
    assert told in shown.err
    with pytest.raises(NotInstalledError):
        audit_release(released)


@pytest.mark.usefixtures("not_installed")
@pytest.mark.parametrize("key", ["k", "t"])
def test_audit_without_the_model_finds_what_else_is_wrong(
    key: str, released: Path, tmp_path: Path
) -> None:
    copy = hand_out(released, tmp_path)
    document = json.loads((copy / "manifest.json").read_text())
    asked = {"k": (document["privacy"]["k"], 50), "t": (document["privacy"]["t"]["pay"], 0.01)}
    section, limit = asked[key]
    section["asked"] = limit
    (copy / "manifest.json").write_text(json.dumps(document))
    audit = audit_release(copy)
    assert audit.findings
    assert all(finding.startswith((key, "manifest.json")) for finding in audit.findings)
    assert audit.notes[0].startswith("made with the model 'largest-share', which is not installed")


@pytest.mark.usefixtures("not_installed")
def test_audit_without_the_method(released: Path, tmp_path: Path) -> None:
    """The rows show what it has made of them, whoever made it."""
    copy = hand_out(released, tmp_path)
    document = json.loads((copy / "manifest.json").read_text())
    assert document["method"] == "sorted-groups"
    document["privacy"]["models"] = []
    (copy / "manifest.json").write_text(json.dumps(document))
    assert audit_release(copy).passed


@pytest.mark.parametrize("asked", [{"share": 1.5}, {"share": -1.0}, {"share": "value"}, {}])
def test_parameters_that_no_policy_can_have_are_a_finding(
    asked: dict[str, Any], released: Path
) -> None:
    """Whatever the model's own code would make of them."""
    path = released / "manifest.json"
    before = path.read_bytes()
    document = json.loads(before)
    document["privacy"]["models"][0]["asked"] = asked
    path.write_text(json.dumps(document))
    try:
        [finding, *_] = audit_release(released).findings
    finally:
        path.write_bytes(before)
    assert finding.endswith("(further models with other parameters)")


@pytest.mark.parametrize(
    ("hook", "given", "told"),
    [
        ("describe_parameters", {"share": "0.9"}, "asked.share: a manifest holds numbers"),
        ("describe_parameters", {"share": 0.9, "of": {"a": 1}}, "asked.of: a manifest holds"),
        ("describe_parameters", {"share": 0.9, "n": 2**63}, "what describe gives: a manifest"),
        ("describe_parameters", {"portion": 0.9}, "cannot make the same requirement of; it has to"),
        ("describe_parameters", {"share": 0.8}, "cannot make the same requirement of"),
        ("describe_parameters", {"share": 7.0}, "cannot make the same requirement of"),
        ("describe", {"epsilon": "much"}, "epsilon: a manifest holds numbers"),
        ("describe", {"more": object()}, "what describe gives: a manifest holds"),
        ("describe", {"more": float("nan")}, "describe.more is read back as something"),
        ("describe", {"more": (1, 2)}, "describe.more is read back as something else"),
    ],
)
def test_what_no_manifest_can_hold_is_refused_when_it_is_planned(
    hook: str,
    given: dict[str, Any],
    told: str,
    source: Path,
    tmp_path: Path,
    replace_hook: ReplaceHook,
) -> None:
    """With the class that its author has to correct, rather than at the end of a run."""
    replace_hook(hook, lambda *_, **__: given)
    document = document_of(source, tmp_path)
    document["privacy"]["models"] = [{"name": "largest-share", "share": 0.9}]
    with pytest.raises(UsageError, match=r"privacy model .*\.LargestShare: ") as refusal:
        plan_ahead(parse_policy(document), Progress("none"), 0)
    assert told in str(refusal.value)


def test_what_the_manifest_can_hold_is_written_and_read(
    source: Path, tmp_path: Path, replace_hook: ReplaceHook
) -> None:
    more = {"more": [1, {"a": None}], "epsilon": 2.5}
    replace_hook("describe", lambda *_, **__: more)
    document = document_of(source, tmp_path)
    document["privacy"]["models"] = [{"name": "largest-share", "share": 0.9}]
    release = publish(document).release
    [said] = json.loads((release / "manifest.json").read_text())["privacy"]["models"]
    assert said.items() >= more.items()
    assert audit_release(release).findings == []


def test_model_that_cannot_be_met(source: Path, tmp_path: Path) -> None:
    document = document_of(source, tmp_path)
    document["privacy"]["models"] = [{"name": "largest-share", "share": 1e-6}]
    with pytest.raises(InfeasibleError, match=r"cannot meet largest-share of 'pay'.* at least"):
        publish(document)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"name": "largest-share"}, r"privacy\.models\.largest-share\.share: is missing"),
        ({"name": "largest-share", "share": 2}, r"largest-share\.share: has to be at most 1"),
        (
            {"name": "largest-share", "l": 2},
            r"largest-share\.l: unknown key; allowed: attributes, n",
        ),
        ({"name": "no"}, "a name has to be one of .*stochastic-t-closeness, largest-share"),
    ],
)
def test_keys_of_the_model_are_checked(
    model: dict[str, Any], message: str, source: Path, tmp_path: Path
) -> None:
    document = document_of(source, tmp_path)
    document["privacy"]["models"] = [model]
    with pytest.raises(PolicyError, match=message):
        parse_policy(document)


@pytest.mark.parametrize(
    "change",
    [
        lambda labels: labels - 1,
        lambda labels: labels + 1,
        lambda labels: labels * 2,
        lambda labels: labels[1:],
        lambda labels: labels.astype(np.int32),
        lambda labels: labels[None],
    ],
)
def test_labels_that_number_no_classes_are_refused(
    change: Callable[[Any], Any], source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels would write where nothing is."""
    make = SortedGroups.make_classes

    def make_wrong(self: SortedGroups, problem: ClusteringProblem) -> Clustering:
        return Clustering(change(make(self, problem).labels))

    monkeypatch.setattr(SortedGroups, "make_classes", make_wrong)
    with pytest.raises(TaskError, match=r"method.name sorted-groups: its labels are not int64"):
        publish(document_of(source, tmp_path))


@pytest.mark.parametrize("kind", ["method", "model"])
def test_workers_that_do_not_know_it_are_named(kind: str, source: Path, tmp_path: Path) -> None:
    """They are processes of their own, in which nobody registered it."""
    document = document_of(source, tmp_path) | {"engine": {"workers": 1}}
    if kind == "model":
        document["method"] = {"name": "mondrian"}
        document["privacy"]["models"] = [{"name": "largest-share", "share": 0.9}]
    with pytest.raises(ClusterError, match=f"{kind} '.*' is not known to 1 of 1 workers") as error:
        publish(document)
    assert f"an entry point of the group tclose.{kind}s" in str(error.value)


def test_what_it_makes_above_t_is_not_published(source: Path, tmp_path: Path) -> None:
    document = document_of(source, tmp_path)
    document["privacy"]["t"] = 0.01
    with pytest.raises(VerificationError) as refusal:
        publish(document)
    assert "sorted-groups knows nothing of t: take method.name: t-closeness-first" in str(
        refusal.value
    )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"times": 0}, r"method\.times: has to be at least 1"),
        ({"times": 2, "name": "mdav"}, "times goes with sorted-groups, not with mdav"),
        ({"gamma": 1}, "gamma goes with v-mdav or .*, not with sorted-groups"),
        ({"refine": "full"}, "refine does not go with sorted-groups"),
        ({"colour": "red"}, r"method\.colour: unknown key; allowed: .*times"),
        ({"name": "no"}, "'sabre' or 'sorted-groups'"),
    ],
)
def test_its_keys_are_checked(
    keys: dict[str, Any], message: str, source: Path, tmp_path: Path
) -> None:
    with pytest.raises(PolicyError, match=message):
        parse_policy(document_of(source, tmp_path, **keys))


def test_policy_of_it_is_written_and_read(source: Path, tmp_path: Path) -> None:
    policy = parse_policy(document_of(source, tmp_path, times=2))
    path = tmp_path / "policy.yaml"
    path.write_text(policy.model_dump_json(exclude_unset=True))
    assert load_policy(path) == policy
    assert isinstance(policy.method, SortedGroups)


def test_schema_has_it() -> None:
    section = policy_schema()["$defs"]["Method"]["properties"]
    assert "sorted-groups" in section["name"]["enum"]
    assert section["times"]["minimum"] == 1


class WithoutWork(Method):
    name: Literal["without-work"] = "without-work"


class WithoutBuckets(SortedGroups):
    cuts_buckets: ClassVar[bool] = True

    name: Literal["without-buckets"] = "without-buckets"  # type: ignore[assignment]


class WithoutMeasure(Model):
    limit_key: ClassVar[str] = "share"

    name: Literal["without-measure"]
    share: float


class WithoutTableMeasure(LargestShare):
    needs_table: ClassVar[bool] = True

    name: Literal["without-table-measure"]  # type: ignore[assignment]


class WithoutNoiseLimit(Model):
    of_noise: ClassVar[bool] = True

    name: Literal["without-noise-limit"]
    t: float


class WithoutField(LargestShare):
    count_key: ClassVar[str] = "n"

    name: Literal["without-field"]  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("register", "registered", "message"),
    [
        (register_method, WithoutWork, "WithoutWork has to define make_classes$"),
        (register_method, WithoutBuckets, "WithoutBuckets has to define cut_buckets$"),
        (register_model, WithoutMeasure, "WithoutMeasure has to define measure, suggest$"),
        (register_model, WithoutTableMeasure, "has to define measure_table$"),
        (register_model, WithoutNoiseLimit, "has to define noise_limit$"),
        (register_model, WithoutField, r"WithoutField needs fields \['n'\]"),
    ],
)
def test_class_that_lacks_what_it_says_it_can_do(
    register: Callable[[type], type], registered: type, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        register(registered)
    assert not {"without-work", "without-measure"} & {*METHODS.classes(), *MODELS.classes()}
