"""What is refused in CSV: one message that names file, line or column, and remedy."""

import numpy as np
import pytest

from support.cases.people import CONFIDENTIAL, N_PEOPLE, QUASI, people, policy_for, write_csv
from support.checks.refusals import SECRET, csv_of, with_secret


class TestCsv:
    def test_not_utf8(self, tmp_path, refuse):
        text = f"age,sex,pay\n1,{SECRET}\xe9,3\n" * 1
        path = csv_of(tmp_path, text.encode("latin-1"))
        refuse(policy_for(path), "people.csv: column 'sex' holds text that is not UTF-8")

    @pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le"])
    def test_header_not_utf8(self, encoding, tmp_path, refuse):
        path = csv_of(tmp_path, f"\xe9ge,sex,pay\n1,{SECRET},3\n".encode(encoding))
        refuse(policy_for(path), "people.csv: the header line cannot be read as CSV in UTF-8")

    @pytest.mark.parametrize(("line", "n_fields"), [(f"1,{SECRET}", 2), (f"1,{SECRET},3,4", 4)])
    def test_ragged(self, line, n_fields, tmp_path, refuse):
        path = csv_of(tmp_path, f"age,sex,pay\n1,m,2\n{line}\n")
        refuse(
            policy_for(path),
            f"people.csv: a record has {n_fields} fields where the header names 3 (record 2 after",
        )

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ('1,5" {0},2\n1,m,2\n', "line 2: a quote is inside an unquoted field"),
            ('1,m,2\n1,"{0}"x,2\n', "line 3: a quote is inside an unquoted field"),
            ('1,m,2\n1, "{0}",2\n', "line 3: a quote is inside an unquoted field"),
            ('1,m,2\n1,"{0},2\n1,m,2\n', "line 3: a quote opens a field that is never closed"),
        ],
    )
    def test_quotes(self, text, line, tmp_path, refuse):
        path = csv_of(tmp_path, "age,sex,pay\n" + text.format(SECRET))
        refuse(policy_for(path), f"people.csv, {line}", "enclose the whole field in quotes")

    def test_no_header(self, tmp_path, refuse):
        refuse(policy_for(csv_of(tmp_path, "\n1,2,3\n")), "people.csv: has no header line")

    @pytest.mark.parametrize(
        "text", ["age,sex,pay\r1,m,2\r", '"age",sex,pay\r1,m,2\r', '"age",sex,pay\r1,m,2\n1,m,2\n']
    )
    def test_lines_that_end_in_cr(self, text, tmp_path, refuse):
        refuse(policy_for(csv_of(tmp_path, text)), "end in CR alone")

    def test_other_delimiter(self, tmp_path, refuse):
        refuse(policy_for(csv_of(tmp_path, "age;sex;pay\n1;m;2\n")), "has no column 'age'")

    @pytest.mark.parametrize("declared", ["date", None])
    @pytest.mark.parametrize(
        "wrong", ["2020-13-45", "2021-02-29", "2020-06-31", "2020-01-01 25:00", "2020-01-01T10:61"]
    )
    def test_no_such_date(self, declared, wrong, tmp_path, refuse):
        dates = ["2020-01-31"] * N_PEOPLE
        dates[7] = wrong
        path = write_csv(tmp_path / "people.csv", people(age=dates))
        document = policy_for(path)
        document["attributes"]["age"] = {"role": QUASI, "type": declared}
        message = refuse(document, "people.csv: column 'age'", f"1 of {N_PEOPLE} values", "correct")
        assert wrong not in message

    def test_text_in_declared_number(self, tmp_path, refuse):
        path = write_csv(tmp_path / "people.csv", with_secret("age"))
        document = policy_for(path)
        document["attributes"]["age"] = {"role": QUASI, "type": "numeric"}
        refuse(
            document,
            f"people.csv: column 'age': the policy says numeric, but 1 of {N_PEOPLE} values do not "
            "read as numbers",
            "input.missing_values",
        )

    def test_text_in_confidential_number(self, tmp_path, refuse):
        path = write_csv(tmp_path / "people.csv", with_secret("pay"))
        refuse(
            policy_for(path),
            f"people.csv: column 'pay': is confidential, but 1 of {N_PEOPLE} values do not read as "
            "numbers",
            "input.missing_values",
        )

    @pytest.mark.parametrize("declared", ["numeric", None])
    def test_integers_of_19_digits(self, declared, tmp_path, refuse):
        pays = np.arange(N_PEOPLE)
        path = write_csv(tmp_path / "people.csv", people(pay=pays * 10**17 + 1))
        document = policy_for(path)
        document["attributes"]["pay"] = {"role": CONFIDENTIAL, "type": declared}
        n_long = int(np.count_nonzero(pays >= 10))
        refuse(document, "'pay'", f"({n_long} are integers of more than 18 digits)")

    @pytest.mark.parametrize("n_times", [1, 2])
    def test_lines_of_column_names_among_the_records(self, n_times, tmp_path, refuse):
        """Where all columns are texts the line would be a record, and its values categories."""
        folder = tmp_path / "data"
        folder.mkdir()
        table = people(grade=["low", "high"] * (N_PEOPLE // 2)).select(["sex", "grade"])
        for name in "ab":
            write_csv(folder / f"{name}.csv", table)
        content = (folder / "a.csv").read_text()
        (folder / "b.csv").write_text(content * (1 + n_times))
        document = policy_for(folder)
        document["attributes"] = {"sex": QUASI, "grade": {"role": CONFIDENTIAL, "type": "nominal"}}
        have = "1 record has" if n_times == 1 else "2 records have"
        refuse(document, f"{have} the names of the columns as values; take the lines", "\nin b.csv")

    def test_file_among_several_is_named(self, tmp_path, refuse):
        folder = tmp_path / "data"
        folder.mkdir()
        for name in "abc":
            write_csv(folder / f"{name}.csv", with_secret("pay") if name == "b" else people())
        refuse(policy_for(folder), f"1 of {3 * N_PEOPLE} values", "\nin b.csv")
