"""Schedulers that do not answer: one message that names the address."""

import contextlib
import socket
import threading

import pytest
from distributed import LocalCluster

from support.cases.people import people, policy_for, write_csv
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.runtime.engines import scheduler


class TestScheduler:
    def test_nobody_answers(self, tmp_path, refuse, answer_within):
        answer_within(3_600)  # which it does not wait for
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        document = policy_for(write_csv(tmp_path / "people.csv", people()))
        document["engine"] = {"scheduler": f"tcp://127.0.0.1:{port}"}
        refuse(document, f"tcp://127.0.0.1:{port}: no Dask scheduler answers there; start it")

    @pytest.mark.parametrize("greeting", [b"", b"220 mail.example ready\r\n"])
    def test_something_else_answers(self, greeting, tmp_path, refuse, answer_within):
        answer_within(0.2)
        document = policy_for(write_csv(tmp_path / "people.csv", people()))
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
            document["engine"] = {"scheduler": address}

            def greet() -> None:
                with contextlib.ExitStack() as peers:
                    for _ in range(2):
                        peers.enter_context(server.accept()[0]).sendall(greeting)

            thread = threading.Thread(target=greet)
            thread.start()
            refuse(document, f"{address}: no Dask scheduler answers there; start it")
            thread.join()

    def test_scheduler_answers(self):
        with LocalCluster(
            n_workers=0,
            processes=False,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
            protocol="tcp",
        ) as cluster:
            scheduler.check_scheduler(EngineSettings(scheduler=cluster.scheduler_address))
