"""What TLS and folders cost: pairs of processes make medians, and targets say whether they do."""

import json
from pathlib import Path

import pytest
import yaml

from benchmarks.performance import fixed_costs
from tclose.policy.policy import load_policy

PAIRS = [
    {"tls": [2.0, 1.0], "tcp": [1.5, 0.9]},
    {"tls": [2.2, 1.1], "tcp": [2.0, 0.9]},
    {"tls": [9.0, 1.5], "tcp": [8.9, 1.0]},
]


def test_differences_are_those_of_pairs() -> None:
    """A median of differences, which a machine that was busy for a while moves less."""
    body = fixed_costs._describe(PAIRS, 100, 12.34)
    assert "| first cluster of a process, with TLS | 2.20 |" in body
    assert "| first cluster of a process, without | 2.00 |" in body
    assert "| TLS: more seconds, first cluster of a process | at most 0.3 | 0.2 | met |" in body
    assert "| TLS: more seconds, second cluster of a process | at most 0.3 | 0.2 | met |" in body
    assert "| release with 100 folders | 12.3 |" in body


@pytest.mark.parametrize("transport", fixed_costs.TRANSPORTS)
def test_clusters_have_the_transport_that_is_measured(
    transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    from tclose.runtime.engines import local

    seen: list[str] = []

    class Client(distributed.Client):
        def __init__(self, address: str) -> None:
            seen.append(address)
            super().__init__(address)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(distributed, "Client", Client)
    for module, name in ((distributed, "LocalCluster"), (local, "make_tls_configuration")):
        monkeypatch.setattr(module, name, getattr(module, name))  # put back afterwards
    seconds = fixed_costs.time_clusters(transport)
    assert [address.partition(":")[0] for address in seen] == [transport, transport]
    assert len(seconds) == 2


def test_release_has_a_folder_for_each_dozen(tmp_path: Path) -> None:
    *_, path, _ = fixed_costs._release_command(tmp_path, 3)
    assert yaml.safe_load(Path(path).read_text()) == json.loads(Path(path).read_text())
    assert load_policy(Path(path)).output.partition_by == ("part",)
