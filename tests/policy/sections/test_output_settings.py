"""Columns that become folders of a release, and those that cannot."""

import json

import pytest
from pydantic import ValidationError

from tclose.policy.sections.attribute_settings import AttributeSettings
from tclose.policy.sections.output_settings import OutputSettings

ROLES = {
    "year": "non-confidential",
    "zip": "quasi-identifier",
    "pay": "confidential",
    "name": "identifier",
    "who": "person",
    "_part": "non-confidential",
    ".part": "non-confidential",
    "City": "quasi-identifier",
    "city": "quasi-identifier",
    "Name": "non-confidential",
}


def check(*folders: str, only: tuple[str, ...] = tuple(ROLES)) -> None:
    attributes = {n: AttributeSettings.model_validate(ROLES[n]) for n in only}
    OutputSettings.model_validate({"partition_by": folders}).check_columns(attributes)


def test_folders_of_either_kind() -> None:
    check()
    check("year")
    check("zip", "year")


def test_a_column_that_is_not_released_may_have_the_name_in_other_case() -> None:
    check("Name")


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("pay", "'pay' has to be a quasi-identifier or a non-confidential attribute of the policy"),
        ("name", "'name' and 'Name' differ by case alone"),
        ("who", "'who' has to be a quasi-identifier or a non-confidential attribute"),
        ("other", "'other' has to be a quasi-identifier or a non-confidential attribute"),
        ("_part", "'_part' begins with '_', and folders that do are skipped by pandas, pyarrow"),
        (".part", r"'\.part' begins with '\.'"),
        ("City", "'City' and 'city' differ by case alone, and not at all to some readers"),
    ],
)
def test_what_cannot_be_a_folder(folder: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check("year", folder)


def test_a_column_is_one_folder() -> None:
    with pytest.raises(ValueError, match=r"output\.partition_by names a column twice"):
        check("year", "year")


def test_a_column_is_left_for_the_files() -> None:
    with pytest.raises(ValueError, match="names every column; none is left for the files"):
        check("year", "zip", only=("year", "zip"))


def test_passwords_of_a_place_are_not_shown() -> None:
    output = OutputSettings(path="s3://user:pass@bucket/folder")
    shown = json.loads(output.model_dump_json())["path"]
    assert "pass" not in shown
    assert "bucket" in shown


@pytest.mark.parametrize("keys", [{"path": ""}, {"path": "a\0b"}, {"rows_per_file": 0}])
def test_values_that_are_none(keys: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(keys))):
        OutputSettings.model_validate(keys)
