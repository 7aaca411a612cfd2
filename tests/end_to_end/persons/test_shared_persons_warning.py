"""A plan or run of persons who are in an earlier release of the folder is warned of."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.cases.people import read_document, write_policy
from support.cases.series_months import write_months
from tclose.cli.main import main
from tclose.data.synthetic.panel_files import write_panel

pytestmark = pytest.mark.usefixtures("small_regions")


class Months:
    """Months of a panel, and a policy for them."""

    def __init__(self, folder: Path, n_persons: int = 1_500) -> None:
        self.folder = folder
        self.files = write_panel(folder / "panel", n_persons, 3, range(2), churn=0.2)

    def policy(self, month: int, **changes: Any) -> str:
        document = {
            "name": "panel",
            "input": {"path": str(self.files[month])},
            "unlisted": "drop",
            "attributes": {
                "person_id": "person",
                "age": "quasi-identifier",
                "zip": "quasi-identifier",
                "income": "confidential",
            },
            "privacy": {"k": 3, "t": 0.3},
            "method": {"refine": "lean"},
            "output": {"path": str(self.folder / "releases")},
        } | changes
        return str(write_policy(self.folder / f"{month}.yaml", document))

    def planned(self, capsys: pytest.CaptureFixture[str], month: int, **changes: Any) -> list[dict]:
        assert main(["plan", self.policy(month, **changes), "--json", "--quiet"]) == 0
        warnings = json.loads(capsys.readouterr().out)["warnings"]
        return [one for one in warnings if one["code"] == "TC-W008"]


@pytest.fixture
def months(tmp_path: Path) -> Months:
    return Months(tmp_path)


def test_persons_of_an_earlier_release(months: Months, capsys: Any) -> None:
    assert months.planned(capsys, 0) == []
    assert main(["run", months.policy(0), "--quiet"]) == 0
    [release] = [p for p in (months.folder / "releases" / "panel").iterdir() if len(p.name) == 20]
    capsys.readouterr()
    [warned] = months.planned(capsys, 1)
    assert warned["message"].startswith("of the 1,500 persons about ")
    assert f"% in panel/{release.name}; their classes are made without" in warned["message"]
    share = int(warned["message"].split("about ")[1].split("%")[0])
    assert 75 <= share <= 85
    assert main(["run", months.policy(1), "--quiet"]) == 0
    assert "warning TC-W008: of the 1,500 persons about" in capsys.readouterr().err


def test_releases_that_the_window_has_left_are_called_so(tmp_path: Path, capsys: Any) -> None:
    """They are of the series, and an officer who reads of other releases would look for them."""
    panel = write_months(tmp_path / "panel", 3)
    first, second, last = panel.publish(0, 1, 2, window=2)
    warned = [w["message"] for w in last.internal["warnings"] if w["code"] == "TC-W008"]
    assert [w for w in second.internal.get("warnings", []) if w["code"] == "TC-W008"] == []
    named = f"{first.folder.parent.name}/{first.folder.name} (of this series, before its window)"
    assert f"{named}; the window of the series has left them, and nothing holds" in warned[0]
    report = (last.folder / "internal" / "report.html").read_text()
    assert "but for those of series panel, which its window has left" in report
    (path := tmp_path / "next.yaml").write_text(json.dumps(panel.policy(2, window=2, k=2)))
    assert main(["plan", str(path), "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "how many of them was not estimated: classes of a series are made with" in told


def test_strict_policy_refuses(months: Months, capsys: Any) -> None:
    assert main(["run", months.policy(0), "--quiet"]) == 0
    assert main(["run", months.policy(1), "--quiet", "--strict"]) == 3
    assert "TC-W008: of the 1,500 persons" in capsys.readouterr().err


@pytest.mark.nightly
def test_nothing_is_said_of_others(months: Months, capsys: Any, tmp_path: Path) -> None:
    assert main(["run", months.policy(0), "--quiet"]) == 0
    capsys.readouterr()
    assert months.planned(capsys, 0, privacy={"k": 4, "t": 0.3}) == []  # the same input
    elsewhere = {"path": str(tmp_path / "elsewhere")}
    assert months.planned(capsys, 1, output=elsewhere) == []
    (tmp_path / "others").mkdir()
    others = write_panel(tmp_path / "others" / "panel", 1_500, 4, range(1))[0]
    assert months.planned(capsys, 1, input={"path": str(others)}) == []
    attributes = {"person_id": "identifier", "age": "quasi-identifier", "income": "confidential"}
    assert months.planned(capsys, 1, attributes=attributes) == []


def test_sketch_stays_inside_and_names_nobody(months: Months) -> None:
    assert main(["run", months.policy(0), "--quiet"]) == 0
    [release] = [p for p in (months.folder / "releases" / "panel").iterdir() if len(p.name) == 20]
    sketch = read_document(release / "internal")["person_sketch"]
    assert sketch["persons"] == 1_500
    assert len(sketch["hashes"]) == 1_024
    assert sketch["hashes"] == sorted(set(sketch["hashes"]))
    assert "person_sketch" not in read_document(release)


def test_key_that_cannot_be_read_is_no_error_of_a_plan(months: Months, capsys: Any) -> None:
    assert main(["run", months.policy(0), "--quiet"]) == 0
    key = months.folder / "releases" / ".release-key"
    key.write_bytes(b"short")
    capsys.readouterr()
    assert months.planned(capsys, 1) == []
