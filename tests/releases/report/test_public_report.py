"""The report of a release: a page that is whole, escaped, and says what the manifest says."""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    N_PEOPLE,
    QUASI,
    people,
    policy_for,
    read_document,
    release,
    write_parquet,
)
from support.checks.html_page import Page
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.releases.manifest.figure_sections import MeasuredChanges, Shares
from tclose.releases.report.html_parts import data_table
from tclose.releases.report.page_style import style_release
from tclose.releases.report.public_report import write_report
from tclose.releases.report.svg_charts import draw_pairs
from tclose.releases.repository.contents import read_manifest

pytestmark = pytest.mark.usefixtures("small_regions")

ABOUT = {
    "title": "Pay <of> people & others",
    "description": "One record for each person.",
    "publisher": "Office of Pay",
    "contact": "pay@example.org",
    "licence": "CC-BY-4.0",
    "citation": "Office of Pay (2026).",
}
BANDED = {"role": CONFIDENTIAL, "bands": [3_000, 6_000]}
# Policies that put other figures into a report.
KINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "changes": lambda d: d,
    "ranges": lambda d: d | {"method": {"name": "mondrian"}},
    "persons": lambda d: d | {"attributes": d["attributes"] | {"who": "person"}},
    "joint": lambda d: (
        d
        | {"attributes": d["attributes"] | {"ill": CONFIDENTIAL, "pay": BANDED}}
        | {"privacy": {"k": 3, "t": 0.4, "joint": [{"attributes": ["ill", "pay"], "t": 0.6}]}}
    ),
    "left out": lambda d: (
        d
        | {"attributes": d["attributes"] | {"bonus": {"role": CONFIDENTIAL, "round": 500}}}
        | {"missing": "drop", "suppress": {"at_most": "1%"}}
    ),
}


def document_for(folder, n_records=60, **columns):
    table = people(n_records, **columns)
    source = write_parquet(folder / "people.parquet", table)
    return policy_for(source, about=ABOUT)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    document = document_for(tmp_path_factory.mktemp("people"))
    document["attributes"]["pay"] = {
        "role": "confidential",
        "label": "Pay",
        "unit": "euros a month",
        "description": "Before taxes.",
    }
    return release(document)


@pytest.fixture(scope="module")
def page(made):
    return Page((made.folder / "report.html").read_text())


def test_every_element_is_closed_and_every_id_is_one_of_a_kind(page):
    assert page.open == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    named = page.values("aria-labelledby") + page.values("aria-describedby")
    assert named
    assert set(named) <= set(ids)


def test_it_runs_no_script_and_loads_nothing(page):
    loading = {"script", "img", "link", "iframe", "object", "embed", "form", "base"}
    assert not loading & set(page.tags)
    [policy] = [a["content"] for a in page.all("meta") if "http-equiv" in a]
    assert "default-src 'none'" in policy
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        assert attributes.get("href", "#").startswith("#")


