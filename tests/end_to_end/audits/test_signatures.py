"""A recipient with the public key finds any edit of a manifest; nobody else's key will do."""

import base64
import hashlib
import json
import os
import shutil
import stat
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from support.cases.people import people, policy_for, write_parquet
from support.cases.published import hand_out
from support.passes import decide_only
from tclose.assess.auditing.audit import audit_release
from tclose.assess.auditing.audit_result import SignatureResult
from tclose.cli.main import main
from tclose.errors import PolicyError, UsageError
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.releases.catalog.catalog import open_repository
from tclose.releases.repository.contents import is_intact
from tclose.releases.signatures.key_pair import write_key_pair
from tclose.releases.signatures.manifest_signature import (
    KEY_VARIABLE,
    find_signer,
    read_public_key,
)
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")

QUIET = Progress("none")


@pytest.fixture
def keys(tmp_path):
    return write_key_pair(tmp_path / "keys")


@pytest.fixture
def source(tmp_path):
    return write_parquet(tmp_path / "people.parquet", people())


def publish(source, key=None, **changes):
    document = policy_for(source, **changes)
    if key is not None:
        document.setdefault("output", {})["signing_key"] = str(key)
    return run_release(parse_policy(document), QUIET)


@pytest.fixture
def signed(source, keys):
    return publish(source, keys.private).release


def find(release, keys):
    return audit_release(release, read_public_key(keys.public)).findings


def test_signed_release_passes_with_and_without_the_key(signed, keys, tmp_path, capsys):
    place = hand_out(signed, tmp_path / "received")
    assert is_intact(signed)
    assert find(place, keys) == []
    assert main(["audit", str(place), "--public-key", str(keys.public)]) == 0
    assert "not checked" not in capsys.readouterr().out
    assert main(["audit", str(place), "--quiet"]) == 0
    said = capsys.readouterr().out
    assert keys.key_id in said
    assert "not checked" in said
    audit = audit_release(place, read_public_key(keys.public))
    assert audit.signature == SignatureResult(key_id=keys.key_id, valid=True)
    assert main(["show", str(signed)]) == 0
    assert f"{keys.key_id} (not checked" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(name="other"),
        lambda m: m.update(published_at="2031-01-01T00:00:00+00:00"),
        lambda m: m.update(method="mdav"),
        lambda m: m["privacy"]["t"]["pay"].update(asked=0.99),
        lambda m: m["privacy"].update(models=[]),
        lambda m: m.update(information_loss={"total": 0.0, "per_attribute": {}}),
        lambda m: m["columns"][0].update(treatment="as it is"),
        lambda m: m.update(more=1),
    ],
)
def test_edits_that_no_outsider_could_find_are_found(signed, keys, tmp_path, change):
    place = hand_out(signed, tmp_path / "received")
    path = place / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    assert find(place, keys) == [
        "manifest.sig: does not fit manifest.json: one of them was changed"
    ]


def test_another_form_of_the_same_manifest_is_found(signed, keys):
    path = signed / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text())))
    assert "manifest.sig: does not fit manifest.json" in find(signed, keys)[0]


@pytest.mark.parametrize("name", ["dictionary.md", "report.html", "data/part-00000.parquet"])
def test_all_other_files_are_covered_by_the_digests_of_the_manifest(signed, keys, tmp_path, name):
    """Who forges the digest too breaks the signature."""
    place = hand_out(signed, tmp_path / "received")
    file, path = place / name, place / "manifest.json"
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    file.write_bytes(file.read_bytes().replace(b"e", b"o"))
    assert find(place, keys) == [f"{name}: its content has changed"]
    after = hashlib.sha256(file.read_bytes()).hexdigest()
    path.write_text(path.read_text().replace(before, after))
    assert "manifest.sig: does not fit" in find(place, keys)[0]


def test_missing_signature_is_found(source, keys):
    unsigned = publish(source).release
    assert not (unsigned / "manifest.sig").exists()
    missing = ["manifest.sig: is missing, so nothing says who published the manifest"]
    assert find(unsigned, keys) == missing
    assert main(["audit", str(unsigned), "--public-key", str(keys.public)]) == 3
    assert audit_release(unsigned).notes == []


def test_signature_by_another_key_is_found(signed, tmp_path):
    others = write_key_pair(tmp_path / "others")
    (finding,) = find(signed, others)
    assert "is by another key" in finding
    assert others.key_id in finding


