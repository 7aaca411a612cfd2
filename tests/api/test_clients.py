"""Releases on a client that the caller has, and inside a running event loop."""

import asyncio
from typing import Any, cast

import dask.dataframe as dd
import pytest
from distributed import Client, LocalCluster

import tclose
from support.tables.frames import frame_document, small_table

TABLE = small_table()


def _digests(release):
    return [file.sha256 for file in release.manifest.files]


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return _digests(tclose.release(TABLE, frame_document(tmp_path_factory.mktemp("out"))))


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(processes=False, n_workers=2, threads_per_worker=2, dashboard_address=None)
        as cluster,
        Client(cluster, set_as_default=False) as found,
    ):  # fmt: skip
        yield found


def _in_loop(call):
    """As in Jupyter: a loop runs in the thread that calls."""

    async def inside():
        return call()

    return asyncio.run(inside())


def test_threads_of_this_process(client, expected, tmp_path):
    release = tclose.release(TABLE, frame_document(tmp_path), client=client)
    assert _digests(release) == expected
    assert client.status == "running"
    assert client.submit(sum, [1, 2]).result() == 3
    assert release.to_dask().compute(scheduler=client).shape == release.to_pandas().shape


def test_what_the_policy_runs_on_decides_nothing(client, expected, tmp_path):
    engine = {"scheduler": "tcp://127.0.0.1:1"}
    release = tclose.release(TABLE, frame_document(tmp_path, engine=engine), client=client)
    assert _digests(release) == expected


def test_a_dask_frame_and_a_plan_on_a_client(client, tmp_path):
    frame = dd.from_pandas(TABLE.to_pandas(), npartitions=3)
    assert tclose.plan(frame, frame_document(tmp_path), client=client).records == len(TABLE)


def test_in_a_running_loop_on_a_client(client, expected, tmp_path):
    call = lambda: tclose.release(TABLE, frame_document(tmp_path), client=client)  # noqa: E731
    assert _digests(_in_loop(call)) == expected


@pytest.mark.nightly
def test_in_a_running_loop_on_workers_of_its_own(expected, tmp_path):
    document = frame_document(tmp_path, engine={"workers": 1})
    assert _digests(_in_loop(lambda: tclose.release(TABLE, document))) == expected


def test_in_a_running_loop_in_this_process(expected, tmp_path):
    assert _digests(_in_loop(lambda: tclose.release(TABLE, frame_document(tmp_path)))) == expected


def test_workers_that_do_not_see_the_frame(client, tmp_path, monkeypatch):
    from tclose.runtime.engines.engine import OnCluster

    monkeypatch.setattr(OnCluster, "sees", lambda self, folder: False)
    with pytest.raises(tclose.UsageError, match="TMPDIR"):
        tclose.release(TABLE, frame_document(tmp_path), client=client)


def test_clients_that_cannot_be_used(client, tmp_path):
    document = frame_document(tmp_path)
    with pytest.raises(tclose.UsageError, match=r"distributed\.Client"):
        tclose.release(TABLE, document, client=cast(Any, "tcp://127.0.0.1:8786"))
    closed = Client(client.scheduler.address, set_as_default=False)
    closed.close()
    with pytest.raises(tclose.UnreachableError, match="closed"):
        tclose.release(TABLE, document, client=closed)

    async def awaited():
        address = client.scheduler.address
        async with Client(address, asynchronous=True, set_as_default=False) as found:
            with pytest.raises(tclose.UsageError, match="asynchronous"):
                tclose.release(TABLE, document, client=found)

    asyncio.run(awaited())
    assert client.status == "running"
