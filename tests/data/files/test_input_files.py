"""The input's files: where they are found, and that it is the same from where they are read."""

import contextlib
import functools
import http.server
import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.cases.people import N_PEOPLE, people, policy_for, release, write_csv, write_parquet
from support.length import count
from tclose.data.files import input_files
from tclose.data.files.input_files import find_files, open_parquet, reading_file, total_bytes
from tclose.data.files.input_settings import InputSettings
from tclose.data.files.inspection import inspect_file
from tclose.errors import DataError, UnreachableError


def names(paths: tuple[str, ...]) -> list[str]:
    return [Path(path).name for path in paths]


class QuietServer(http.server.SimpleHTTPRequestHandler):
    """Files as a whole only, as Python's own server gives them."""

    def log_message(self, *_):
        pass


class RangeServer(QuietServer):
    """Ranges of files too, as web servers give them."""

    def send_head(self):
        place = Path(self.translate_path(self.path))
        if not place.is_file():
            self.send_error(404)
            return
        body = place.read_bytes()
        first, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")
        part = body[int(first) : int(last or len(body)) + 1]
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(part)))
        if "Range" in self.headers:
            stop = int(first) + len(part) - 1
            self.send_header("Content-Range", f"bytes {first}-{stop}/{len(body)}")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(part)


@pytest.fixture(params=[QuietServer, RangeServer])
def served(request, tmp_path):
    """Address of a loopback server for the files of ``tmp_path / "served"``."""
    folder = tmp_path / "served"
    folder.mkdir()
    with serving(functools.partial(request.param, directory=str(folder))) as address:
        yield address


@contextlib.contextmanager
def serving(handler: Callable[..., QuietServer]) -> Iterator[str]:
    """A loopback server; its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class TestFind:
    @pytest.fixture
    def folder(self, tmp_path):
        made = tmp_path / "data"
        for name in ("b.csv", "a.CSV", "deep/c.parquet", "d.pq", "_e.csv", ".f.csv", "g.txt"):
            (made / name).parent.mkdir(exist_ok=True, parents=True)
            (made / name).write_text("x")
        (made / "_logs").mkdir()
        (made / "_logs" / "h.csv").write_text("x")
        return made

    def find(self, path: Path | str) -> list[str]:
        return names(find_files(InputSettings(path=str(path))))

    def test_folder(self, folder):
        assert self.find(folder) == ["a.CSV", "b.csv", "d.pq", "c.parquet"]
        assert self.find(f"{folder}/") == self.find(folder)

    def test_glob(self, folder):
        assert self.find(folder / "*.csv") == ["_e.csv", "b.csv"]
        assert self.find(folder / "**" / "*.p*") == ["d.pq", "c.parquet"]

    def test_one_file_of_any_name(self, folder):
        assert self.find(folder / "g.txt") == ["g.txt"]
        assert self.find((folder / "g.txt").as_uri()) == ["g.txt"]

    @pytest.mark.parametrize(
        "name", ["people[1].csv", "what?.csv", "a*b.csv", "a b.csv", "ä%20.csv"]
    )
    def test_name_that_looks_like_a_pattern(self, name, tmp_path):
        write_csv(tmp_path / name, people())
        assert self.find(tmp_path / name) == [name]
        assert len(release(policy_for(tmp_path / name)).table) == N_PEOPLE

    def test_names_that_say_how_a_file_is_compressed(self, tmp_path):
        """As pandas' own example has it, whose file would be left out of a folder unseen."""
        for name in ("a.parquet.gzip", "b.parquet.gz", "c.parquet.snappy"):
            write_parquet(tmp_path / name, people())
        assert self.find(tmp_path) == ["a.parquet.gzip", "b.parquet.gz", "c.parquet.snappy"]
        assert len(release(policy_for(tmp_path)).table) == 3 * N_PEOPLE

    def test_home(self, folder, monkeypatch):
        monkeypatch.setenv("HOME", str(folder))
        assert self.find("~/b.csv") == ["b.csv"]

    def test_nothing(self, folder):
        with pytest.raises(DataError, match="no such file, or no CSV or Parquet file in it"):
            self.find(folder / "nowhere")

    def test_protocol_not_installed(self):
        with pytest.raises(DataError, match="the protocol 'gs' is not installed; install its"):
            self.find("gs://bucket/people.csv")

    def test_total_bytes(self, folder):
        assert total_bytes(find_files(InputSettings(path=str(folder)))) == 4
        assert total_bytes((str(folder / "nowhere"),)) == 0


