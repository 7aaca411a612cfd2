"""Draws of noise: one for each value of a run, and a warning where others have gone before."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.cases.discharge_policies import data_digests
from support.cases.noise_cases import N_RECORDS, STAGE, document_of
from support.cases.patients import patient_document, write_patients
from support.cases.people import folder_of, publish, write_policy
from support.checks.released import read_rows
from support.passes import find_pass, replace_work
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.errors import OutputError
from tclose.methods.dp.noise import add_noise
from tclose.passes.encode import encode_task
from tclose.runtime.artifacts.arrays import TableFile
from tclose.runtime.engines import engine
from tclose.runtime.pipeline import PassContext

pytestmark = pytest.mark.usefixtures("small_regions")

pytest.importorskip("opendp")


class TestDrawnOnce:
    @pytest.fixture
    def drawn(self, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
        """All that was drawn, partition by partition: row groups of 701 records and 299.

        These are drawn one after the other, so that it is known which is which.
        """
        found: list[np.ndarray] = []

        def noted(values: pa.Array, column: Any) -> pa.Array:
            made = add_noise(values, column)
            found.append(made.to_numpy())
            return made

        monkeypatch.setattr(encode_task, "add_noise", noted)
        monkeypatch.setattr(engine, "count_processors", lambda: 1)
        return found

    @pytest.mark.parametrize("pass_name", ["microaggregate", "verify", "publish"])
    def test_run_that_goes_on_releases_what_was_drawn(
        self, pass_name: str, source: Path, drawn: list[np.ndarray], tmp_path: Path
    ) -> None:
        document = document_of(source, tmp_path)
        with pytest.MonkeyPatch.context() as patch:
            replace_work(patch, pass_name, stop)
            with pytest.raises(RuntimeError):
                publish(document)
        assert [values.size for values in drawn] == [701, 299]
        rows = read_rows(folder_of(publish(document)))
        assert len(drawn) == 2  # nothing was drawn again
        by_id = rows.sort_values("id")["pay"].to_numpy().astype(np.int64)
        assert np.array_equal(by_id, np.concatenate(drawn))

    def test_partitions_that_were_finished_are_not_drawn_again(
        self, source: Path, drawn: list[np.ndarray], tmp_path: Path
    ) -> None:
        document = document_of(source, tmp_path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TableFile, "write", stop_at_second(TableFile.write))
            with pytest.raises(Exception, match="RuntimeError"):
                publish(document)
        assert [values.size for values in drawn] == [701, 299]
        rows = read_rows(folder_of(publish(document)))
        assert [values.size for values in drawn] == [701, 299, 299]
        by_id = rows.sort_values("id")["pay"].to_numpy().astype(np.int64)
        assert np.array_equal(by_id, np.concatenate([drawn[0], drawn[2]]))

    def test_finished_release_is_found_and_a_new_run_draws_anew(
        self, source: Path, drawn: list[np.ndarray], tmp_path: Path
    ) -> None:
        first = publish(document_of(source, tmp_path / "a"))
        again = publish(document_of(source, tmp_path / "a"))
        assert again.already_published
        assert len(drawn) == 2
        other = publish(document_of(source, tmp_path / "b"))
        assert len(drawn) == 4
        assert data_digests(folder_of(first)) != data_digests(folder_of(other))
        assert not np.array_equal(drawn[0], drawn[2])


class TestDrawnBefore:
    """Another draw of the same records is warned of: who has both can average them."""

    def run(self, document: dict[str, Any], place: Path, *sets: str) -> int:
        policy = write_policy(place / "policy.yaml", document)
        return main(["run", str(policy), "--quiet", *(f"--set={key}" for key in sets)])

    @pytest.mark.parametrize("change", ["seed=2", "name=others", "privacy.k=6"])
    def test_under_another_seed_name_or_policy(
        self, change: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        document = document_of(source, tmp_path, attributes={"stage": STAGE})
        assert self.run(document, tmp_path) == 0
        first = capsys.readouterr()
        assert re.findall(r"TC-W\d+", first.err) == ["TC-W017"]  # of the ids
        assert "all draws" not in first.out
        assert self.run(document, tmp_path, change, "attributes.pay.noise.epsilon=1.5") == 0
        told = capsys.readouterr()
        said = "warning TC-W015: 1 release of the same input has noise on the same columns"
        assert said in told.err
        assert "'pay' 1.5, together 3.5; 'stage' 1.5, together 3" in told.err
        assert re.search("all draws of pay +epsilon 3.5, with those of other releases", told.out)
        assert self.run(document, tmp_path, change, "attributes.pay.noise.epsilon=1.5") == 0
        again = capsys.readouterr()
        assert again.err == ""  # nothing is drawn
        assert "already published" in again.out
        assert "epsilon 3.5, with those of other releases" in again.out

    def test_is_kept_inside(self, source: Path, tmp_path: Path) -> None:
        first = publish(document_of(source, tmp_path))
        second = publish(document_of(source, tmp_path, seed=2))
        internal = json.loads((second.release / "internal" / "manifest.json").read_text())
        assert internal["epsilon_of_all_draws"] == {"pay": 4.0}
        assert internal["earlier_draws"] == [
            {"release": f"patients/{first.release.name}", "epsilon": {"pay": 2.0}}
        ]
        assert second.budget == {"pay": 4.0}
        assert "earlier_draws" not in second.manifest.to_json()
        assert first.budget == {}
        assert audit_release(second.release).findings == []

    def test_of_a_run_that_ends_beside_this_one(
        self, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is there by the time this one is published, and was not when it was planned."""
        work = find_pass("publish").work

        def publish_second(context: PassContext) -> None:
            with pytest.MonkeyPatch.context() as inner:
                replace_work(inner, "publish", work)
                publish(document_of(source, tmp_path, name="beside"))
            work(context)

        with pytest.MonkeyPatch.context() as patch:
            replace_work(patch, "publish", publish_second)
            made = publish(document_of(source, tmp_path))
        assert made.budget == {"pay": 4.0}
        assert capsys.readouterr().err.count("'pay' 2, together 4") == 1

    def test_damaged_release_that_is_made_again(
        self, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        made = publish(document_of(source, tmp_path))
        (folder_of(made) / "data" / "part-00000.parquet").write_bytes(b"")
        again = publish(document_of(source, tmp_path))
        assert (again.release, again.already_published) == (made.release, False)
        assert "together 4" in capsys.readouterr().err

    @pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"{}")])
    def test_working_file_that_is_damaged_loses_none(
        self, harm: Any, source: Path, tmp_path: Path
    ) -> None:
        publish(document_of(source, tmp_path))
        document = document_of(source, tmp_path, seed=2)
        work = find_pass("publish").work

        def publish_after_harm(context: PassContext) -> None:
            harm(context.workspace.task_files("values", "noise-draws").path("record"))
            work(context)

        with pytest.MonkeyPatch.context() as patch:
            replace_work(patch, "publish", publish_after_harm)
            with pytest.raises(OutputError, match="noise-draws is missing or damaged; run again"):
                publish(document)
        again = publish(document)
        assert again.budget == {"pay": 4.0}

    def test_of_other_records_or_columns(
        self, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        publish(document_of(source, tmp_path / "out"))
        others = write_patients(tmp_path / "others", N_RECORDS - 1)
        publish(document_of(others, tmp_path / "out"))
        attributes: dict[str, Any] = {"pay": "identifier", "stage": STAGE}
        publish(document_of(source, tmp_path / "out", attributes=attributes))
        plain = patient_document(
            source, tmp_path / "out", {"name": "mdav"}, privacy={"k": 5, "t": 1}
        )
        publish(plain)
        assert "noise" not in capsys.readouterr().err


def stop(*_: Any) -> None:
    raise RuntimeError


def stop_at_second(function: Any) -> Any:
    calls = []

    def stopping(*given: Any) -> Any:
        calls.append(given)
        return stop() if len(calls) == 2 else function(*given)

    return stopping
