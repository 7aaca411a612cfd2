"""Single bits of any file of a release are flipped: an audit finds each of them.

``TCLOSE_FLIPS`` is how many; files come up in turn, bits are drawn. What no seal covers is
counted apart, with the reason why it decides nothing.
"""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from nightly.counts import Record, report
from support.cases.people import mixed_people, mixed_policy, release, write_parquet
from tclose.assess.auditing.audit import audit_release
from tclose.errors import TcloseError
from tclose.releases.signatures.key_pair import write_key_pair
from tclose.releases.signatures.manifest_signature import PublicKey, read_public_key

N_FLIPS = int(os.environ.get("TCLOSE_FLIPS", "60"))
SEED = int(os.environ.get("TCLOSE_SEED", "1"))


def why_harmless(path: Path, before: bytes) -> str:
    """Why a flip that nobody finds decides nothing; empty where it does."""
    if path.name == ".journal.jsonl":
        return "says who moved CURRENT, which no audit of a release reads"
    if path.name == "CURRENT" and path.read_bytes().split() == before.split():
        return "other white space after the same id"
    return ""


def files_of(root: Path) -> list[Path]:
    """Every file of the releases of a name, and the key beside them."""
    within = [p for p in root.rglob("*") if p.is_file() and p.name != ".lock" and p.stat().st_size]
    return sorted([*within, root.parent / ".release-key"])


def flip(path: Path, bit: int) -> bytes:
    """Flip one bit of a file; its content before."""
    before = path.read_bytes()
    changed = bytearray(before)
    changed[bit // 8] ^= 1 << bit % 8
    path.write_bytes(bytes(changed))
    return before


def is_found(root: Path, key: PublicKey) -> bool:
    """Whether an audit finds something, or refuses in plain words."""
    try:
        return bool(audit_release(root, key).findings)
    except TcloseError:
        return True


@pytest.mark.timeout(3600)
def test_every_flip_is_found(tmp_path: Path, record_property: Record) -> None:
    source = write_parquet(tmp_path / "in.parquet", mixed_people(150))
    keys = write_key_pair(tmp_path / "keys")
    key = read_public_key(keys.public)
    policy = mixed_policy(source, tmp_path / "releases", ("sex",))
    policy["output"]["signing_key"] = str(keys.private)
    root, rng = release(policy).folder.parent, np.random.default_rng(SEED)
    assert audit_release(root, key).findings == []
    counts: Counter[str] = Counter()
    missed = []
    for number in range(N_FLIPS):
        files = files_of(root)
        path = files[number % len(files)]
        bit = int(rng.integers(8 * path.stat().st_size))
        before = flip(path, bit)
        try:
            if is_found(root, key):
                counts["found"] += 1
            elif why := why_harmless(path, before):
                counts[f"harmless ({why})"] += 1
            else:
                missed.append((path.relative_to(root.parent).as_posix(), bit))
        finally:
            path.write_bytes(before)
    assert missed == []
    assert audit_release(root, key).findings == []
    report(record_property, "flips", {"tried": N_FLIPS} | counts | {"missed": 0})
