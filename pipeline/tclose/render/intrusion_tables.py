"""Results of a motivated intruder, as a table."""

from tclose.releases.manifest.inside_sections import IntrusionAttack, IntrusionSection
from tclose.releases.report.intrusion_report import list_figures
from tclose.render.text_tables import align_rows, render_table

_HEAD = ("attack", "succeed", "on hold-out", "at random", "risk", "95 %")


def report_intrusion(intrusion: IntrusionSection) -> str:
    """Tell how often each attack succeeds, and what the release adds to it."""
    head = [
        ("library", intrusion.library),
        ("originals", f"{intrusion.records:,} records"),
        ("hold-out", f"{intrusion.held_out:,} records; like an original one: {intrusion.alike:,}"),
        *(("not attacked", name) for name in intrusion.left_out),
    ]
    rows = [_HEAD, *((_name(attack), *list_figures(attack)) for attack in intrusion.attacks)]
    width = max(len(row[0]) for row in rows)
    padded = [(f"  {row[0]:<{width}}", *row[1:]) for row in rows]
    note = (
        "risk: what the release adds to what its records and the hold-out have in common; the "
        "figures are of the original records: keep them inside"
    )
    return "\n\n".join([render_table(head), "\n".join(align_rows(padded, to_right=True)), note])


def _name(attack: IntrusionAttack) -> str:
    known = _shorten(attack.known)
    if attack.kind == "linkability":
        return f"linkability: {known} with {_shorten(attack.secret)}"
    if attack.kind == "inference":
        return f"inference of {attack.secret[0]}: from {known}"
    n_columns = "one column" if attack.kind == "singling-out-univariate" else "several columns"
    return f"singling out by {n_columns} of: {known} ({attack.predicates or 0:,} predicates)"


def _shorten(names: list[str]) -> str:
    return ", ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more"
