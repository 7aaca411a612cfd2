"""The papers' numbers beside ours: the reduced report, and what its figures are made of."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.microdata.correlated import generate_correlated
from benchmarks.microdata.sources import fars, generated
from benchmarks.reproduction import adult, curves
from benchmarks.reproduction.__main__ import (
    PREAMBLE,
    REDUCED_KS,
    REDUCED_TS,
    list_parts,
    write_report,
)
from benchmarks.reproduction.algorithms import ALGORITHMS, Run, run_algorithm, subset_first
from benchmarks.reproduction.buckets import (
    MASKED,
    TABLE_1_TS,
    build_figure_2,
    build_table_1,
    derived_t,
    printed_t,
    shares_of,
)
from benchmarks.reproduction.census import Cell, load_census, reproduce_table, summarise
from benchmarks.reproduction.closeness import compare_values, disease_distance, report_values
from benchmarks.reproduction.hierarchies import TREES
from benchmarks.reproduction.measures import ENTROPY, K_ANONYMITY, QUASI_IDENTIFIERS, load_adult
from benchmarks.reproduction.page import Claim, Compared, claim_often
from benchmarks.reproduction.pictures import Chart, Curve, draw_charts, make_charts_figure
from benchmarks.reproduction.printed import (
    ADULT,
    DISEASE_DISTANCES,
    DISEASES,
    KS,
    SIZES,
    TABLE_5,
    TS,
    Sizes,
    table_1_shares,
)
from benchmarks.reproduction.records import Partition, examine, load_records
from benchmarks.reproduction.series import (
    Series,
    measure_growth,
    measure_spikes,
    read_loss,
    run_series,
)
from benchmarks.reproduction.variants import VARIANTS
from support.cases.discharge_policies import shared_file
from support.naive import naive_kernels as naive
from tclose.render.charts import chart_style

SMALL = replace(generated(2, 0.5), read=partial(generate_correlated, 300, 2, 0.5, 1))


@pytest.fixture
def census_data():
    shared_file("casc_census.csv")


@pytest.fixture
def adult_data():
    shared_file("adult.csv")


class TestPrinted:
    def test_tables_are_whole(self):
        assert len(SIZES) == 3 * 2 * len(KS) * len(TS)
        assert all(1 <= cell.smallest <= cell.mean <= 1080 for cell in SIZES.values())

    @pytest.mark.parametrize(
        ("place", "cell"),
        [
            ((1, "FEDTAX", 5, "0.05"), "385/540"),
            ((1, "FICA", 30, "0.13"), "150/390"),
            ((2, "FEDTAX", 2, "0.01"), "164/216"),
            ((2, "FICA", 25, "0.21"), "25/35"),
            ((3, "FEDTAX", 2, "0.09"), "6/6"),
        ],
    )
    def test_cells_stand_where_they_are_printed(self, place, cell):
        """Soria-Comas et al. 2015, Tables 1 to 3, looked up by eye."""
        assert str(SIZES[place]) == cell


@pytest.mark.usefixtures("census_data")
class TestCensus:
    def test_table_3_agrees_to_the_digit(self):
        cells = reproduce_table(3, subset_first, load_census(), KS, TS)
        assert len(cells) == 98
        assert [cell for cell in cells if not cell.is_same] == []

    @pytest.mark.nightly
    def test_tables_1_and_2_are_within_k_and_t(self):
        for number in (1, 2):
            cells = reproduce_table(number, ALGORITHMS[number], load_census(), (5, 25), ("0.17",))
            assert all(cell.partition.smallest >= cell.k for cell in cells)
            assert all(cell.partition.n_violating == 0 for cell in cells)

    def test_reduced_report(self):
        page = write_report(list_parts(None, reduced=True), "`python`")
        assert page.startswith(PREAMBLE)
        n_cells = 2 * len(REDUCED_KS) * len(REDUCED_TS)
        table_3 = page.split("### Table 3")[1]
        assert f"**{n_cells} of {n_cells} cells agree to the digit**" in table_3
        assert page.count("\n## ") == 3
        assert "Not computed" not in page


def test_what_is_not_at_hand_is_said(no_real_data):
    page = write_report(list_parts(None, reduced=True), "`python`")
    assert page.count("Not computed:") == 1
    assert "## Li et al. 2007, worked values\n\nFigure 1" in page


class TestSummary:
    def test_counts_and_means(self):
        found = [Partition(540, 2, 1080, 0.1, 0), Partition(10, 50, 1080, 0.1, 0)]
        cells = [
            Cell("FICA", 2, "0.25", Sizes(2, 2), found[0]),
            Cell("FICA", 30, "0.25", Sizes(50, 27), found[1]),
        ]
        one = summarise(cells)
        assert (one.n_cells, one.n_same, one.n_same_smallest, one.n_same_mean) == (2, 1, 2, 1)
        assert one.ratio == pytest.approx(2)
        assert one.factor == pytest.approx(2)
        assert one.factor_large == pytest.approx(4)

    def test_means_are_rounded_halves_up(self):
        assert str(Partition(48, 20, 1080, 0.1, 0).sizes) == "20/23"
        assert Sizes(20, 23) - Sizes(25, 22) == "-5/+1"


class TestPartitions:
    def test_are_what_their_labels_say(self):
        records = load_records(SMALL)
        labels = np.random.default_rng(3).permutation(np.arange(300) % 40)
        found = examine(records, labels, "0.2")
        groups = [np.flatnonzero(labels == c) for c in range(40)]
        values = records.distribution.values[records.codes].tolist()
        lost = sum(
            float(((row[g] - row[g].mean()) ** 2).sum()) for row in records.numeric for g in groups
        )
        assert found.loss == pytest.approx(lost / 300 / 2)
        assert (found.n_clusters, found.smallest) == (40, 7)
        above = [
            naive.ordered_emd([values[i] for i in g], values) > Fraction("0.2") for g in groups
        ]
        assert found.n_violating == sum(above) > 0

    def test_loss_does_not_depend_on_the_scale(self):
        labels = np.arange(300) % 50
        losses = [
            examine(load_records(SMALL, scale), labels, "0.2").loss
            for scale in ("range", "standard deviation", "nothing")
        ]
        assert losses == pytest.approx([losses[0]] * 3)

    def test_nominal_differences_are_0_or_1(self):
        records = load_records(SMALL)
        nominal = np.array([[0, 1, 1, 2] * 75], dtype=np.int32)
        labels = np.arange(300) // 4
        mixed = replace(records, nominal=nominal)
        without = examine(records, labels, "0.2").loss * 2
        assert examine(mixed, labels, "0.2").loss == pytest.approx((without + 0.5) / 3)

    def test_ranks_are_all_different(self):
        source = replace(SMALL, confidential=("q1",), quasi_identifiers=("q2",))
        by_value, by_rank = load_records(source), load_records(source, by_rank=True)
        assert by_value.distribution.values.size < 300
        assert by_rank.distribution.values.tolist() == list(range(300))
        in_order = np.argsort(by_rank.codes)
        assert (np.diff(by_value.codes[in_order]) >= 0).all()

    def test_a_sample_is_drawn_from_the_seed(self):
        one, other = (load_records(SMALL, n_sample=50) for _ in range(2))
        assert one.n_records == 50
        assert one.numeric.tolist() == other.numeric.tolist()


class TestAlgorithms:
    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_make_clusters_within_k_and_t(self, number):
        run = run_algorithm(number, load_records(SMALL), 3, "0.2")
        assert run.partition.smallest >= 3
        assert run.partition.n_violating == 0
        assert 1 < run.partition.n_clusters <= 100

    @pytest.mark.parametrize("number", VARIANTS)
    def test_variants_are_within_t_too(self, number):
        records = load_records(SMALL)
        for variant in VARIANTS[number]:
            found = examine(records, variant.run(records, 3, "0.15"), "0.15")
            assert found.smallest >= 3
            assert found.n_violating == 0


class TestWorkedValues:
    def test_agree_to_the_digit(self):
        assert [row for row in compare_values() if not row.is_same] == []
        assert len(compare_values()) == 8

    def test_with_the_counts_of_table_3(self):
        found = [disease_distance(members, DISEASES) for members, _ in DISEASE_DISTANCES]
        assert found == [Fraction(4, 9), Fraction(7, 27)]
        of_table_5 = [disease_distance([DISEASES[i - 1] for i in m], DISEASES) for m in TABLE_5]
        assert max(of_table_5) == Fraction(8, 27)
        assert "8/27-closeness (0.296) for Disease, more than the 0.278" in report_values()


class TestBuckets:
    def test_figure_2(self):
        half, quarter = Fraction(1, 2), Fraction(1, 4)
        found = build_figure_2()
        assert found.distance == Fraction(3, 2)
        assert shares_of(found) == (
            (half, quarter, quarter), (quarter, half, quarter), (quarter, quarter, half),
        )  # fmt: skip

    @pytest.mark.parametrize("t", TABLE_1_TS)
    def test_table_1(self, t):
        assert all(sum(row) == 1 for row in table_1_shares(t))
        assert shares_of(build_table_1(t)) == table_1_shares(t)

    def test_proposition_1_as_printed_is_below_what_the_proof_gives(self):
        assert printed_t(100, 1_000, 0.0) < 1 <= derived_t(100, 1_000, 0.0)
        assert all(printed_t(*given) < derived_t(*given) for given in MASKED)


def series(losses):
    """A series of one t; losses by algorithm and k, of 12 records."""
    runs = [
        Run(number, k, "0.1", Partition(1, 1, 12, loss, 0), 1.0)
        for number, of_k in losses.items()
        for k, loss in of_k.items()
    ]
    return Series("x", tuple(runs))


class TestSeries:
    GRID = series({1: {2: 1, 3: 2, 4: 4, 5: 10, 6: 6}, 2: {2: 3, 3: 3, 4: 3, 5: 3, 6: 3}})

    def test_counts_where_one_is_below_another(self):
        assert self.GRID.count(read_loss, 1, 2) == (2, 5)
        assert self.GRID.count(read_loss, 2, 1) == (3, 5)

    def test_order_holds_for_all_k_or_not_at_all(self):
        losses = {1: {2: 3, 3: 4}, 2: {2: 2, 3: 3}, 3: {2: 1, 3: 1}}
        assert series(losses).find_order(read_loss, (3, 2, 1)) == ["0.1"]
        losses[2][3] = 4
        assert series(losses).find_order(read_loss, (3, 2, 1)) == []

    def test_growth_and_spikes(self):
        assert [measure_growth(self.GRID, n) for n in (1, 2)] == [6, 1]
        assert [measure_spikes(self.GRID, n) for n in (1, 2)] == [2, 1]

    def test_runs_are_all_there(self):
        found = run_series("x", load_records(SMALL), (2, 4), ("0.1", "0.2"))
        assert len(found.runs) == 3 * 2 * 2
        assert (found.ks, found.ts) == ([2, 4], ["0.1", "0.2"])
        assert found.find(2, 4, "0.1").partition.smallest >= 4

    def test_large_data_without_the_real_file(self, monkeypatch, tmp_path, no_real_data):
        monkeypatch.setattr(curves, "load_patients", lambda: load_records(SMALL))
        monkeypatch.setattr(curves, "TS", ("0.1", "0.2"))
        body = curves.report_large(tmp_path / "figures", lambda _: None)
        assert "FARS is left out" in body
        assert "| generated, 300 records | 0.1 |" in body
        assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
            "loss-large.svg",
            "run-time.svg",
        ]

    def test_fars_has_nominal_quasi_identifiers(self):
        shared_file("fars_gamclass.csv")
        records = load_records(fars(), n_sample=400)
        assert (len(records.numeric), len(records.nominal)) == (3, 2)


@pytest.mark.usefixtures("adult_data")
class TestAdult:
    def test_hierarchies_have_the_heights_that_are_printed(self):
        records = load_adult()
        heights = dict(zip(QUASI_IDENTIFIERS, map(len, records.tables), strict=True))
        printed = {name: height for name, _, height in ADULT}
        assert heights == {name: printed[name] for name in QUASI_IDENTIFIERS}
        assert set(TREES) == set(printed) - {"age"}

    @pytest.mark.nightly
    def test_figures_are_those_of_the_classes(self):
        records = load_adult()
        found = adult.search(records, K_ANONYMITY, 5, 2)
        top = [len(table) - 1 for table in records.tables[2:]]
        wholes = []
        for a, b in np.ndindex(len(records.tables[0]), len(records.tables[1])):
            sizes = np.diff(records.classes_at((a, b, *top))[1])
            wholes.append((int(sizes.min()), int((sizes**2).sum())))
        assert found.discernibility >= min(loss for least, loss in wholes if least >= 5)
        assert found.discernibility in [loss for least, loss in wholes if least >= 5]
        assert len(found.exposures) == len(found.above) > 0

    def test_diverse_tables_have_diverse_classes(self):
        records = load_adult()
        found = adult.search(records, ENTROPY, 5, 2)
        assert all(one.exposed_classes == 0 for one in found.exposures)
        assert found.average_size >= adult.search(records, ENTROPY, 2, 2).average_size


class TestPage:
    def test_figures_agree_to_the_printed_digits(self):
        assert Compared("x", "0.278", 5 / 18, 3).cells == ["x", "0.278", "0.278", "none"]
        assert Compared("x", "0.278", 0.2796, 3).cells == ["x", "0.278", "0.280", "+0.002"]
        assert not Compared("x", "21", 19).is_same

    def test_claims_hold_or_not_or_in_part(self):
        verdicts = [claim_often("x", n, 7, "t").cells[2] for n in (7, 3, 0)]
        assert verdicts == ["as the paper", "**in part**", "**not as the paper**"]
        assert Claim("x", "y", True).cells == ["x", "y", "as the paper"]


class TestPictures:
    CHARTS = (
        Chart("A", "t", "SSE", (Curve("one", ((1, 0.5), (2, 20.0))), Curve("two", ((1, 3.0),)))),
        Chart("B", "t", "SSE", (Curve("one", ((1, 2e3), (2, 4e3))),)),
    )

    def draw(self, **how):
        pytest.importorskip("matplotlib")
        with chart_style():
            return make_charts_figure("T <", "basis", self.CHARTS, **how)

    def test_every_point_is_in_its_panel(self):
        figure = self.draw()
        drawn = [[line.get_xydata().tolist() for line in axes.get_lines()] for axes in figure.axes]
        assert drawn == [[[[1, 0.5], [2, 20]], [[1, 3]]], [[[1, 2e3], [2, 4e3]]]]
        assert [axes.get_yscale() for axes in figure.axes] == ["log", "log"]
        assert [text.get_text() for text in figure.legends[0].texts] == ["one", "two"]
        assert [text.get_text() for text in figure.texts] == ["T <", "basis"]

    def test_charts_that_are_alike_have_one_scale(self):
        one, other = (axes.get_ylim() for axes in self.draw(like=True).axes)
        assert one == other
        assert one[0] < 0.5 < 4e3 < one[1]

    def test_pictures_are_xml(self):
        pytest.importorskip("matplotlib")
        assert ElementTree.fromstring(draw_charts("T <", "basis", self.CHARTS)).tag.endswith("svg")
