"""A plan in plain text: what will be done with each column, what it costs, and why."""

from tclose.model.counted_words import count_words
from tclose.passes.series.series_verdict import DROP
from tclose.releases.manifest.plan_document import (
    CostEstimate,
    PlanDocument,
    PlannedColumn,
    PlannedLoss,
    PlannedPartition,
    PlannedPrice,
    PlannedSeries,
    PlannedSuppression,
)
from tclose.releases.manifest.privacy_sections import format_parameters
from tclose.render.release_tables import format_changed
from tclose.render.text_tables import render_table

_NOT_HERE = "person of the release before is not", "persons of the release before are not"


def report_plan(plan: PlanDocument, estimate: CostEstimate, n_dropped: int) -> str:
    """Report the plan and the reasons for it."""
    return render_table(plan_rows(plan, estimate, n_dropped))


def plan_rows(plan: PlanDocument, estimate: CostEstimate, n_dropped: int) -> list[tuple[str, str]]:
    """Tabulate a plan in two columns."""
    rows = [("feasible", _format_feasibility(plan)), ("records", f"{plan.records:,}")]
    if plan.published is not None:
        rows.append(("published already", _format_published(plan.published, plan.over_time)))
    if n_dropped:
        rows.append(("dropped", f"{n_dropped:,} with a missing value"))
    limits = ", ".join(f"{t:g} for {name}" for name, t in plan.t.items())
    rows.append(("asked", f"k = {plan.k}" + (f"; t = {limits}" if limits else "")))
    rows.append(("k counts", _format_counted(plan)))
    rows += [
        (f"  {model.name} of {model.attribute}", format_parameters(model.asked))
        for model in plan.models
    ]
    if plan.subsets_of is not None and plan.cut_by_subsets:
        rows.append(("subsets of", plan.subsets_of))
    rows.append(("method", plan.method))
    rows += [(f"scale of {name}", text) for name, text in plan.scales.items()]
    rows += [(f"imputed in {name}", text) for name, text in plan.imputed.items()]
    rows += _series_rows(plan.over_time)
    rows += _suppression_rows(plan.suppression)
    rows += [(f"column {one.name}", _format_column(one)) for one in plan.columns]
    rows += _loss_rows(plan.expected_loss)
    rows += [(f"warning {w.code}", f"{w.message}; {w.remedy}") for w in plan.warnings]
    for partition in plan.release_partitions:
        rows += _partition_rows(partition, plan.cut_by_subsets)
    rows += _cost_rows(estimate)
    rows.append(("plan digest", plan.digest))
    return rows


def _format_published(release: str, series: PlannedSeries | None) -> str:
    """The release that a run would find, and what a plan beside it is of."""
    of_what = "" if series is None else "; this plan is of one more release of the series"
    return f"{release}, of this input, policy and seed: a run finds it, and makes no other{of_what}"


def _cost_rows(estimate: CostEstimate) -> list[tuple[str, str]]:
    """Memory, disk and time, in all and by pass."""
    rows = [("expected memory", f"about {estimate.megabytes:,.0f} MB per worker")]
    if estimate.disk_megabytes is not None:
        disk = f"about {estimate.disk_megabytes:,.0f} MB, working files and the release"
        rows.append(("expected disk", disk))
    time = f"about {estimate.seconds:,.0f} s, {estimate.on}"
    if estimate.compile_seconds is not None:
        time += f", {estimate.compile_seconds:,.0f} s of it to compile the kernels"
    rows.append(("expected time", time))
    for step in estimate.steps:
        cost = f"about {step.seconds:,.1f} s, {step.megabytes:,.0f} MB per worker"
        rows.append((f"  {step.name}", cost))
    return rows


def _series_rows(series: PlannedSeries | None) -> list[tuple[str, str]]:
    """The room that classes have for persons who leave, and what those who left cost."""
    if series is None:
        return []
    closest = ", ".join(f"{t:g} for {name}" for name, t in series.made_t.items())
    room = (
        f"new classes of {series.made_k:,} persons within {closest}, if {series.churn:.1%} leave "
        f"from one release to the next; cells that fall below k = {series.k} then take "
        f"{series.expected_left_out:.2%} of the records, and {_format_classes_left(series)} are "
        f"left by 1 to {series.k - 1} persons each time"
    )
    rows = [("room over time", room)]
    if series.departures == DROP and series.expected_records_left is not None:
        dropped = (
            f"about {series.expected_records_left:.0%} of the records from one release to the "
            "next, which stay out for the window; releases that lack more than half are refused"
        )
        rows.append(("dropped over time", dropped))
    if series.earlier:
        cost = (
            f"{count_words(series.leavers, *_NOT_HERE)} in this one; "
            f"{count_words(series.classes_left, 'of its classes was', 'of its classes were')} left "
            f"by 1 to {series.k - 1} "
            f"({series.departures}); records left out: {series.left_out:,}"
        )
        rows.append(("who left", cost))
    if series.most_stale is not None:
        rows.append(("held", _format_held(series, series.most_stale)))
    if series.forgotten:
        rows.append(
            (
                "forgotten",
                f"{count_words(series.forgotten, 'record')} of persons who were, left out of these",
            )
        )
    return rows


def _format_classes_left(series: PlannedSeries) -> str:
    """Format how many classes are left by some: of a trial, or of the size they are made of."""
    share = f"{series.expected_classes_left:.0%}"
    if series.expected_records_left is None:
        return f"{share} of classes of {series.made_k:,}, and more of larger ones,"
    return f"{share} of the classes, with {series.expected_records_left:.0%} of the records,"


