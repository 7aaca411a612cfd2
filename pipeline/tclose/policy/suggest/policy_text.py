"""The text of a drafted policy: YAML with comments, to be read and confirmed by somebody."""

import json
import re
from shlex import quote

from tclose.data.files.character_sets import UTF8
from tclose.data.files.text_formats import TextFormat
from tclose.model.column_terms import Kind, Role
from tclose.policy.sections.about_settings import AboutSettings
from tclose.policy.suggest.draft_policy import Draft
from tclose.policy.suggest.suggest_roles import Suggestion, suggest_centre, suggest_prefixes
from tclose.policy.yaml_values import quote_yaml

SCHEMA_NAME = "tclose.schema.json"
_PLAIN = re.compile(r"[A-Za-z_][\w.-]*( [\w.-]+)*")
_RESERVED = re.compile(r"(?i:null|true|false)")
_LONGEST_KEY = 1024  # that YAML takes before a colon
_WIDTH = 60  # of what is before a comment
_HEADINGS = {
    Role.IDENTIFIER: "Identifiers are never read and never released.",
    Role.QUASI_IDENTIFIER: "Quasi-identifiers may be known to others: a class shares one value.",
    Role.CONFIDENTIAL: "Confidential values are released as they are, each class like the table.",
}

# Keys without a value are as good as none, so what is not filled in need not be taken out.
_ABOUT = (
    "# For people who get the release: fill in, and take the # of these lines away.",
    "# about:",
    *(f"#   {key}:" for key in AboutSettings.model_fields),
)


def write_text(draft: Draft, file: str) -> str:
    """Return the policy of a draft as the text of a file of that name."""
    lines = [*_head(draft, file), *_input(draft), "unlisted: error", *_unconfirmed(draft)]
    lines.append("attributes:")
    for role, heading in _HEADINGS.items():
        columns = draft.of_role(role)
        if columns:
            lines += [f"  # {heading}", *(_attribute(draft, s) for s in columns)]
    lines += [*_rest(draft), *_ABOUT]
    return "\n".join(lines) + "\n"


def quote_name(text: str) -> str:
    """Write a text so that YAML reads it as itself."""
    if _PLAIN.fullmatch(text) and not _RESERVED.fullmatch(text):
        return text
    return quote_yaml(text)


def _head(draft: Draft, file: str) -> list[str]:
    lines = [
        f"# yaml-language-server: $schema={SCHEMA_NAME}",
        f"# Suggested by `tclose init` from {draft.sample.statement}. A run refuses it as it is:",
        "#   1. read the role of every column, and correct what is wrong;",
        "#   2. delete the lines of `unconfirmed` that are right;",
        f"#   3. tclose plan {quote(file)}, then tclose run {quote(file)}",
    ]
    if draft.notes:
        lines += ["# Look at:", *(f"#   - {_one_line(note)}" for note in draft.notes)]
    return [*lines, f"name: {quote_name(draft.name)}"]


def _one_line(text: str) -> str:
    """A comment ends with its line, whatever a column is called."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _input(draft: Draft) -> list[str]:
    lines = ["input:", f"  path: {quote_yaml(draft.sample.path)}"]
    dialect, general = draft.sample.dialect, draft.spellings.general
    if dialect is None:
        return lines
    if dialect.encoding != UTF8:
        lines.append(f"  encoding: {dialect.encoding}")
    if dialect.delimiter != ",":
        lines.append(f"  delimiter: {json.dumps(dialect.delimiter)}")
    lines += [f"  {key}: {value}" for key, value in _spelling_keys(general, TextFormat()).items()]
    if draft.spellings.tokens:
        tokens = ", ".join(quote_yaml(t) for t in draft.spellings.tokens)
        lines.append(f"  missing_values: [{tokens}]")
    return lines


def _spelling_keys(spelled: TextFormat, general: TextFormat) -> dict[str, str]:
    keys = {}
    if spelled.decimal != general.decimal:
        keys["decimal"] = json.dumps(spelled.decimal)
    if spelled.thousands not in (None, general.thousands):
        keys["thousands"] = json.dumps(spelled.thousands)
    if spelled.date_format not in (None, general.date_format):
        keys["date_format"] = json.dumps(spelled.date_format)
    return keys


def _unconfirmed(draft: Draft) -> list[str]:
    lines = ["unconfirmed:"]
    for role in _HEADINGS:
        names = ", ".join(quote_name(s.profile.name) for s in draft.of_role(role))
        lines += [f"  {role}: [{names}]"] if names else []
    return lines


def _attribute(draft: Draft, suggestion: Suggestion) -> str:
    profile = suggestion.profile
    kind = draft.kind_of(suggestion)
    value: str = suggestion.role.value
    if suggestion.role is not Role.IDENTIFIER and kind is not None:
        keys = {"role": value, "type": kind.value}
        if kind is Kind.ORDINAL:
            order = ", ".join(quote_yaml(v) for v in draft.orders[profile.name])
            keys["order"] = f"[{order}]"
        if kind in (Kind.NUMERIC, Kind.DATE):
            own = _spelling_keys(profile.text_format, draft.spellings.general)
            names = ("date_format",) if kind is Kind.DATE else ("decimal", "thousands")
            keys |= {key: own[key] for key in names if key in own}
        prefixes = suggest_prefixes(suggestion)
        if kind is Kind.NOMINAL and prefixes:
            keys["prefixes"] = f"[{', '.join(map(str, prefixes))}]"
        if (centre := suggest_centre(suggestion, kind)) is not None:
            keys["missing"] = centre
        value = f"{{{', '.join(f'{key}: {text}' for key, text in keys.items())}}}"
    line = f"  {_open_entry(profile.name)} {value}"
    return f"{line:<{_WIDTH}}  # {_one_line(_describe(suggestion, kind))}"


def _open_entry(name: str) -> str:
    """The key of a column and its colon; a long one on a line of its own, as YAML asks for."""
    key = quote_name(name)
    return f"{key}:" if len(key) <= _LONGEST_KEY else f"? {key}\n  :"


def _describe(suggestion: Suggestion, kind: Kind | None) -> str:
    profile = suggestion.profile
    if profile.kind is None:
        return suggestion.reason
    facts = [f"{profile.n_distinct:,} distinct"]
    if profile.is_padded:
        facts.append("digits that begin with 0: codes")
    elif profile.kind is Kind.NOMINAL and profile.is_integer:
        facts.append("numbers taken for codes")
    if profile.missing:
        gaps = f"{max(profile.missing, 0.001):.1%} missing"
        if (centre := suggest_centre(suggestion, kind)) is not None:
            gaps += f": few, so they get the {centre} and the records stay"
        facts.append(gaps)
    return f"{suggestion.reason}; {', '.join(facts)}"


def _rest(draft: Draft) -> list[str]:
    privacy = "privacy: {k: 5, t: 0.2}" if draft.of_role(Role.CONFIDENTIAL) else "privacy: {k: 5}"
    lines = [f"{privacy:<{_WIDTH}}  # smaller t, larger k: safer, and less exact"]
    if draft.dropped:
        share = (
            f"{max(draft.dropped, 0.001):.1%} of the sampled records have a gap and are left out"
        )
        lines.append(f"{'missing: drop':<{_WIDTH}}  # {share}")
    return lines
