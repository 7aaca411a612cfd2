"""Releases of buckets, and of values in buckets: the ratio, and what is told of it."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.cases.method_cases import CASES
from support.cases.patients import patient_document
from support.cases.people import folder_of, publish
from tclose.assess.auditing.audit import audit_release
from tclose.render.release_tables import report_release

pytestmark = pytest.mark.usefixtures("small_regions")


def test_shares_of_buckets_are_within_the_ratio_by_pandas(source: Path, tmp_path: Path) -> None:
    """Counted once more, another way than in `check_release`."""
    method, keys = CASES["buckets"]
    made = publish(patient_document(source, tmp_path, method, **keys))
    frame = pd.read_parquet(made.release / "data")
    counts = pd.crosstab([frame["age"], frame["height"], frame["town"]], frame["pay"]).to_numpy()
    assert counts.shape[1] == 3  # floor(ratio) + 1
    size, total = counts.sum(axis=1, keepdims=True), counts.sum(axis=0, keepdims=True)
    n_records = counts.sum()
    assert (counts * n_records <= 2 * size * total).all()
    assert (size * total <= 2 * counts * n_records).all()


class TestBucketization:
    """What is told of a release of buckets, and of one of values."""

    def test_of_buckets(self, source: Path, tmp_path: Path) -> None:
        method, _ = CASES["buckets"]
        made = publish(patient_document(source, tmp_path, method)).manifest
        column = next(c for c in made.columns if c.name == "pay")
        assert column.treatment.startswith("bucket of its value: one of 3 buckets of neighbour")
        t = made.privacy.t["pay"]
        assert (t.asked, t.of, t.distance) == (0.2, "buckets", "ordered")
        assert t.largest_emd <= 0.2
        [model] = made.privacy.models or []
        assert model.epsilon == pytest.approx(2 * np.log(2))
        assert model.epsilon_is_about.startswith("the bucket that is released in place of")
        assert "the buckets are distributed" in (
            (tmp_path / "patients" / made.release_id / "dictionary.md").read_text()
        )

    def test_of_groups_of_buckets(self, source: Path, tmp_path: Path) -> None:
        """Within a group the buckets of a class may be any that the ratio allows."""
        document = patient_document(source, tmp_path, CASES["buckets"][0])
        asked = {"name": "ratio-closeness", "t": 1.9, "buckets": 2}
        document["privacy"] = document["privacy"] | {"models": [asked]}
        made = publish(document)
        grouped, own = made.manifest.privacy.models or []
        assert grouped.asked == {"t": 1.9, "buckets": 2}
        assert (own.reached or 0) > (grouped.reached or 0)
        said = grouped.epsilon_is_about or ""
        assert said.startswith("the group that the attribute's bucket is in")
        assert "the bucket itself is released" in said
        assert (own.epsilon_is_about or "").startswith("the bucket that is released")
        assert audit_release(made.release).passed

    def test_of_values(self, source: Path, tmp_path: Path) -> None:
        method, keys = CASES["values in buckets"]
        made = publish(patient_document(source, tmp_path, method, **keys))
        column = next(c for c in made.manifest.columns if c.name == "pay")
        assert column.type == "int64"
        assert column.treatment.startswith("as it is; classes were made by its 3 buckets")
        t = made.manifest.privacy.t["pay"]
        assert t.of is None
        assert t.asked == 0.2
        [model] = made.manifest.privacy.models or []
        assert model.asked == {"t": 2.0, "buckets": 3, "release": "value"}
        assert model.reached is not None
        assert model.reached <= 2
        assert "no epsilon of Proposition 3 is claimed" in (model.holds_for or "")
        assert not [key for key in model.to_json() if "epsilon" in key]
        told = report_release(made.manifest, "", {})
        assert "no epsilon of Proposition 3" in told
        assert "no epsilon of Proposition 3" in (made.release / "dictionary.md").read_text()

    def test_of_more_buckets_than_records_passes_its_audit(
        self, source: Path, tmp_path: Path
    ) -> None:
        method = {"name": "bucketization", "release": "value", "ratio": 9, "buckets": 10**6}
        made = publish(patient_document(source, tmp_path, method, privacy={"k": 3}))
        [model] = made.manifest.privacy.models or []
        assert model.asked["buckets"] == made.manifest.records
        assert audit_release(made.release).findings == []

    def test_of_values_are_cut_at_ranks_whatever_their_distance(
        self, source: Path, tmp_path: Path
    ) -> None:
        method, _ = CASES["values in buckets"]
        asked = {"pay": {"role": "confidential", "distance": "equal"}}
        made = publish(
            patient_document(source, tmp_path, method, privacy={"k": 5}, attributes=asked)
        )
        assert made.manifest.privacy.t["pay"].distance == "equal"
        [model] = made.manifest.privacy.models or []
        assert model.asked == {"t": 2.0, "buckets": 3, "release": "value"}
        assert audit_release(made.release).findings == []

    def test_t_of_values_is_measured_where_none_is_asked(
        self, source: Path, tmp_path: Path
    ) -> None:
        method, _ = CASES["values in buckets"]
        loose = publish(patient_document(source, tmp_path, method, privacy={"k": 5}))
        found = loose.manifest.privacy.t["pay"]
        assert found.asked == 1
        assert found.largest_emd > 0.05
        tight = patient_document(source, tmp_path, method, privacy={"k": 5, "t": 0.05})
        tight_classes = publish(tight).manifest.classes.n_classes
        assert 1 < tight_classes < loose.manifest.classes.n_classes

    @pytest.mark.parametrize(
        "change",
        [
            lambda model: model["asked"].update(buckets=2),
            lambda model: model["asked"].pop("release"),
            lambda model: model.update(epsilon=1.0),
            lambda model: model.pop("holds_for"),
        ],
    )
    def test_edits_are_found(self, change: Any, source: Path, tmp_path: Path) -> None:
        """Where what stays inside is not at hand, too."""
        method, keys = CASES["values in buckets"]
        made = publish(patient_document(source, tmp_path, method, **keys))
        shutil.rmtree(folder_of(made) / "internal")
        (tmp_path / ".release-key").unlink()  # with it at hand seals would be missed
        assert audit_release(made.release).findings == []
        manifest = json.loads((made.release / "manifest.json").read_text())
        change(manifest["privacy"]["models"][0])
        (folder_of(made) / "manifest.json").write_text(json.dumps(manifest))
        assert audit_release(made.release).findings
