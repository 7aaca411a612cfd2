"""The engine of a policy: addresses, names of clusters, sizes, and accepted warnings."""

from typing import Any

import pytest
from pydantic import ValidationError

from tclose.policy.sections.engine_settings import EngineSettings, KubernetesSettings

TLS = {"ca": "ca.pem", "cert": "client.pem", "key": "client-key.pem"}


def parse(**keys: Any) -> EngineSettings:
    return EngineSettings.model_validate(keys)


def test_certificates_go_with_an_encrypted_address() -> None:
    assert parse(scheduler="tls://host:8786", tls=TLS).tls is not None
    with pytest.raises(ValidationError, match="tcp:// is not encrypted, and tls is given; write"):
        parse(scheduler="tcp://host:8786", tls=TLS)


def test_keys_that_the_scheduler_has_no_use_for_are_refused() -> None:
    manifest = {"manifest": "cluster.yaml"}
    with pytest.raises(
        ValidationError, match="tls is of another scheduler, and scheduler is local"
    ):
        parse(tls=TLS)
    for scheduler in ("local", "tls://host:8786"):
        with pytest.raises(ValidationError, match=r"kubernetes\.manifest goes with scheduler: kub"):
            parse(scheduler=scheduler, kubernetes=manifest)
    made = parse(scheduler="kubernetes", kubernetes=manifest, tls=TLS)
    assert made.tls is not None
    assert parse(kubernetes={"namespace": "night"}).kubernetes.manifest is None


@pytest.mark.parametrize("lacking", TLS)
def test_all_three_files_are_needed(lacking: str) -> None:
    with pytest.raises(ValidationError, match=f"tls.{lacking}"):
        parse(scheduler="tls://host:8786", tls={k: v for k, v in TLS.items() if k != lacking})


@pytest.mark.parametrize(
    "scheduler", ["", "Local", "http://host:80", "tls://host", "tls://host:123456", "tls:// a:1"]
)
def test_what_is_no_scheduler(scheduler: str) -> None:
    with pytest.raises(ValidationError, match="scheduler"):
        parse(scheduler=scheduler)


@pytest.mark.parametrize(
    ("name", "is_label"),
    [("a", True), ("tclose-2", True), ("a" * 40, True), ("a" * 41, False)]
    + [(name, False) for name in ("", "-a", "a-", "2a", "A", "a.b", "a/b", "a\n")],
)
def test_names_of_clusters_are_labels_with_room_for_a_suffix(name: str, is_label: bool) -> None:
    for key in ("cluster", "namespace"):
        if is_label:
            assert getattr(KubernetesSettings.model_validate({key: name}), key) == name
        else:
            with pytest.raises(ValidationError, match=key):
                KubernetesSettings.model_validate({key: name})


@pytest.mark.parametrize("workers", [0, -1, 1.5, "all"])
def test_workers_are_counted_or_auto(workers: object) -> None:
    assert parse(workers="auto").workers == "auto"
    assert parse(workers=3).workers == 3
    with pytest.raises(ValidationError, match="workers"):
        parse(workers=workers)


@pytest.mark.parametrize("size", ["2GB", "1.5 GiB", "500mb", "auto"])
def test_sizes_of_memory(size: str) -> None:
    assert parse(memory_per_worker=size).memory_per_worker == size


@pytest.mark.parametrize("size", ["1MB", "255.9 mb", "244MiB", "0GB"])
def test_memory_that_no_worker_starts_with(size: str) -> None:
    with pytest.raises(ValidationError, match="before it has read a record; give it 256MB or more"):
        parse(memory_per_worker=size)


@pytest.mark.parametrize(("size", "n_bytes"), [("256MB", 256 * 10**6), ("0.5 gib", 2**29)])
def test_bytes_of_sizes(size: str, n_bytes: int) -> None:
    assert parse(memory_per_worker=size).memory_bytes == n_bytes
    assert parse(memory_per_worker="auto").memory_bytes is None


@pytest.mark.parametrize("size", ["2", "GB", "-2GB", "2 B", "2GB ", "2,5GB"])
def test_what_is_no_size(size: str) -> None:
    with pytest.raises(ValidationError, match="memory_per_worker"):
        parse(memory_per_worker=size)


def test_accepted_warnings_have_numbers() -> None:
    assert parse(accepted_warnings=["TC-W009", "TC-W001"]).accepted_warnings == (
        "TC-W009",
        "TC-W001",
    )
    with pytest.raises(ValidationError, match=r"number in place 2; they are TC-W001 to TC-W0\d\d"):
        parse(accepted_warnings=["TC-W001", "TC-W999"])


def test_an_unknown_warning_is_not_repeated_in_the_message() -> None:
    with pytest.raises(ValidationError) as caught:
        parse(accepted_warnings=["secret"])
    assert "secret" not in caught.value.errors()[0]["msg"]


@pytest.mark.parametrize("key", ["lease_seconds", "claim_expiry"])
def test_either_name_of_the_lease_is_within_a_day(key: str) -> None:
    assert parse(**{key: 30}).lease_seconds == 30
    for seconds in (0.5, 86_401):
        with pytest.raises(ValidationError, match=key):
            parse(**{key: seconds})