def test_screen_readers_find_their_way(page):
    assert [a["lang"] for a in page.all("html")] == ["en"]
    headings = [tag for tag in page.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == "h1"
    assert headings.count("h1") == 1
    assert all(int(b[1]) - int(a[1]) <= 1 for a, b in pairwise(headings))
    pictures = page.all("svg")
    assert len(pictures) >= 4
    assert all(p["role"] == "img" and p["aria-labelledby"] for p in pictures)
    assert len(page.all("details")) == len(pictures)  # the figures again, as a table
    assert all("scope" in head for head in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    scrolled = [a for a in page.all("div") if a.get("class", "").startswith("wide")]
    assert scrolled
    assert all(a["tabindex"] == "0" and a["aria-label"] for a in scrolled)
    assert [tag for tag in page.tags if tag in ("header", "main", "footer")] == [
        "header",
        "main",
        "footer",
    ]


def test_it_says_verdict_measures_and_the_publishers_words(page, made):
    manifest = made.manifest
    for said in ("PASS", "k = 3", "How to use these data, and how not", "Before taxes.",
                 "pay: Pay (euros a month)", *ABOUT.values(), manifest["release_id"]):  # fmt: skip
        assert said in page.text, said
    largest = manifest["privacy"]["t"]["pay"]["largest_emd"]
    assert f"{largest:.3g} of {manifest['privacy']['t']['pay']['asked']:.3g}" in page.text
    for column in manifest["columns"]:
        assert f"Released: {column['treatment']}" in page.text
    assert manifest["published_at"] not in page.text


def test_words_flow_to_the_other_documents(made):
    package = json.loads((made.folder / "datapackage.json").read_text())
    assert package["title"] == ABOUT["title"]
    assert package["licenses"] == [{"name": "CC-BY-4.0"}]
    assert package["contributors"] == [
        {"title": "Office of Pay", "roles": ["publisher"]},
        {"email": "pay@example.org", "roles": ["contact"]},
    ]
    [pay] = [f for f in package["resources"][0]["schema"]["fields"] if f["name"] == "pay"]
    assert (pay["title"], pay["unit"]) == ("Pay", "euros a month")
    assert pay["description"].startswith("Before taxes.")
    text = (made.folder / "dictionary.md").read_text()
    assert "- licence: CC-BY-4.0" in text
    assert "- label: Pay\n- unit: euros a month\n- description: Before taxes." in text


@pytest.fixture(params=["people", *KINDS])
def any_made(request, made, tmp_path):
    if request.param == "people":
        return made
    rng = np.random.default_rng(8)
    table = people(
        1_200,
        ill=rng.choice(["flu", "cold", "ulcer"], 1_200),
        size=np.round(rng.normal(170, 9, 1_200), 3),
        who=np.arange(1_200) // 2,
        bonus=pa.array(rng.integers(0, 90_000, 1_200), mask=rng.random(1_200) < 0.1),
    )
    document = policy_for(write_parquet(tmp_path / "in.parquet", table), unlisted="drop")
    document["attributes"]["size"] = QUASI
    return release(KINDS[request.param](document))


def test_every_number_is_one_of_the_manifest(any_made):
    """But for how it is rounded, written in percent, and counted on axes."""
    manifest = any_made.manifest
    text = Page((any_made.folder / "report.html").read_text()).text
    figures = re.findall(r"(?<![\w.-])\d[\d,]*\.?\d*(?:e-?\d+)?(?![\w-])", text)
    numbers = {float(f.replace(",", "")) for f in figures}
    written = json.dumps(manifest)
    told = {float(n) for n in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", written.replace(",", " "))}
    told |= {float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", written)}
    known = {float(f"{m * n:.3g}") for n in told for m in (1, 100)}
    asked = [t["asked"] for t in manifest["privacy"]["t"].values()]
    known |= {float(f"{t * i / 20:.3g}") for t in asked for i in range(21)}
    known |= {float(f"{100 * n / manifest['records']:.3g}") for n in told}
    known |= {float(n - 1) for n in told} | told | {1000.0, float(len(manifest["columns"]))}
    known.add(0.01)  # "by less than 0.01"
    assert numbers - known == set()


def test_means_are_safe_where_classes_release_means(tmp_path):
    table = people(size=np.random.default_rng(8).exponential(170, N_PEOPLE))
    document = policy_for(write_parquet(tmp_path / "in.parquet", table))
    document["attributes"]["size"] = {"role": "quasi-identifier", "aggregate": "median"}
    text = Page((release(document).folder / "report.html").read_text()).text
    safe, unsafe = text.split("Not safe")
    assert "Means and totals of age, over the whole table" in safe
    assert "Means and totals of size: a class's median stands in for its records" in unsafe


def test_columns_of_which_next_to_nothing_is_left_are_named(tmp_path):
    table = people(zip=[f"{10 + i % 3}{i:03}" for i in range(N_PEOPLE)])
    document = policy_for(write_parquet(tmp_path / "in.parquet", table))
    document["attributes"]["zip"] = {"role": "quasi-identifier", "prefixes": [2]}
    found = "Anything by zip: nearly all records have a group of all"
    for k, is_lost in ((N_PEOPLE // 2, True), (2, False)):
        document["privacy"] = {"k": k, "t": 1}
        made = release(document)
        assert (made.manifest["information_loss"]["per_attribute"]["zip"] > 0.95) is is_lost
        text = Page((made.folder / "report.html").read_text()).text
        assert (found in text.split("Not safe")[1]) is is_lost


def test_values_that_were_prepared_are_not_those_that_were_collected(tmp_path):
    document = policy_for(write_parquet(tmp_path / "in.parquet", people(1_200)))
    compared = "What aggregation changed, measured against the originals"
    for treatment, prepared in (({}, False), ({"top": 5_000}, True)):
        document["attributes"]["pay"] = {"role": "confidential"} | treatment
        folder = release(document).folder
        text = Page((folder / "report.html").read_text()).text
        assert ("pay as they were collected: values were capped" in text) is prepared
        assert (f"{compared} as they were prepared" in text) is prepared
        assert compared in text
        inside = Page((folder / "internal" / "report.html").read_text()).text
        assert ("Before: the originals as they were prepared, of" in inside) is prepared


def test_classes_that_show_a_value_are_in_what_is_signed(tmp_path):
    ills = ["flu"] * (N_PEOPLE - 3) + ["cold"] * 3
    document = policy_for(write_parquet(tmp_path / "in.parquet", people(ill=ills)))
    document["attributes"]["ill"] = "confidential"
    made = release(document)
    shown = made.manifest["risk"]["attributes"]["ill"]["homogeneity"]["records"]
    assert shown
    text = Page((made.folder / "internal" / "report.html").read_text()).text
    assert "Attacks that were measured" in text
    assert f"show it to whoever finds them: ill of {shown:,} records" in text


def test_ancestors_are_no_values_of_their_class(tmp_path):
    codes = [f"{i % 4}{i % 7}{i % 3}" for i in range(N_PEOPLE)]
    document = policy_for(write_parquet(tmp_path / "in.parquet", people(code=codes)))
    document["attributes"]["code"] = {"role": "quasi-identifier", "prefixes": [1]}
    text = Page((release(document).folder / "report.html").read_text()).text
    assert "standard errors of age, sex: all records" in text
    assert "Exact values of generalised columns" in text


def test_both_reports_say_of_every_limit_what_was_asked_and_reached(tmp_path):
    ills = ["flu", "cold", "ulcer"] * (N_PEOPLE // 3)
    document = policy_for(write_parquet(tmp_path / "in.parquet", people(ill=ills)))
    document["attributes"]["ill"] = "confidential"
    document["privacy"] = {
        "k": 3,
        "t": 0.7,
        "joint": [{"attributes": ["ill", "pay"], "t": 0.99}],
        "models": [{"name": "distinct-l-diversity", "l": 2, "attributes": ["ill"]}],
    }
    made = release(document)
    privacy = made.manifest["privacy"]
    [joint], [model] = privacy["joint"], privacy["models"]
    for report in ("report.html", "internal/report.html"):
        text = Page((made.folder / report).read_text()).text
        assert f"{joint['largest_emd']:.3g} of 0.99" in text
        assert f"{model['reached']:.3g}, asked l = 2" in text
    assert "t of ill with pay 0.99, distinct-l-diversity of ill (l = 2)" in text


def test_a_k_above_that_asked_is_said_where_it_is_explained(made):
    manifest = read_manifest(made.folder)
    assert manifest is not None
    k = manifest.privacy.k.model_copy(update={"achieved": 7})
    more = manifest.model_copy(update={"privacy": manifest.privacy.model_copy(update={"k": k})})
    assert "k = 3, reached 7: every record shares" in Page(write_report(more)).text


@pytest.mark.parametrize(
    ("change", "weaker", "said"),
    [
        (0.19, 0.17, "by up to 0.19; is attenuated by up to 0.17"),
        (0.19, 0.0, "by up to 0.19"),
        (0.0, 0.0, "by less than 0.01"),
    ],
)
def test_attenuation_is_said_beside_the_change(made, change, weaker, said):
    manifest = read_manifest(made.folder)
    assert manifest is not None
    assert manifest.figures is not None
    changes = MeasuredChanges(
        variances={"age": -9}, correlations={"age": change}, attenuations={"age": weaker}
    )
    figures = manifest.figures.model_copy(update={"changes": changes})
    text = Page(write_report(manifest.model_copy(update={"figures": figures}))).text
    assert re.search(f"age\\s+9 % too small\\s+{re.escape(said)}\\s", text)
    partly = changes.model_copy(update={"untold": {"age": ["pay", "rent"]}})
    figures = manifest.figures.model_copy(update={"changes": partly})
    text = Page(write_report(manifest.model_copy(update={"figures": figures}))).text
    assert f"{said}; not said of that with pay, rent" in " ".join(text.split())
    older = changes.model_copy(update={"attenuations": None})
    figures = manifest.figures.model_copy(update={"changes": older})
    assert "is attenuated" not in write_report(manifest.model_copy(update={"figures": figures}))


def test_a_column_is_called_what_it_likes(tmp_path):
    names = ["<script>alert(1)</script>", "a\u202eb", "x" * 120]
    table = people(**{name: pa.array([1, 2, 3] * 20) for name in names})
    document = policy_for(write_parquet(tmp_path / "p.parquet", table))
    document["attributes"] |= dict.fromkeys(names, "quasi-identifier")
    found = release(document)
    markup = (found.folder / "report.html").read_text()
    assert "<script>" not in markup
    assert "\u202e" not in markup
    assert Page(markup).open == []
    assert audit_release(found.folder).findings == []


def test_without_words_of_a_publisher_it_is_called_by_its_name(tmp_path):
    found = release(policy_for(write_parquet(tmp_path / "p.parquet", people())))
    page = Page((found.folder / "report.html").read_text())
    assert "about" not in found.manifest
    assert f"<h1>{found.manifest['name']}</h1>" in (found.folder / "report.html").read_text()
    assert page.all("svg")
    assert "The publisher names no licence and no contact: ask whoever" in page.text
    named, release_id = found.manifest["name"], found.manifest["release_id"]
    assert f"Cite as: {named}. Release {release_id}." in page.text


@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_bytes_with_any_workers_and_at_any_time(tmp_path, made, workers):
    document = document_for(tmp_path)
    document["attributes"]["pay"] = {
        "role": "confidential",
        "label": "Pay",
        "unit": "euros a month",
        "description": "Before taxes.",
    }
    document["engine"] = {"workers": workers}
    again = release(document)
    before, after = (
        (one.folder / "report.html").read_text().replace(one.folder.name, "ID")
        for one in (made, again)
    )
    assert before == after


def test_show_names_it_and_has_what_attacks_learn(made, capsys):
    assert main(["show", str(made.folder)]) == 0
    shown = capsys.readouterr().out
    assert "report.html" in shown
    exposed = made.manifest["risk"]["attributes"]["pay"]["homogeneity"]
    assert f"{exposed['records']} records in {exposed['classes']} classes" in shown


def test_a_manifest_makes_it_again(made):
    manifest = read_manifest(made.folder)
    assert manifest is not None
    assert write_report(manifest) == (made.folder / "report.html").read_text()
    assert read_document(made.folder)["format"] == 4


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"method": {"name": "mondrian"}}, "Exact values of generalised columns"),
        ({"method": {"name": "k-anonymity-first"}}, "spread within classes is lost"),
    ],
)
def test_other_methods_have_other_words(tmp_path, keys, words):
    document = policy_for(write_parquet(tmp_path / "p.parquet", people()))
    found = release(document | keys)
    assert words in Page((found.folder / "report.html").read_text()).text


def test_a_release_without_confidential_attributes_has_one_too(tmp_path):
    document = policy_for(write_parquet(tmp_path / "p.parquet", people()))
    document["attributes"]["pay"] = "non-confidential"
    document["privacy"] = {"k": 3}
    found = release(document)
    assert "What k means here" in (found.folder / "report.html").read_text()


def test_on_a_phone_rows_of_wide_tables_say_what_each_cell_is():
    short = data_table("short", ("a", "b"), [("1", "2")])
    assert "stack" not in short
    assert "data-head" not in short
    for head, row in ((("a", "b", "c", "d"), "1234"), (("a", "b"), ("1", "long words " * 4))):
        table = Page(data_table("wide", head, [row]))
        assert table.all("div")[0]["class"] == "wide stack"
        assert [cell["data-head"] for cell in table.all("td")] == list(head[1:])


def test_labels_end_before_the_figures_beside_them():
    shares = Shares(labels=["x" * 40, "\u9577" * 40, "short"], shares=[0.1234, 0.5, 0.25])
    drawn = draw_pairs("pairs", "a picture", ("before", shares), ("after", shares))
    labels = re.findall(r"<text [^>]*>([^<]*)</text>", drawn)[2::2]
    assert labels == ["x" * 31 + "\u2026", "\u9577" * 17 + "\u2026", "short"]
    assert drawn.count("x" * 40) == 2  # as it is, for who hears the picture and in the table


def test_where_k_counts_persons_the_report_says_how_many(tmp_path):
    table = people(120, who=[i // 2 for i in range(120)])
    document = policy_for(write_parquet(tmp_path / "in.parquet", table), privacy={"k": 3, "t": 0.3})
    document["attributes"]["who"] = "person"
    said = Page((release(document).folder / "report.html").read_text()).text
    assert "with those of at least 2 other persons, who may have several each" in said
    assert re.search(r"persons\s+60\s+persons in a class\s+3 to ", said)
    assert re.search(r"k, asked and reached\s+3 and 3\s", said)
    assert "counts records" not in said


def test_where_k_counts_records_both_reports_say_so(page, made):
    said = "k counts records and not persons, because no column says whose a record is"
    assert said in page.text
    assert re.search(r"k counts\s+records\s+k, asked", page.text)
    inside = Page((made.folder / "internal" / "report.html").read_text()).text
    assert "No column says whose a record is, so each is taken for another person's." in inside
    assert re.search(r"k counts\s+records\s+k, asked", inside)


def test_on_paper_every_page_says_which_release_it_is_of(made):
    page = (made.folder / "report.html").read_text()
    name, release_id = made.manifest["name"], made.manifest["release_id"]
    assert f'@bottom-left{{content:"{name}, release {release_id}";' in page
    style = style_release('a"}</style>\n', "1")
    assert 'content:"a\\22 \\7d \\3c \\2f style\\3e \\a , release 1"' in style
