"""Words in the names of columns, of several languages, and what they say of a column."""

import re
import unicodedata

# Whole words of a name; those of six letters and more are also found inside of compounds.
PERSON = (
    "name names firstname lastname surname forename fullname vorname nachname familienname nom "
    "prenom nombre apellido apellidos nome cognome achternaam voornaam initials email mail phone "
    "telephone tel telefon telefono mobile handy fax iban bic ssn nhs mrn dni nif passport "
    "passwort password reisepass ausweis username user login street strasse address adresse "
    "anschrift hausnummer url website ip mac latitude longitude lat lon lng gps signature "
    "kennzeichen versichertennummer steuernummer sozialversicherungsnummer kreditkarte creditcard"
)
NUMBERED = (
    "id ids uid uuid guid key nr no num number nummer numero code caseid identifier record lfdnr "
    "matricule kundennummer personalnummer patientennummer aktenzeichen account konto serial "
    "person patient customer client kunde member employee mitarbeiter subject participant"
)
WEIGHT = "fnlwgt wgt wght afnlwgt pweight pweights sampling gewichtung hochrechnungsfaktor"
# Weights of records, where a name has one of these beside; else what somebody weighs.
_WEIGHTS = "weight weights gewicht gewichte poids peso pesi pesos"
_OF_RECORDS = (
    "survey sample design base final calibrated calibration expansion replicate household person "
    "probability post poststratification longitudinal stichprobe haushalt enquete sondage"
)
NAMES_OF_THINGS = "country product city state region county department category brand model species"
KNOWN = (
    "age alter edad eta sex gender geschlecht sexe sexo birth geburt geburtsdatum geburtstag "
    "birthday birthdate dob naissance nacimiento nascita postcode postal postleitzahl zip zipcode "
    "plz cap cp city town ort wohnort stadt ville ciudad gemeinde municipality commune county "
    "kreis region state bundesland province provincia country land pais pays nation national "
    "nationality native nationalitat staatsangehorigkeit citizenship race ethnic ethnicity "
    "marital familienstand civil education educational bildung abschluss degree school schule "
    "occupation occupational beruf profession job workclass employer branche industry sector "
    "household haushalt children kinder relationship district quartier department abteilung "
    "service date datum fecha year jahr admission aufnahme hired eintritt language sprache site "
    "hospital branch filiale"
)
DAYS = (
    "date datum fecha day dia jour tag birth birthday birthdate dob geburt geburtsdatum geburtstag "
    "naissance nacimiento nascita admission aufnahme hired eintritt"
)
CONFIDENTIAL = (
    "salary salaries income wage wages pay pays payroll earn earnings gehalt lohn einkommen "
    "salaire revenu revenus salario sueldo ingreso ingresos stipendio reddito bonus diagnosis "
    "diagnose diagnostic diagnostico disease illness krankheit maladie icd condition symptom "
    "treatment therapy therapie medication drug result befund score charge charges cost costs "
    "kosten cout amount betrag montant importe price balance saldo solde debt loan credit kredit "
    "tax steuer profit loss gain capital revenue turnover umsatz sales asset assets injury "
    "severity hours religion crime offence hiv blood blutdruck cholesterol glucose bmi rating "
    "satisfaction stay expense spending pension rent miete claim claims schaden premium grade "
    "mark marks vote"
)
_CODES = (
    "zip plz postal postcode postleitzahl zipcode code cap icd naics nace isco fips status type "
    "class sex gender geschlecht sexe sexo race ethnic ethnicity region state marital "
    "familienstand religion nationality country department abteilung"
)
_LONG = 6
_NO_COMPOUNDS = ("discharge", "discharged", "discharges")  # of what they seem to have in them


def drop_accents(text: str) -> str:
    """The text with the letters below its accents alone."""
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(c for c in plain if not unicodedata.combining(c))


def split_name(name: str) -> tuple[str, ...]:
    """Words of a column's name: small letters without accents, cut at marks and capitals."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[a-zA-Z])(?=\d)", " ", name)
    return tuple(re.findall(r"[a-z]+", drop_accents(spaced).lower()))


def find_word(name: str, words: str) -> str | None:
    """Return the word of a list that a column's name has, alone or within a compound."""
    known = words.split()
    parts = split_name(name)
    joined = ("".join(parts),) if len(parts) < 3 else ()  # first_name
    whole: str | None = next((p for p in (*parts, *joined) if p in known), None)
    if whole is not None:
        return whole
    compounds = [part for part in parts if part not in _NO_COMPOUNDS]
    return next((w for p in compounds for w in known if len(w) >= _LONG and w in p), None)


def weighs_records(name: str) -> bool:
    """Return whether a column's name says that it weighs the records of a sample."""
    parts = set(split_name(name))
    of_records = bool(parts & set(_WEIGHTS.split())) and bool(parts & set(_OF_RECORDS.split()))
    return of_records or find_word(name, WEIGHT) is not None


def is_code(name: str) -> bool:
    """Return whether a name says that numbers are codes, between which no arithmetic has sense."""
    return find_word(name, _CODES) is not None
