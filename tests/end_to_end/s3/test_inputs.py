"""Input in a bucket: the releases of the same files, and what is refused of them."""

import json

import pytest

from support.cases.people import people, policy_for, release, write_csv, write_parquet
from support.length import every
from support.passes import run_passes
from support.servers.bucket_runs import QUIET, run
from tclose.errors import DataError
from tclose.passes.release import open_release
from tclose.policy.policy import parse_policy

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.mark.parametrize("kind", every(4, ["pattern", "parquet", "csv", "folder"]))
def test_input_in_a_bucket_gives_the_release_of_the_same_files(kind, bucket, tmp_path):
    table = people(400)
    (tmp_path / "in").mkdir()
    if kind == "csv":
        write_csv(tmp_path / "in" / "people.csv", table)
    else:
        write_parquet(tmp_path / "in" / "a.parquet", table.slice(0, 150))
        write_parquet(tmp_path / "in" / "b.parquet", table.slice(150))
    for path in (tmp_path / "in").iterdir():
        (bucket / "in" / path.name).put(path.read_bytes(), None)
    ends = {"parquet": "/b.parquet", "csv": "/people.csv", "folder": "", "pattern": "/*.parquet"}
    output = {"path": str(tmp_path / "releases")}
    local = release(policy_for(f"{tmp_path}/in{ends[kind]}", output=output))
    remote = release(policy_for(f"{bucket}/in{ends[kind]}", output=output))
    assert remote.folder == local.folder  # named by digests of the content: it was there already
    other = release(policy_for(f"{bucket}/in{ends[kind]}", output={"path": str(tmp_path / "b")}))
    assert other.data == local.data
    assert other.internal["inputs"][0]["path"].startswith(f"{bucket}/in/")
    event = json.loads((other.folder / "internal" / "lineage.jsonl").read_text().split("\n")[0])
    assert event["inputs"][0]["namespace"] == str(bucket)
    assert event["inputs"][0]["name"] == f"in{ends[kind]}"


def test_input_that_changes_underway_is_refused(bucket, tmp_path, source):
    (bucket / "people.parquet").put(source.read_bytes(), None)
    policy = parse_policy(
        policy_for(f"{bucket}/people.parquet", output={"path": str(tmp_path / "out")})
    )

    def change_and_run():
        with open_release(policy, QUIET) as begun:
            path = bucket / "people.parquet"
            other = write_parquet(tmp_path / "other.parquet", people(61))
            path.put(other.read_bytes(), path.tag())
            run_passes(begun, QUIET, "summarise")

    with pytest.raises(DataError, match="changed while it was read"):
        change_and_run()
    assert not (tmp_path / "out").exists()


def test_output_within_the_input_is_refused(bucket, source, document):
    (bucket / "in" / "people.parquet").put(source.read_bytes(), None)
    document["input"] = {"path": f"{bucket}/in"}
    with pytest.raises(DataError, match=r"output\.path lies in it"):
        run(document | {"output": {"path": f"{bucket}/in/out"}})
