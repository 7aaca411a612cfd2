"""A hook of mkdocs: the pages are taken from a folder that has the project's layout.

Pages link to pages, figures and files of other folders. In a copy with the same folders these links
hold as they are written, on the site as in the project.
"""

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

# Whatever pages are, or link to.
_STAGED = (
    "README.md", "CHANGELOG.md", "LICENSE", "docs/*.md", "docs/examples/*.py", "docs/site/site.*",
    "docs/pictures/*.svg", "config/*.yaml", "benchmarks/*.md", "benchmarks/figures/*.svg",
    "deploy/README.md", "pipeline/tclose/releases/lineage/schemas/*.json",
)  # fmt: skip


def on_config(config: Any) -> Any:
    """Copy the pages, and have mkdocs read the copy."""
    root = Path(config.config_file_path).parent
    staged = Path(tempfile.mkdtemp(prefix="tclose-docs-"))
    for pattern in _STAGED:
        for source in root.glob(pattern):
            target = staged / source.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    config.docs_dir = str(staged)
    return config


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Leave no head of a table without words, which screen readers would announce."""
    del page, config
    return re.sub(r"<th([^>]*)></th>", r"<td\1></td>", output)


def on_post_build(config: Any) -> None:
    """Remove the copy."""
    shutil.rmtree(config.docs_dir)
