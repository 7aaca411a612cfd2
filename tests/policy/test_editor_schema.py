"""The schema that editors take: patterns of ECMA, and descriptions and examples on every key."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import regress

from tclose.policy.editor_schema import complete_for_editors
from tclose.policy.policy import policy_schema

CONFIG = Path(__file__).parents[2] / "config"


def keys_with_sections(node, root):
    """Every key of every section, and what the schema says of it."""
    if isinstance(node, dict):
        yield from (node.get("properties") or {}).items()
        for inner in node.values():
            yield from keys_with_sections(inner, root)
    elif isinstance(node, list):
        for inner in node:
            yield from keys_with_sections(inner, root)


def patterns_of(node):
    if isinstance(node, dict):
        yield from (v for k, v in node.items() if k == "pattern" and isinstance(v, str))
        for inner in node.values():
            yield from patterns_of(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from patterns_of(inner)


def test_it_is_the_same_text_in_each_process():
    """Sets of words have another order in each; a schema that is kept would seem to change."""
    command = [sys.executable, "-m", "tclose", "schema"]
    texts = {
        subprocess.run(
            command, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3", "4")
    }
    assert len(texts) == 1


def test_it_has_an_identifier():
    assert policy_schema()["$id"] == "urn:tclose:schema:Policy:1"


def test_every_key_has_a_description_and_examples_that_it_accepts():
    schema = policy_schema()
    found = list(keys_with_sections(schema, schema))
    assert len(found) > 80
    for key, described in found:
        assert described["description"], key
        assert described["examples"], key
        check = jsonschema.Draft202012Validator({"$defs": schema["$defs"]} | described)
        for example in described["examples"]:
            check.validate(example)


def test_limits_are_words_of_json_schema():
    schema = policy_schema()
    for key, described in keys_with_sections(schema, schema):
        assert not {"ge", "gt", "le", "lt"} & described.keys(), key
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"epsilon": 31}, {**schema["$defs"]["NoiseSettings"]})


def test_patterns_are_those_of_ecma():
    patterns = set(patterns_of(policy_schema()))
    assert len(patterns) >= 6
    for pattern in patterns:
        regress.Regex(pattern, "u")


@pytest.mark.parametrize("text", ["2GB", "1.5 gib", "512Mb"])
def test_memory_may_be_written_in_either_case(text):
    section = policy_schema()["$defs"]["EngineSettings"]["properties"]["memory_per_worker"]
    jsonschema.validate(text, section)


def test_every_policy_here_passes_what_editors_run(tmp_path):
    place = tmp_path / "policy.schema.json"
    place.write_text(json.dumps(policy_schema()))
    check = [sys.executable, "-m", "check_jsonschema"]
    policies = [str(path) for path in CONFIG.glob("*.yaml")]
    command = [*check, "--schemafile", str(place), *policies]
    done = subprocess.run(command, check=False, capture_output=True)
    assert done.returncode == 0, done.stdout
    command = [*check, "--check-metaschema", str(place)]
    done = subprocess.run(command, check=False, capture_output=True)
    assert done.returncode == 0, done.stdout


def test_a_wrong_key_is_underlined(tmp_path):
    place, policy = tmp_path / "policy.schema.json", tmp_path / "wrong.yaml"
    place.write_text(json.dumps(policy_schema()))
    policy.write_text((CONFIG / "demo.yaml").read_text() + "\ncolour: red\n")
    check = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(place), str(policy)]
    done = subprocess.run(check, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "'colour' was unexpected" in done.stdout


def test_examples_are_made_within_limits():
    keys = {
        "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "times": {"type": "integer", "minimum": 3},
        "above": {"anyOf": [{"type": "number", "exclusiveMinimum": 4}, {"type": "null"}]},
    }
    done = complete_for_editors({"properties": keys}, "urn:x")["properties"]
    made = {key: described["examples"] for key, described in done.items()}
    assert made == {"share": [0.5], "times": [3], "above": [5]}