class TestWeb:
    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_same_release_as_from_disk(self, write, served, tmp_path):
        path = write(tmp_path / "served" / "people.data", people(count(5_000, 20_000)))
        urls = policy_for(f"{served}/people.data?as=1")
        urls["output"]["path"] = str(tmp_path / "releases")
        assert release(urls).data == release(policy_for(path)).data

    def test_page_that_names_others_is_a_file(self, served, tmp_path):
        links = [f"<a href='{served}/{i}.csv'>" for i in range(N_PEOPLE)]
        write_csv(tmp_path / "served" / "people.csv", people(sex=links))
        document = policy_for(f"{served}/people.csv")
        document["output"]["path"] = str(tmp_path / "releases")
        assert len(release(document).table) == N_PEOPLE

    def test_large_file_without_ranges(self, served, tmp_path, monkeypatch, request):
        monkeypatch.setattr(input_files, "MAX_DOWNLOAD_BYTES", 100)
        write_csv(tmp_path / "served" / "people.csv", people())
        url = f"{served}/people.csv"
        if request.node.callspec.params["served"] is RangeServer:
            assert inspect_file(url, InputSettings(path=url)).file.n_bytes > 100
        else:
            with pytest.raises(DataError, match=r"gives files as a whole only.*download it first"):
                inspect_file(url, InputSettings(path=url))

    def test_no_such_page(self, served):
        with pytest.raises(DataError, match=r"nowhere\.csv: no such file"):
            find_files(InputSettings(path=f"{served}/nowhere.csv"))

    def test_nobody_there(self):
        message = r"input http://127\.0\.0\.1:9/x.csv: cannot be read .* then run again$"
        with pytest.raises(UnreachableError, match=message):
            find_files(InputSettings(path="http://127.0.0.1:9/x.csv"))


@pytest.mark.parametrize(
    ("status", "lasts"), [(401, True), (403, True), (429, False), (503, False)]
)
def test_answers_of_web_servers_that_may_pass(status, lasts):
    class Refusing(QuietServer):
        def send_head(self):
            self.send_error(status)

    with serving(Refusing) as address:
        url = f"{address}/people.csv"
        with pytest.raises(DataError, match=rf"cannot be read \(HTTP status {status}\)") as caught:
            inspect_file(url, InputSettings(path=url))
    assert caught.value.retryable is not lasts


def test_name_that_no_file_can_have(tmp_path):
    settings = InputSettings(path=str(tmp_path / ("x" * 300)))
    with pytest.raises(DataError, match=r"^input .*: cannot be read \(File name too long\)$"):
        input_files.check_apart(settings, tmp_path / "releases")


@pytest.mark.parametrize(
    ("failure", "lasts"),
    [
        (OSError("ClientPayloadError"), False),
        (OSError(5, "Input/output error"), False),
        (TimeoutError(), False),
        (FileNotFoundError(2, "No such file"), True),
        (PermissionError(13, "Permission denied"), True),
    ],
)
def test_failure_that_may_pass_is_no_fault_of_the_data(failure, lasts):
    with (
        pytest.raises(DataError, match=r"file a\.csv: cannot be read") as caught,
        reading_file("a.csv"),
    ):
        raise failure
    assert isinstance(caught.value, UnreachableError) is not lasts
    assert caught.value.retryable is not lasts  # whose working files would be removed


def test_silent_server_is_not_taken_for_a_damaged_file():
    class Silent(io.BytesIO):
        def read(self, *_):
            raise TimeoutError

    with pytest.raises(TimeoutError), open_parquet(Silent(b"PAR1" * 9), "a.parquet"):
        pass