def test_signature_that_claims_the_key_is_found(signed, keys, tmp_path):
    """The id is what a signature says of itself."""
    others = write_key_pair(tmp_path / "others")
    path = signed / "manifest.sig"
    forged = find_signer(str(others.private)).sign((signed / "manifest.json").read_bytes())
    path.write_bytes(forged.replace(others.key_id.encode(), keys.key_id.encode()))
    assert "does not fit" in find(signed, keys)[0]
    audit = audit_release(signed, read_public_key(keys.public))
    assert audit.signature == SignatureResult(key_id=keys.key_id, valid=False)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"\xff", b'{"algorithm": "Ed25519", "key_id": 1, "signature": "aa"}',
     b'{"algorithm": "none", "key_id": "sha256:' + b"0" * 64 + b'", "signature": ""}',
     b'{"algorithm": "Ed25519", "key_id": "\\u001b[31m", "signature": ""}',
     b'{"algorithm": "Ed25519", "key_id": "sha256:' + b"0" * 64 + b'", "signature": "%%"}',
     b"x" * 100_000],
    ids=range(9),
)  # fmt: skip
@pytest.mark.parametrize("has_key", [True, False])
def test_file_that_is_no_signature_is_found(signed, keys, content, has_key):
    (signed / "manifest.sig").write_bytes(content)
    findings = find(signed, keys) if has_key else audit_release(signed).findings
    assert len(findings) == 1
    assert findings[0].startswith("manifest.sig: is ")


def test_same_signature_for_another_use_of_the_key_does_not_hold(signed, keys):
    """A bare signature over the manifest is none: what the key signs elsewhere cannot stand in."""
    key = serialization.load_pem_private_key(keys.private.read_bytes(), None)
    path = signed / "manifest.sig"
    written = path.read_text()
    assert isinstance(key, Ed25519PrivateKey)
    bare = base64.b64encode(key.sign((signed / "manifest.json").read_bytes())).decode()
    path.write_text(written.replace(json.loads(written)["signature"], bare))
    assert "does not fit" in find(signed, keys)[0]


def test_signature_has_one_form_and_one_key(signed, keys):
    """Who writes it otherwise, or under another id, has touched the release."""
    path = signed / "manifest.sig"
    written = path.read_text()
    path.write_text(json.dumps(json.loads(written)))
    assert "is damaged" in find(signed, keys)[0]
    path.write_text(written.replace(keys.key_id[-4:], "0000"))
    assert "is by another key" in find(signed, keys)[0]


class TestRuns:
    def test_key_decides_neither_id_nor_bytes(self, source, keys, tmp_path):
        first = publish(source).release
        place = {"path": str(tmp_path / "again")}
        (tmp_path / "again").mkdir()
        key = first.parents[1] / ".release-key"
        shutil.copy(key, tmp_path / "again" / ".release-key")
        second = publish(source, keys.private, output=place).release
        assert second.name == first.name
        for name in ("data/part-00000.parquet",):
            assert (second / name).read_bytes() == (first / name).read_bytes()

    def test_variable_names_the_key_where_the_policy_names_none(self, source, keys, monkeypatch):
        monkeypatch.setenv(KEY_VARIABLE, str(keys.private))
        assert find(publish(source).release, keys) == []

    def test_policy_goes_before_the_variable(self, source, keys, monkeypatch):
        monkeypatch.setenv(KEY_VARIABLE, "/nowhere")
        assert find(publish(source, keys.private).release, keys) == []

    def test_release_that_stands_unsigned_is_signed_by_the_next_run(self, source, keys):
        unsigned = publish(source)
        before = {p: p.read_bytes() for p in unsigned.release.rglob("*") if p.is_file()}
        again = publish(source, keys.private)
        assert (again.already_published, again.signed_now) == (True, True)
        assert find(again.release, keys) == []
        after = {p: p.read_bytes() for p in unsigned.release.rglob("*") if p.is_file()}
        assert after.keys() - before.keys() == {unsigned.release / "manifest.sig"}
        assert {path: after[path] for path in before} == before
        assert not publish(source, keys.private).signed_now
        assert stat.S_IMODE((again.release / "manifest.sig").stat().st_mode) == 0o644

    def test_release_is_signed_anew_with_another_key(self, source, signed, keys, tmp_path):
        others = write_key_pair(tmp_path / "others")
        assert publish(source, others.private).signed_now
        assert find(signed, others) == []
        assert find(signed, keys)

    def test_signature_goes_with_a_release_that_is_made_again(self, source, signed, keys):
        (signed / "data" / "part-00000.parquet").unlink()
        publish(source, keys.private)
        assert find(signed, keys) == []

    def test_key_that_cannot_sign_is_refused_before_any_work(self, source, tmp_path):
        document = policy_for(source) | {"output": {"path": str(tmp_path / "out"),
                                                    "signing_key": "/nowhere/key.pem"}}  # fmt: skip
        policy = parse_policy(document)
        with pytest.raises(PolicyError, match=r"output.signing_key /nowhere/key.pem: cannot be re"):
            run_release(policy, QUIET)
        with pytest.raises(PolicyError, match="tclose keys"):
            decide_only(policy, tmp_path / "scratch", QUIET)
        assert not (tmp_path / "out").exists()

    def test_rollback_and_prune_work_as_without(self, source, keys):
        first = publish(source, keys.private).release
        publish(source, keys.private, seed=2)
        assert main(["rollback", str(first.parent), first.name]) == 0
        assert open_repository(first.parent).current() == first.name
        assert main(["prune", str(first.parent), "--keep", "1"]) == 0
        assert audit_release(first, read_public_key(keys.public)).findings == []


