"""The printed numbers of the papers, each with its location; none is computed by us."""

from dataclasses import dataclass
from fractions import Fraction

KS = (2, 5, 10, 15, 20, 25, 30)
TS = ("0.01", "0.05", "0.09", "0.13", "0.17", "0.21", "0.25")
# Soria-Comas et al. 2015, section 8.1: each with the multiple correlation that it prints.
CENSUS = (("MCD", "FEDTAX", 0.52), ("HCD", "FICA", 0.92))


@dataclass(frozen=True)
class Sizes:
    """Smallest and mean size of the clusters, the mean as a whole number."""

    smallest: int
    mean: int

    def __str__(self) -> str:
        """As the paper writes it."""
        return f"{self.smallest}/{self.mean}"

    def __sub__(self, other: "Sizes") -> str:
        """Both differences, signed."""
        return f"{self.smallest - other.smallest:+d}/{self.mean - other.mean:+d}"


# Soria-Comas et al. 2015, Tables 1 to 3: smallest/mean size of the clusters. A line for each k, a
# column for each t.
_TABLES = {
    (1, "FEDTAX"): """
1080/1080 56/120 20/42 8/20 4/10 4/7 2/8
1080/1080 385/540 40/154 20/47 10/24 10/17 5/12
1080/1080 1080/1080 110/270 40/108 20/57 20/35 10/24
1080/1080 1080/1080 135/360 45/90 30/64 30/45 15/33
1080/1080 380/540 160/216 80/154 40/83 40/54 20/37
1080/1080 1080/1080 1080/1080 455/540 50/180 50/90 25/72
1080/1080 540/540 270/360 120/180 60/98 60/77 30/57
""",
    (1, "FICA"): """
1080/1080 36/98 16/31 8/52 4/9 4/7 2/5
1080/1080 200/216 40/60 20/80 10/21 10/15 5/11
1080/1080 1080/1080 180/216 40/190 20/47 20/31 10/20
1080/1080 495/540 195/270 60/270 30/68 30/54 15/33
1080/1080 240/360 180/216 60/140 40/72 40/60 20/40
1080/1080 1080/1080 230/360 50/250 50/98 50/72 25/48
1080/1080 1080/1080 330/540 150/390 60/108 60/90 30/57
""",
    (2, "FEDTAX"): """
164/216 8/10 4/7 4/6 2/3 2/3 2/3
40/64 10/16 5/7 5/7 5/7 5/7 5/6
40/108 10/17 10/17 10/15 10/15 10/13 10/12
30/57 15/28 15/25 15/23 15/23 15/19 15/16
40/54 20/37 20/35 20/32 20/31 20/26 20/22
50/51 25/51 25/43 25/39 25/40 25/32 25/28
30/57 30/68 30/54 30/49 30/47 30/37 30/34
""",
    (2, "FICA"): """
156/360 8/11 4/7 4/4 2/3 2/3 2/3
80/154 10/10 5/8 5/8 5/7 5/8 5/7
80/135 10/17 10/17 10/16 10/14 10/14 10/12
30/60 15/30 15/26 15/23 15/22 15/21 15/17
40/49 20/43 20/36 20/32 20/29 20/28 20/23
50/51 25/51 25/43 25/39 25/37 25/35 25/26
60/64 30/64 30/54 30/47 30/43 30/42 30/34
""",
    (3, "FEDTAX"): """
49/49 10/10 6/6 4/4 3/3 3/3 2/2
49/49 10/10 6/6 5/5 5/5 5/5 5/5
49/49 10/10 10/10 10/10 10/10 10/10 10/10
49/49 15/15 15/15 15/15 15/15 15/15 15/15
49/49 20/20 20/20 20/20 20/20 20/20 20/20
49/49 25/25 25/25 25/25 25/25 25/25 25/25
49/49 30/30 30/30 30/30 30/30 30/30 30/30
""",
    (3, "FICA"): """
49/49 10/10 6/6 4/4 3/3 3/3 2/2
49/49 10/10 6/6 5/5 5/5 5/5 5/5
49/49 10/10 10/10 10/10 10/10 10/10 10/10
49/49 15/15 15/15 15/15 15/15 15/15 15/15
49/49 20/20 20/20 20/20 20/20 20/20 20/20
49/49 25/25 25/25 25/25 25/25 25/25 25/25
49/49 30/30 30/30 30/30 30/30 30/30 30/30
""",
}


