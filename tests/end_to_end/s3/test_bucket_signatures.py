"""Signatures of releases in a bucket: part of what is handed out, put on condition."""

import json

import pytest

from support.servers.bucket_runs import public, run
from tclose.assess.auditing.audit import audit_release
from tclose.errors import ConflictError, StoreError
from tclose.releases.catalog.catalog import open_repository
from tclose.releases.repository import contents
from tclose.releases.repository.contents import is_intact
from tclose.releases.signatures.key_pair import write_key_pair
from tclose.releases.signatures.manifest_signature import find_signer, read_public_key
from tclose.releases.stores.filesystem import FolderStore

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture
def keys(tmp_path):
    return write_key_pair(tmp_path / "keys")


def with_key(document, keys):
    return document | {"output": document["output"] | {"signing_key": str(keys.private)}}


def test_release_in_a_bucket_is_signed(document, root, keys):
    made = run(with_key(document, keys))
    key = read_public_key(keys.public)
    assert "manifest.sig" in public(root, made.release.name)
    assert audit_release(root, key).findings == []
    assert is_intact(made.release)
    manifest = made.release / "manifest.json"
    edited = json.loads(manifest.read_bytes()) | {"method": "mdav"}
    manifest.put(json.dumps(edited).encode(), manifest.tag())
    assert "manifest.sig: does not fit" in audit_release(root, key).findings[0]


@pytest.mark.nightly
def test_release_that_stands_unsigned_is_signed_by_the_next_run(document, root, keys):
    run(document)
    again = run(with_key(document, keys))
    assert (again.already_published, again.signed_now) == (True, True)
    assert audit_release(root, read_public_key(keys.public)).findings == []
    assert not run(with_key(document, keys)).signed_now


def test_signature_is_not_put_over_what_somebody_else_puts_there(document, root, keys, monkeypatch):
    made = run(document)
    signature = made.release / "manifest.sig"
    with open_repository(root).acquire_lease(1) as held:
        check = type(held).check_lease

        def interfere(repository):
            check(repository)
            signature.put(b"another", None)

        monkeypatch.setattr(type(held), "check_lease", interfere)
        signer = find_signer(str(keys.private))
        assert signer is not None
        with pytest.raises(ConflictError):
            held.sign(made.release.name, signer)
    assert signature.read_bytes() == b"another"


@pytest.mark.nightly
def test_removed_internal_part_is_found(document, root):
    made = run(document)
    inside = root / ".internal" / made.release.name
    for path in inside.rglob():
        path.unlink()
    assert audit_release(made.release).findings == ["internal/seal.json: is missing"]


def test_stranger_inside_is_found(document, root):
    made = run(document)
    (root / ".internal" / made.release.name / "more.csv").put(b"patient_id\n", None)
    findings = audit_release(made.release).findings
    assert findings == ["internal/more.csv: does not belong to the release"]


def test_store_that_does_not_answer_is_no_pass(document, monkeypatch):
    """Whether there is a key is not known then."""
    made = run(document)

    def away(*_):
        raise StoreError("the object store does not answer")

    class Away(FolderStore):
        read = away

    monkeypatch.setattr(contents, "open_store", Away)
    with pytest.raises(StoreError):
        audit_release(made.release)