class TestPrivateKeys:
    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o610])
    def test_one_that_others_can_read_is_refused(self, keys, mode):
        keys.private.chmod(mode)
        with pytest.raises(PolicyError, match="chmod 600"):
            find_signer(str(keys.private))

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    def test_one_of_another_user_is_refused(self, keys):
        os.chown(keys.private, 65534, 65534)
        with pytest.raises(PolicyError, match="belongs to another user"):
            find_signer(str(keys.private))

    @pytest.mark.timeout(300)
    def test_pipe_is_refused_without_waiting(self, tmp_path):
        os.mkfifo(tmp_path / "pipe", 0o600)
        with pytest.raises(PolicyError, match="is not a regular file"):
            find_signer(str(tmp_path / "pipe"))

    def test_link_to_one_is_followed(self, keys, tmp_path):
        """Mounted secrets are links."""
        (tmp_path / "link").symlink_to(keys.private)
        assert find_signer(str(tmp_path / "link")).public.key_id == keys.key_id

    @pytest.mark.parametrize(
        ("key", "encryption", "words"),
        [
            (ec.generate_private_key(ec.SECP256R1()), None, "another algorithm"),
            (ed25519.Ed25519PrivateKey.generate(), b"secret", "passphrase"),
            (None, None, "not a private key in PEM"),
        ],
    )
    def test_other_keys_are_refused(self, tmp_path, key, encryption, words):
        path = tmp_path / "key.pem"
        hidden = (serialization.BestAvailableEncryption(encryption) if encryption
                  else serialization.NoEncryption())  # fmt: skip
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden)
        path.write_bytes(b"nothing" if key is None else key.private_bytes(*form))
        path.chmod(0o600)
        with pytest.raises(PolicyError, match=words):
            find_signer(str(path))

    def test_private_key_shows_nothing_of_itself(self, keys):
        assert "seed" not in repr(find_signer(str(keys.private)))


class TestPublicKeys:
    def test_private_key_in_its_place_is_refused(self, keys):
        with pytest.raises(UsageError, match="is a private key; give the public one"):
            read_public_key(keys.private)

    @pytest.mark.parametrize("content", [b"", b"nothing", b"x" * 100_000])
    def test_file_that_is_none_is_refused(self, tmp_path, content, signed, capsys):
        path = tmp_path / "key.pem"
        path.write_bytes(content)
        assert main(["audit", str(signed), "--public-key", str(path)]) == 2
        assert "public key" in capsys.readouterr().err

    def test_file_that_is_not_there_is_refused(self, tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            read_public_key(tmp_path / "none.pem")

    def test_id_is_the_digest_that_openssl_gives(self, keys):
        openssl = shutil.which("openssl")
        if openssl is None:
            pytest.skip("no openssl")
        command = [openssl, "pkey", "-pubin", "-in", str(keys.public), "-outform", "DER"]
        der = subprocess.run(command, capture_output=True, check=True).stdout
        assert keys.key_id == f"sha256:{hashlib.sha256(der).hexdigest()}"


class TestCommand:
    def test_makes_a_pair_for_its_owner(self, tmp_path, capsys):
        folder = tmp_path / "new" / "keys"
        assert main(["keys", "--out", str(folder), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert stat.S_IMODE((folder / "signing-key.pem").stat().st_mode) == 0o600
        assert stat.S_IMODE((folder / "public-key.pem").stat().st_mode) == 0o644
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert find_signer(told["private"]).public == read_public_key(folder / "public-key.pem")
        assert told["key_id"] == read_public_key(folder / "public-key.pem").key_id

    @pytest.mark.parametrize("name", ["signing-key.pem", "public-key.pem"])
    def test_writes_over_nothing(self, tmp_path, name, capsys):
        (tmp_path / name).symlink_to("nowhere")
        assert main(["keys", "--out", str(tmp_path)]) == 2
        assert "is not overwritten" in capsys.readouterr().err
        assert sorted(path.name for path in tmp_path.iterdir()) == [name]

    def test_makes_none_where_releases_stand(self, signed, capsys):
        for folder in (signed, signed / "data", signed.parent, signed.parent.parent):
            assert main(["keys", "--out", str(folder)]) == 2
            assert "it holds releases" in capsys.readouterr().err

    def test_names_the_folder_above_that_holds_releases(self, tmp_path, capsys):
        (tmp_path / ".release-key").write_bytes(b"")
        assert main(["keys", "--out", str(tmp_path / "mine")]) == 2
        assert f"mine: is in {tmp_path}, and it holds releases" in capsys.readouterr().err