def _read_cells() -> dict[tuple[int, str, int, str], Sizes]:
    """Sizes by the table's number, confidential attribute, k and t."""
    cells = {}
    for (number, confidential), text in _TABLES.items():
        for k, line in zip(KS, text.strip().splitlines(), strict=True):
            for t, cell in zip(TS, line.split(), strict=True):
                cells[number, confidential, k, t] = Sizes(*map(int, cell.split("/")))
    return cells


SIZES = _read_cells()

# Li et al. 2007, Table 3: ZIP code, age, salary in thousands, disease; records 1 to 9.
SALARIES = (3, 4, 5, 6, 11, 8, 7, 9, 10)
DISEASES = (
    "gastric ulcer", "gastritis", "stomach cancer", "gastritis", "flu", "bronchitis", "bronchitis",
    "pneumonia", "stomach cancer",
)  # fmt: skip
# Records of each class of its Tables 4 and 5.
TABLE_4 = ((1, 2, 3), (4, 5, 6), (7, 8, 9))
TABLE_5 = ((1, 3, 8), (4, 5, 6), (2, 7, 9))
# Section 5.3: distances of classes of salaries and of diseases, to three digits; Table 5's t.
SALARY_DISTANCES = (((3, 4, 5), "0.375"), ((6, 8, 11), "0.167"))
DISEASE_DISTANCES = (
    (("gastric ulcer", "gastritis", "stomach cancer"), "0.5"),
    (("gastric ulcer", "stomach cancer", "pneumonia"), "0.278"),
)
TABLE_5_CLOSENESS = (("Salary", "0.167"), ("Disease", "0.278"))
# Figure 1 is a picture; the text gives these distances in it.
TREE_DISTANCES = (
    ("flu", "bronchitis", Fraction(1, 3)),
    ("flu", "pulmonary embolism", Fraction(2, 3)),
    ("flu", "stomach cancer", Fraction(1)),
)
# Section 8: two values, their shares in the table and in the class in hundredths, the distance.
SHIFTS = (((1, 99), (11, 89), "0.1"), ((40, 60), (50, 50), "0.1"))

# Li et al. 2007, Figure 2: of each attribute of Adult the distinct values and the height.
ADULT = (
    ("age", 74, 5),
    ("workclass", 8, 3),
    ("education", 16, 4),
    ("native-country", 41, 3),
    ("marital-status", 7, 3),
    ("race", 5, 3),
    ("sex", 2, 2),
    ("occupation", 14, 3),
)
ADULT_RECORDS = 30_162
# Section 6: minimal tables, those among them that the similarity attack succeeds on, and the most
# records of one of those.
SIMILARITY = {"entropy 2-diversity": (21, 13, 916), "recursive (4, 4)-diversity": (26, 17, None)}

# Domingo-Ferrer and Soria-Comas 2015, Figure 2: 12 records, 3 buckets, 1.5-closeness, classes of 4.
FIGURE_2 = (Fraction(3, 2), ("1/2 1/4 1/4", "1/4 1/2 1/4", "1/4 1/4 1/2"))


def table_1_shares(t: int) -> tuple[tuple[Fraction, ...], ...]:
    """Share of each bucket in each class, t + 1 of both.

    Domingo-Ferrer and Soria-Comas 2015, Table 1.
    """
    most, least = Fraction(t, t + 1), Fraction(1, t * (t + 1))
    return tuple(tuple(most if i == j else least for j in range(t + 1)) for i in range(t + 1))