def _format_held(series: PlannedSeries, most: float) -> str:
    """Format the records of persons who left: those of this release, and those expected."""
    text = f"{count_words(series.stale, 'record')} of others who left, with their last values"
    if series.stale:
        text += f", for up to {count_words(series.stalest, 'release')}"
    text += f"; {most:.1%} of the records may be"
    if series.expected_stale is not None:
        text += f", and by the window's end about {series.expected_stale:.0%} are expected"
        if series.expected_stale > most:
            text += ": releases are refused before; allow more, or begin a new series by then"
    return text


def _suppression_rows(suppression: PlannedSuppression | None) -> list[tuple[str, str]]:
    """The price of leaving isolated records out, and what it is expected to buy."""
    if suppression is None:
        return []
    s = suppression
    summary = f"{s.left_out:,} of {s.of:,} records as isolated ones, of {s.most:,} that may be"
    if s.left_out:
        share = 1 - s.remaining
        summary += (
            f"; the mean squared distance to the nearest records of a class falls by {share:.0%} "
            f"(estimated from {s.sampled:,} records){_format_price(s.price)}"
        )
    else:
        summary += ": none are far from the others, or fewer than k"
    return [("left out", summary)]


def _format_price(price: PlannedPrice | None) -> str:
    """Format what kept records gain, by releases of a sample without and with the others."""
    if price is None:
        return "; by how much the loss changes was not tried"
    lost, whole = price.loss, price.loss_with_all
    said = "the others lose {} without and {} with these{}, in ranges of their own"
    if price.of_one_class:  # what searches lower; losses by ranges may go the other way
        lost, whole = (
            100 * sum(shares.values()) / len(shares)
            for shares in (price.of_one_class, price.of_one_class_with_all)
        )
        said = "the others lose {} % without and {} % with these{} of what one class of them loses"
    change = f" ({lost / whole - 1:+.0%})" if whole else ""
    return (
        f"; in releases of {price.sampled:,} records, beside {price.sampled_left_out:,} isolated "
        f"{'one' if price.sampled_left_out == 1 else 'ones'}, "
        f"{said.format(f'{lost:.3g}', f'{whole:.3g}', change)}: an estimate"
    )


def _format_column(column: PlannedColumn) -> str:
    """Role, type and format, distinct and missing values, treatment, loss."""
    kind = "" if column.kind is None else f", {column.kind} ({column.type})"
    parts = [f"{column.role}{kind}", *([column.format] if column.format else [])]
    if column.distinct is not None:
        among = column.distinct_among
        counted = f" among {among:,} records" if among is not None else ""
        parts.append(f"{column.distinct:,} distinct{counted}")
    if column.missing is not None:
        become = ", which become a category of their own" if column.missing_category else ""
        parts.append(f"{column.missing:,} missing{become}")
    parts.append(column.treatment)
    if column.expected_loss is not None:
        between = _format_between(column.expected_loss, column.loss_of_sample)
        share = column.of_one_class
        of_class = "" if share is None else f" ({100 * share:.3g} % of what one class loses)"
        parts.append(f"loss about {between}{of_class}")
    if column.shares is not None:
        parts.append(format_changed(column.shares))
    return "; ".join(parts)


def _loss_rows(loss: PlannedLoss | None) -> list[tuple[str, str]]:
    """The loss that is expected, and of how many records that is said."""
    if loss is None:
        return []
    if loss.total is None:
        return [("expected loss", f"not estimated: {loss.reason}")]
    is_whole = loss.sampled == loss.of
    among = "from all records" if is_whole else f"from {loss.sampled:,} of {loss.of:,} records"
    text = f"about {_format_between(loss.total, loss.of_sample)} (SSE per record and "
    text += f"quasi-identifier; estimated {among}"
    if loss.of_sample != loss.total:
        text += ", which lose the larger figure; with all records it may fall to the other"
    return [("expected loss", text + (", by a shorter search)" if loss.is_faster else ")"))]


def _format_between(low: float, high: float | None) -> str:
    """Format two figures; one where they are the same."""
    return f"{low:.3g}" if high is None or high == low else f"{low:.3g} to {high:.3g}"


def _format_counted(plan: PlanDocument) -> str:
    """Say what k counts; without a column of persons one of them may fill a class."""
    if plan.persons is None:
        return "records: the policy has no column with role person"
    persons = plan.persons
    mean = plan.records / persons.persons
    summary = (
        f"persons: {persons.persons:,} with {mean:.2f} records each on average, {persons.most:,} "
        f"at most; {count_words(persons.several, 'has', 'have')} several"
    )
    if (together := persons.together) is None:
        return summary
    return (
        f"{summary}; all records of a person are in one class: {together.class_persons:,} persons "
        f"or more with {together.class_records:,.1f} records on average, and a class of "
        f"{together.largest_class:,} records or more for whoever has most"
    )


def _format_feasibility(plan: PlanDocument) -> str:
    if not plan.verified_only:
        return "yes"
    return (
        f"perhaps: {plan.method} knows nothing of t and of further models, so whether its "
        "classes meet them is decided when they are verified"
    )


def _partition_rows(partition: PlannedPartition, cut_by_subsets: bool) -> list[tuple[str, str]]:
    explanation = partition.class_size_bound
    bound = [("  any class", explanation)] if explanation is not None else []
    if not cut_by_subsets:
        records = f"{partition.records:,} records, regions: {partition.regions}"
        return [(partition.name, records), *bound]
    sizes = " or ".join(f"{size:,}" for size in partition.subset_sizes)
    return [
        (
            partition.name,
            f"{partition.records:,} records, {partition.clusters:,} clusters",
        ),
        ("  class size", partition.class_size_why),
        *bound,
        ("  subsets", f"{partition.subsets} of {sizes} records"),
        ("  ties", f"values that straddle subsets: {partition.values_that_straddle_subsets}"),
        ("  blocks", f"{partition.blocks:,}; regions: {partition.regions}"),
    ]
