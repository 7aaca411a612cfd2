"""Tables of which it is known what they hold: exports of several conventions, and public data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tclose.data.synthetic import write_microdata

N_RECORDS = 1_000
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
Make = Callable[[np.random.Generator, int], list[str]]


@dataclass(frozen=True)
class KnownTable:
    """A table and what is true of it.

    ``kinds``: of each column that is no identifier, as in ``numeric``, ``numeric ,.`` (decimal and
    thousands mark) or ``date %d.%m.%Y``; ``identifiers``: columns that name a record or a person.
    """

    name: str
    convention: str
    write: Callable[[Path], Path]
    kinds: dict[str, str]
    identifiers: tuple[str, ...] = ()
    encoding: str | None = "utf-8"
    delimiter: str = ","
    tokens: tuple[str, ...] = ()


def known_tables() -> tuple[KnownTable, ...]:
    """All tables; the public ones where they are beside the project."""
    generated = (
        german_payroll(), _french_hospital(), _american_claims(), _unicode_export(),
        _swiss_accounts(), _survey(), _visits(), _discharges(),
    )  # fmt: skip
    public = (_adult(), _census(), _fars(), _tarragona())
    return (*generated, *(table for table in public if table.write(Path()).exists()))


def _written(
    file: str, columns: dict[str, Make], delimiter: str, encoding: str, n_records: int = N_RECORDS
) -> Callable[[Path], Path]:
    """A function that writes the columns as text, every field in quotes that needs them."""

    def write(folder: Path) -> Path:
        rng = np.random.default_rng(20_261_122)
        made = [make(rng, n_records) for make in columns.values()]
        rows = [list(columns), *zip(*made, strict=True)]
        text = "".join(delimiter.join(_quote(f, delimiter) for f in row) + "\r\n" for row in rows)
        (folder / file).write_bytes(text.encode(encoding))
        return folder / file

    return write


def _quote(text: str, delimiter: str) -> str:
    if delimiter in text or '"' in text or "\n" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def _choice(*values: str, odds: Sequence[float] | None = None) -> Make:
    return lambda rng, n: [str(v) for v in rng.choice(values, n, p=odds)]


def _amounts(mean: float, decimal: str, thousands: str, digits: int = 2, empty: float = 0) -> Make:
    def make(rng: np.random.Generator, n: int) -> list[str]:
        values = np.exp(rng.normal(np.log(mean), 0.7, n))
        texts = [f"{value:,.{digits}f}" for value in values]
        marks = str.maketrans({",": thousands, ".": decimal})
        return ["" if rng.random() < empty else text.translate(marks) for text in texts]

    return make


def _integers(low: int, high: int) -> Make:
    return lambda rng, n: [str(i) for i in rng.integers(low, high, n)]


def _dates(form: str, first: str = "1940-01-01", days: int = 25_000) -> Make:
    def make(rng: np.random.Generator, n: int) -> list[str]:
        moments = np.datetime64(first, "s") + rng.integers(0, days * 86_400, n)
        return [moment.strftime(form) for moment in moments.tolist()]

    return make


def _counted(form: str, first: int = 1, per: int = 1) -> Make:
    return lambda _, n: [form.format(first + i // per) for i in range(n)]


def _names(rng: np.random.Generator, n: int) -> list[str]:
    first = ["Anna", "Jürgen", "Zoë", "Karl", "Ines", "François", "Omar", "Lena"]
    last = ["Müller", "Schmidt", "Weiß", "Lefèvre", "Núñez", "Ivers", "Öztürk", "Roth"]
    pairs = zip(rng.choice(first, n), rng.choice(last, n), rng.integers(0, 90, n), strict=True)
    return [f"{a} {b}{'' if c > 8 else c}" for a, b, c in pairs]


def _mails(rng: np.random.Generator, n: int) -> list[str]:
    return [f"u{i}@example.org" for i in rng.permutation(n)]


def _remarks(rng: np.random.Generator, n: int) -> list[str]:
    words = ["called", "back", "about", "the", "form", "on"]
    words += ["Monday", "and", "asked", "for", "a", "copy"]
    return [" ".join(rng.choice(words, rng.integers(5, 12))) for _ in range(n)]


def german_payroll(n_records: int = N_RECORDS) -> KnownTable:
    """Return the staff of a company as a German spreadsheet exports it."""
    columns: dict[str, Make] = {
        "Personalnummer": _integers(100_000, 999_999),
        "Name": _names,
        "E-Mail": _mails,
        "Geschlecht": _choice("m", "w", "d", odds=[0.49, 0.49, 0.02]),
        "Geburtsdatum": _dates("%d.%m.%Y"),
        "PLZ": lambda rng, n: [f"{p:05d}" for p in rng.choice(np.arange(1_067, 99_998, 900), n)],
        "Abteilung": _choice("Vertrieb", "Einkauf", "Entwicklung", "Leitung"),
        "Teilzeit": _choice("ja", "nein"),
        "Gehalt": _amounts(48_000, ",", "."),
        "Bonus": _amounts(3_000, ",", ".", empty=0.2),
        "Größe (m)": _amounts(1.7, ",", "."),
        "Kinder": _integers(0, 5),
        "Bemerkung": _remarks,
    }
    return KnownTable(
        "German payroll",
        "`;`, cp1252, `48.360,86`, `06.01.2021`",
        _written("payroll.csv", columns, ";", "cp1252", n_records),
        {
            "Geschlecht": "nominal", "Geburtsdatum": "date %d.%m.%Y", "PLZ": "nominal",
            "Abteilung": "nominal", "Teilzeit": "nominal", "Gehalt": "numeric ,.",
            "Bonus": "numeric ,.", "Größe (m)": "numeric ,.", "Kinder": "numeric",
        },
        ("Personalnummer", "Name", "E-Mail", "Bemerkung"),
        encoding="cp1252",
        delimiter=";",
    )  # fmt: skip


def _french_hospital() -> KnownTable:
    columns: dict[str, Make] = {
        "numéro de dossier": _counted("D{:07d}", 4_711),
        "nom": _names,
        "sexe": _choice("F", "M"),
        "date de naissance": _dates("%d/%m/%Y"),
        "code postal": lambda rng, n: [f"{p:05d}" for p in rng.choice([1_000, 13_001, 75_011], n)],
        "entrée": _dates("%d/%m/%Y %H:%M", "2023-01-01", 700),
        "diagnostic": _choice("A09", "I10", "J18", "K35", "S72", odds=[0.3, 0.3, 0.2, 0.1, 0.1]),
        "durée": _integers(1, 30),
        "coût": _amounts(2_400, ",", "\u00a0"),
        "téléphone": lambda rng, n: [f"06 {i:08d}" for i in rng.integers(0, 10**8, n)],
    }
    return KnownTable(
        "French hospital stays",
        "`;`, UTF-8 with a mark, `2 400,50` with no-break spaces, days as 31/12/2020 10:05",
        _written("sejours.csv", columns, ";", "utf-8-sig"),
        {
            "sexe": "nominal", "date de naissance": "date %d/%m/%Y", "code postal": "nominal",
            "entrée": "date %d/%m/%Y %H:%M", "diagnostic": "nominal", "durée": "numeric",
            "coût": "numeric , ",
        },
        ("numéro de dossier", "nom", "téléphone"),
        delimiter=";",
    )  # fmt: skip


def _american_claims() -> KnownTable:
    columns: dict[str, Make] = {
        "ClaimID": _counted("{}", 800_100),
        "SSN": lambda rng, n: [
            f"{a:03d}-{b:02d}-{c:04d}" for a, b, c in rng.integers(10, 99, (n, 3))
        ],
        "DateOfBirth": _dates("%m/%d/%Y"),
        "Gender": _choice("Female", "Male"),
        "ZipCode": lambda rng, n: [f"{z:05d}" for z in rng.choice([501, 2_138, 10_001, 94_110], n)],
        "State": _choice("CA", "NY", "MA"),
        "Insured": _choice("True", "False"),
        "ClaimAmount": _amounts(5_200, ".", ","),
        "AgeBand": _choice("18-24", "25-34", "35-49", "50-64", "65+"),
        "RiskScore": lambda rng, n: [
            "N/A" if rng.random() < 0.03 else f"{x:.3f}" for x in rng.random(n)
        ],
    }
    return KnownTable(
        "American claims",
        "`,`, quoted `5,200.50`, days as 12/31/2020, N/A for missing",
        _written("claims.csv", columns, ",", "utf-8"),
        {
            "DateOfBirth": "date %m/%d/%Y", "Gender": "nominal", "ZipCode": "nominal",
            "State": "nominal", "Insured": "boolean", "ClaimAmount": "numeric .,",
            "AgeBand": "ordinal", "RiskScore": "numeric",
        },
        ("ClaimID", "SSN"),
        tokens=("N/A",),
    )  # fmt: skip


def _unicode_export() -> KnownTable:
    columns: dict[str, Make] = {
        "session": lambda rng, n: [
            "{}{}-{}-{}-{}-{}{}{}".format(*(f"{p:04x}" for p in rng.integers(0, 65_536, 8)))
            for _ in range(n)
        ],
        "IP": lambda rng, n: [".".join(map(str, p)) for p in rng.integers(1, 255, (n, 4))],
        "Land": _choice("Österreich", "Česko", "Magyarország", "Slovensko"),
        "begonnen": _dates("%d-%m-%Y %H:%M", "2024-01-01", 300),
        "Alter": _integers(16, 90),
        "Sekunden": _amounts(300, ",", "", digits=1),
        "Zufriedenheit": _choice("sehr hoch", "hoch", "mittel", "niedrig"),
    }
    return KnownTable(
        "Unicode text from a spreadsheet",
        "tabs, UTF-16, `300,5`, `31-12-2024 10:05`",
        _written("sitzungen.txt.csv", columns, "\t", "utf-16"),
        {
            "Land": "nominal", "begonnen": "date %d-%m-%Y %H:%M", "Alter": "numeric",
            "Sekunden": "numeric ,", "Zufriedenheit": "ordinal",
        },
        ("session", "IP"),
        encoding="utf-16",
        delimiter="\t",
    )  # fmt: skip


def _swiss_accounts() -> KnownTable:
    columns: dict[str, Make] = {
        "Konto Nr": lambda rng, n: [
            f"{a}-{b:03d}-{c}"
            for a, b, c in zip(
                rng.integers(10, 90, n), range(n), rng.integers(0, 9, n), strict=True
            )
        ],
        "Kunde": lambda rng, n: [str(i) for i in rng.integers(200_000, 200_400, n)],
        "Kanton": _choice("ZH", "BE", "VD", "TI"),
        "eröffnet": _dates("%d.%m.%y", "1990-01-01", 12_000),
        "Saldo CHF": _amounts(21_000, ".", "'"),
        "Zins": lambda rng, n: ["-" if x > 2.9 else f"{x:.2f}" for x in rng.random(n) * 3],
    }
    return KnownTable(
        "Swiss accounts, several a customer",
        "vertical bars, latin-1 (as cp1252 reads it), `21'000.50`, `31.12.99`, `-` for missing",
        _written("konten.csv", columns, "|", "latin-1"),
        {
            "Kanton": "nominal",
            "eröffnet": "date %d.%m.%y",
            "Saldo CHF": "numeric .'",
            "Zins": "numeric",
        },
        ("Konto Nr", "Kunde"),
        encoding="cp1252",
        delimiter="|",
        tokens=("-",),
    )


def _survey() -> KnownTable:
    columns: dict[str, Make] = {
        "respondent": _counted("{}"),
        "country": _choice("NA", "ZA", "BW", "ZM"),
        "age_group": _choice("<18", "18-29", "30-59", "60+"),
        "education": _choice("none", "primary", "secondary", "tertiary"),
        "wgt": lambda rng, n: [f"{x:.4f}" for x in 0.5 + rng.random(n)],
        "trust": _choice("never", "rarely", "sometimes", "often", "always"),
        "income": lambda rng, n: [
            "?" if rng.random() < 0.1 else str(int(x)) for x in np.exp(rng.normal(7, 1, n))
        ],
        "comment": _remarks,
        "interviewed": _dates("%Y-%m-%d", "2025-01-01", 90),
    }
    return KnownTable(
        "survey with weights",
        "`,`, UTF-8, `?` for missing, Namibia as `NA`, days in ISO 8601",
        _written("survey.csv", columns, ",", "utf-8"),
        {
            "country": "nominal", "age_group": "ordinal", "education": "nominal",
            "trust": "ordinal", "income": "numeric", "interviewed": "date",
        },
        ("respondent", "wgt", "comment"),
        tokens=("?",),
    )  # fmt: skip


def _visits() -> KnownTable:
    columns: dict[str, Make] = {
        "patient_id": lambda rng, n: [f"P{i:05d}" for i in rng.integers(0, 400, n)],
        "visit_no": _counted("{}", 9_000_001),
        "birth": _dates("%Y%m%d"),
        "sex": _choice("1", "2"),
        "visited_at": _dates("%Y-%m-%d %H:%M:%S", "2025-01-01", 300),
        "icd": _choice("E11", "I10", "M54", "F32"),
        "charge": _amounts(180, ".", ""),
        "smoker": _choice("Y", "N", ""),
    }
    return KnownTable(
        "visits, several a patient",
        "`,`, UTF-8, births as `19850231`-like numbers, moments in ISO 8601",
        _written("visits.csv", columns, ",", "utf-8"),
        {
            "birth": "date %Y%m%d", "sex": "nominal", "visited_at": "date", "icd": "nominal",
            "charge": "numeric", "smoker": "nominal",
        },
        ("patient_id", "visit_no"),
    )  # fmt: skip


def _discharges() -> KnownTable:
    def write(folder: Path) -> Path:
        [path] = write_microdata(folder / "discharges.parquet", 20_000, 1)
        return path

    return KnownTable(
        "generated discharges",
        "Parquet",
        write,
        {
            "age": "numeric", "sex": "nominal", "zip": "nominal", "discharge_status": "nominal",
            "admission_date": "date", "length_of_stay": "numeric", "insurance_type": "nominal",
            "diagnosis_group": "nominal", "severity": "nominal", "charge": "numeric",
        },
        ("patient_id",),
        encoding=None,
    )  # fmt: skip


def _public(file: str) -> Callable[[Path], Path]:
    return lambda _: SHARED / file


def _adult() -> KnownTable:
    numbers = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
    names = (
        "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex",
        "native-country", "salary-class",
    )  # fmt: skip
    kinds = dict.fromkeys(numbers, "numeric") | dict.fromkeys(names, "nominal")
    return KnownTable(
        "UCI Adult", "`,`, UTF-8, `?` for missing", _public("adult.csv"), kinds, ("fnlwgt",),
        tokens=("?",),
    )  # fmt: skip


def _census() -> KnownTable:
    numbers = (
        "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC", "POTHVAL", "INTVAL",
        "PEARNVAL", "FICA", "WSALVAL", "ERNVAL",
    )  # fmt: skip
    return KnownTable(
        "CASC Census", "`,`, amounts only", _public("casc_census.csv"),
        dict.fromkeys(numbers, "numeric"), ("AFNLWGT",),
    )  # fmt: skip


def _fars() -> KnownTable:
    numbers = ("age", "injury", "D_injury", "modelyr", "year")
    names = (
        "state", "airbag", "Restraint", "sex", "inimpact", "airbagAvail", "airbagDeploy",
        "D_airbagAvail", "D_airbagDeploy", "D_Restraint",
    )  # fmt: skip
    kinds = dict.fromkeys(numbers, "numeric") | dict.fromkeys(names, "nominal")
    return KnownTable(
        "FARS accidents", "`,`, numbers as codes, several persons a case",
        _public("fars_gamclass.csv"), kinds, ("caseid",),
    )  # fmt: skip


def _tarragona() -> KnownTable:
    numbers = (
        "FIXED.ASSETS", "CURRENT.ASSETS", "TREASURY", "UNCOMMITTED.FUNDS", "PAID.UP.CAPITAL",
        "SHORT.TERM.DEBT", "SALES", "LABOR.COSTS", "DEPRECIATION", "OPERATING.PROFIT",
        "FINANCIAL.OUTCOME", "GROSS.PROFIT", "NET.PROFIT",
    )  # fmt: skip
    return KnownTable(
        "Tarragona companies", "`,`, amounts only", _public("tarragona.csv"),
        dict.fromkeys(numbers, "numeric"),
    )  # fmt: skip
