"""Policies that are refused as they are written, by the key and with what is allowed."""

import pytest
import yaml

from support.cases.people import CONFIDENTIAL, people, policy_for, write_csv
from tclose.cli.main import main


class TestPolicyFile:
    def test_no_such_file(self, tmp_path, capsys):
        assert main(["run", str(tmp_path / "nowhere.yaml")]) == 2
        message = capsys.readouterr().err
        assert "nowhere.yaml: cannot be read (No such file or directory)" in message

    @pytest.mark.parametrize(
        ("text", "fragment"),
        [
            ("name: [unclosed", "not valid YAML at line 1"),
            ("\tname: x", "not valid YAML at line 1"),
            ("just text", "has to be a mapping of keys"),
            ("", "has to be a mapping of keys"),
            ("a: &x [1]\nb: [*x, *y]", "not valid YAML at line 2"),
            ("name: a\nname: b", "key 'name' appears twice (line 2)"),
        ],
    )
    def test_no_mapping(self, text, fragment, refuse):
        refuse(text, "policy.yaml", fragment)

    @pytest.mark.parametrize("command", ["run", "plan"])
    def test_device_without_an_end(self, command, capsys):
        assert main([command, "/dev/zero"]) == 2
        assert capsys.readouterr().err == (
            "tclose: policy /dev/zero: is larger than 64 MB, and so no policy; name its file\n"
        )

    def test_column_in_two_roles(self, tmp_path, refuse):
        text = yaml.safe_dump(policy_for(tmp_path / "people.csv"))
        twice = text.replace("attributes:\n", "attributes:\n  age: confidential\n")
        refuse(twice, "key 'age' appears twice", "say it once")

    @pytest.mark.parametrize(
        ("place", "allowed"),
        [
            ((), "about, attributes, engine, input, method, missing, name, output, privacy, seed"),
            (("input",), "date_format, decimal, delimiter, encoding, format, missing_values"),
            (("privacy",), "joint, k, models, over_time, persons, t"),
            (
                ("attributes", "pay"),
                "aggregate, bands, bottom, calendar, date_format, decimal, description, distance",
            ),
            (
                ("method",),
                "block_clusters, buckets, class_size, gamma, losses, name, ratio, refine, releas",
            ),
            (("output",), "format, partition_by, path, rows_per_file"),
            (
                ("engine",),
                "accepted_warnings, key_path, kubernetes, lease_seconds, memory_per_worker",
            ),
        ],
    )
    def test_unknown_key(self, place, allowed, tmp_path, refuse):
        document = policy_for(tmp_path / "people.csv", engine={}, method={})
        document["attributes"]["pay"] = {"role": CONFIDENTIAL}
        node = document
        for part in place:
            node = node[part]
        node["colour"] = "red"
        refuse(document, f"{'.'.join((*place, 'colour'))}: unknown key; allowed: {allowed}")

    @pytest.mark.parametrize(
        ("override", "fragment"),
        [
            ("privacy.k=1", "privacy.k: has to be at least 2 (given: 1)"),
            ("privacy.k=true", "privacy.k: has to be a whole number (given: True)"),
            ("privacy.over_time={k: 2, t: 1, churn: true}", "churn: has to be a number (given: T"),
            ("privacy.joint=[{t: 0.2, attributes: [pay]}]", "attributes: needs at least 2, and ha"),
            ("privacy.k=2.5", "privacy.k: has to be a whole number (given: 2.5)"),
            ("privacy.t=0", "privacy.t: has to be above 0 (given: 0)"),
            ("privacy.t=-0.1", "privacy.t: has to be above 0 (given: -0.1)"),
            ("privacy.t=1.01", "privacy.t: has to be at most 1 (given: 1.01)"),
            ("privacy.t=.nan", "privacy.t: has to be a number (given: nan)"),
            ("privacy.t=yes", "privacy.t: has to be a number (given: 'yes')"),
            ("privacy.t=", "privacy.t is missing: 'pay' is confidential and has no t"),
            ("attributes.pay={role: confidential, t: 2}", "attributes.pay.t: has to be at most 1"),
            ("attributes.age.order=[1, 2]", "attributes.age: order goes with type: ordinal"),
            ("attributes.sex.type=ordinal", "needs order: [lowest, ..., highest]"),
            ("attributes.sex={role: quasi-identifier, type: ordinal, order: [m, m]}", "twice"),
            ("attributes.sex.t=0.1", "attributes.sex: t belongs to confidential attributes only"),
            ("attributes.pay.round=false", "round: false belong to quasi-identifiers only"),
            ("attributes.pay={role: confidential, bands: []}", "attributes.pay.bands: is empty"),
            ("attributes.age.prefixes=[]", "attributes.age.prefixes: is empty"),
            ("attributes.age.calendar=[]", "attributes.age.calendar: is empty"),
            ("attributes.age=unknown", "attributes.age.role: has to be 'identifier', 'quasi-"),
            ("attributes.7=identifier", "attributes: YAML reads a column name as 7; put it in"),
            ("attributes={pay: confidential}", "attributes: no quasi-identifier"),
            ("attributes={}", "attributes: is empty"),
            ("output.partition_by=[agee]", "'agee' has to be a quasi-identifier or a non-conf"),
            ("output.partition_by=[pay]", "'pay' has to be a quasi-identifier or a non-confid"),
            ("output.partition_by=[sex, sex]", "output.partition_by names a column twice"),
            ("output.partition_by=[pay, age, sex]", "'pay' has to be"),
            ("output.partition_by=sex", "output.partition_by: has to be a list"),
            ("engine.scheduler=somewhere", "has to be local, kubernetes, or an address as in tl"),
            ("engine.scheduler=tcp://host", "has to be local, kubernetes, or an address as in tls"),
            ("engine.tls={ca: x}", "engine.tls.cert: is missing"),
            ("engine.tls={pem: x}", "engine.tls.pem: unknown key; allowed: ca, cert, key"),
            ("engine.kubernetes.cluster=A_b", "engine.kubernetes.cluster: has to be small letters"),
            ("engine.kubernetes.port=0", "engine.kubernetes.port: has to be at least 1"),
            ("engine={scheduler: tcp://h:1, tls: {ca: a, cert: b, key: c}}", "write tls://"),
            ("engine.workers=0", "engine.workers: has to be a whole number from 1, or auto"),
            ("engine.memory_per_worker=lots", "has to be a size as in 4GB, or auto"),
            ("engine.memory_per_worker=1MB", "is less than a worker holds before it has read a r"),
            ("input.delimiter=tab", "input.delimiter: has to be one ASCII character"),
            ("input.missing_values=NA", "input.missing_values: has to be a list"),
            (f"name={'n' * 101}", "100 at most, and in quotes if it is a number (given: 'nnn"),
            (f"series={'n' * 101}", "series: has to be letters, digits, '.', '_' and '-', begin"),
            ('about.contact="a@b\\n<b>"', "about.contact: has to be one line, without line ends"),
            ('about.citation="a\\tb"', "about.citation: has to be text without tabs and other co"),
            ('output.path="a\\0b"', "output.path: has to be text without NUL characters"),
            ("output.path=~/releases", "output.path: begins with '~', which is not repla"),
            ("output.path=${HOME}/out", "output.path: begins with '$', which is not repla"),
            ("engine.work_path=~/work", "engine.work_path: begins with '~', which is not repla"),
            ("name=../elsewhere", "name: has to be letters, digits,"),
            ("seed=-1", "seed: has to be at least 0 (given: -1)"),
            ("privacy.k", "--set privacy.k: has to be key=value"),
            ("=5", "--set =5: has to be key=value"),
            ("privacy..k=5", "--set privacy..k=5: has to be key=value"),
            ("privacy.k=[", "--set privacy.k: not valid YAML"),
            ("privacy.k.deep=5", "--set privacy.k.deep=5: 'deep' has no keys below it"),
            (
                "privacy.colour=5",
                "privacy.colour: unknown key; allowed: joint, k, models, over_time, persons, t",
            ),
        ],
    )
    def test_values_and_overrides(self, override, fragment, tmp_path, refuse):
        write_csv(tmp_path / "people.csv", people())
        if "attributes.7" in override:  # a number in a file; --set keys are text always
            text = yaml.safe_dump(policy_for(tmp_path / "people.csv"))
            refuse(text.replace("attributes:\n", "attributes:\n  7: identifier\n"), fragment)
            return
        refuse(policy_for(tmp_path / "people.csv"), fragment, sets=(override,))
