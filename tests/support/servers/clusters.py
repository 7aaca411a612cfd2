"""Commands that start Dask's own processes."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = (ROOT / "pipeline", ROOT / "flows")


def clean_environment(*first: Path) -> dict[str, str]:
    """This environment without Dask's settings; packages of these sources, after ``first``."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DASK_", "COVERAGE_"))}
    return kept | {"PYTHONPATH": os.pathsep.join(map(str, (*first, *SOURCES, ROOT)))}


def pretend_version(folder: Path, package: str, version: str) -> Path:
    """A folder that, first on the path, makes a package look like another version of itself."""
    place = folder / f"{package}-{version}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n", encoding="utf-8"
    )
    return folder
