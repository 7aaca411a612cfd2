"""Clauses of two texts by which de-identified data are judged, and what a release shows of each.

ISO/IEC 27559:2022, *Privacy enhancing data de-identification framework*, and Opinion 05/2014 of the
Article 29 Working Party on anonymisation techniques. The words are our own. What no program can see
is left to whoever signs.
"""

from tclose.model.counted_words import count_words
from tclose.releases.manifest.inside_sections import describe_found
from tclose.releases.manifest.internal_manifest import InternalManifest
from tclose.releases.manifest.privacy_sections import format_parameters

_OPEN = "To be filled in by whoever signs."
Row = tuple[str, str, str]
# Of ISO/IEC 27559: the clause, and what is asked.
_CLAUSES = (
    ("6, context", "who gets the data, under which terms, and what else they know"),
    ("7, data", "which columns single out, link or are to be protected"),
    ("7, threats", "which attacks are assumed"),
    (
        "8, identifiability",
        "how likely persons are identified, against a threshold set before",
    ),
    ("8, mitigation", "what was done to get below it, and what it cost"),
    ("9, governance before", "who decided, by which policy, with which records kept"),
    ("9, governance after", "how later releases, incidents and new knowledge are watched"),
)


def list_clauses(manifest: InternalManifest) -> list[Row]:
    """Clauses of ISO/IEC 27559: the clause, what is asked, and what is known of this release."""
    roles = [f"{n} {role}" for role, n in _count_roles(manifest).items()]
    k = manifest.privacy.k
    limits = [f"k {k.asked}"]
    limits += [f"t of {name} {t.asked:g}" for name, t in manifest.privacy.limits().items()]
    models = [
        f"{m.name} of {m.attribute} ({format_parameters(m.asked)})"
        for m in manifest.privacy.models or ()
    ]
    known = (
        _OPEN,
        (
            f"Roles in the policy: {', '.join(roles)}. Identifiers and columns that the policy "
            "does not name are never read."
        ),
        (
            "An intruder who knows all quasi-identifiers of everybody and who is in the data. "
            "Knowledge of columns declared non-confidential is not covered."
        ),
        f"Thresholds: {', '.join(limits + models)}; reached figures and risks are above.",
        (
            f"Method {manifest.method}; information loss {manifest.information_loss.total:.3g}; "
            "verified on the files before publication."
        ),
        "Policy, plan, versions and digests are sealed in internal/. Decision: see signature.",
        f"{_name_others(manifest)} Review date: {_OPEN.lower()}",
    )
    return [(*clause, answer) for clause, answer in zip(_CLAUSES, known, strict=True)]


def list_indicators(manifest: InternalManifest) -> list[Row]:
    """The three questions of Opinion 05/2014, and what this release answers."""
    k, counted = manifest.privacy.reached(), manifest.privacy.counted or "records"
    t = [f"{name} {result.largest_emd:.3g}" for name, result in manifest.privacy.limits().items()]
    inferred = (
        f"Every class is within t of the table, at most: {', '.join(t)}. What the whole table "
        "shows can be inferred of everybody."
        if t
        else "No class is held to a t; see noise and models in the manifest."
    )
    shown = {
        name: attacks.homogeneity.records
        for name, attacks in (manifest.risk.attributes if manifest.risk is not None else {}).items()
        if attacks.homogeneity.records
    }
    if shown:
        of_columns = ", ".join(
            f"{name} of {count_words(n, 'record')} ({100 * n / manifest.records:.3g} %)"
            for name, n in shown.items()
        )
        inferred += f" Classes with one value alone show it to whoever finds them: {of_columns}."
    return [
        (
            "Singling out",
            "can one record be told from all others?",
            (
                f"Not by quasi-identifiers: every record shares them with those of {k - 1:,} "
                f"other {counted} at least. Confidential and non-confidential values are released "
                "record by record, and a rare one is one record's."
            ),
        ),
        (
            "Linkability",
            "can records of one person be linked, here or with other data?",
            (
                f"By quasi-identifiers to a class of at least {k:,} {counted}, not to a record. "
                f"{_name_others(manifest)}"
            ),
        ),
        ("Inference", "can a value be deduced with high probability?", inferred),
    ]


def _count_roles(manifest: InternalManifest) -> dict[str, int]:
    policy = manifest.policy or {}
    attributes = policy.get("attributes")
    counts: dict[str, int] = {}
    for settings in attributes.values() if isinstance(attributes, dict) else ():
        role = str(settings.get("role")) if isinstance(settings, dict) else "unknown"
        counts[role] = counts.get(role, 0) + 1
    return counts


def _name_others(manifest: InternalManifest) -> str:
    if manifest.over_time is not None:
        held = manifest.over_time
        groups = ""
        if held.departures == "unite" and held.smallest_leaver_group:
            groups = (
                f" Classes were united, so that {held.smallest_leaver_group:,} or more left each "
                "set of classes; the others are found where values last and are rare."
            )
        forgotten = ""
        if held.forgotten:
            forgotten = f" Left out as they were forgotten on request: {held.forgotten:,}."
        if held.stale:
            forgotten += (
                f" Records of others who left, held with their last values: {held.stale:,}, for up "
                f"to {count_words(held.stalest, 'release')}."
            )
        return (
            f"Release {held.number:,} of series {held.series}: "
            f"{count_words(len(held.releases), 'earlier one is', 'earlier ones are')} "
            f"held together with it, in cells of {held.smallest_cell:,} persons at least; "
            f"{held.leavers_exposed:,} of {held.leavers:,} who left "
            f"{'is' if held.leavers_exposed == 1 else 'are'} {describe_found(held.departures)}."
            f"{groups}{forgotten}"
        )
    if not manifest.same_input:
        return "No other release of the same input files is in the output folder."
    named = ", ".join(other.release for other in manifest.same_input)
    return f"Other releases of the same input files, which must not be laid beside it: {named}."
