"""Rows of tables on persons with several records, over all of their classes: internal figures."""

from tclose.model.counted_words import count_words
from tclose.releases.manifest.internal_manifest import PersonTracesSection


def trace_rows(traces: PersonTracesSection | None) -> list[tuple[str, str]]:
    """Tabulate what the classes of persons tell of them; none where each is in one class.

    Where all records of a person are in one class, it is told to whoever knows how many she has.
    """
    if traces is None or not (traces.below_k or traces.in_several_classes):
        return []
    if traces.by_classes is None:
        title = "by all classes of a person"
        several = (
            f"{count_words(traces.in_several_classes, 'person is', 'persons are')} in several; "
        )
    else:
        title, several = "by class and number of records", ""
    alone = count_words(traces.alone, "person")
    found = f"{several}{alone} alone, {traces.below_k:,} among fewer than k"
    rows = [(title, f"{found}: measured, not held")]
    for name, n_persons in traces.one_value_left.items():
        rows.append((f"  one {name} left", f"{count_words(n_persons, 'person')}, if it lasts"))
    return rows
