"""The transformation of each released column, as manifests and documents state it."""

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from tclose.data.keys import Encoding, plain_type
from tclose.methods.generalisation.full_domain import describe_level, height_of
from tclose.model.attributes import ANCESTOR, LOW_MEDIAN, REPRESENTATIVE, Column, Noise
from tclose.model.column_terms import Distance, Kind, Role
from tclose.model.grouping import GroupRule
from tclose.model.preparation import Preparation, exact_number, write_number
from tclose.passes.microaggregate.shares.representatives import MORE_LOSS
from tclose.passes.plan.describe_plan import describe_scale
from tclose.passes.plan.plan import Plan
from tclose.releases.manifest.sections import PreparedColumn, ReleasedColumn

Levels = Sequence[tuple[int, ...]]
Keys = dict[str, object]  # of a released column


def describe_columns(plan: Plan, levels: Levels = ()) -> list[ReleasedColumn]:
    """Each released column: what it is, its type, and how it was treated.

    Parameters
    ----------
    levels : of full-domain generalisation, of each release partition those of its quasi-identifiers
    """
    by_name: dict[str, Encoding] = {
        e.column.name: e for e in (*plan.encodings, *plan.confidential, *plan.partition_columns)
    }
    passthrough = {column.name: column for column in plan.passthrough}
    return [
        _describe_encoded(by_name[name], plan, levels)
        if name in by_name
        else _describe_passthrough(passthrough[name])
        for name in plan.released
    ]


def _describe_passthrough(column: Column) -> ReleasedColumn:
    noise = column.attribute.noise
    treatment = "as it is" if noise is None else _describe_noise(noise, column)
    treated: Keys = {"treatment": treatment} | ({} if noise is None else {"noised": True})
    if column.kind is Kind.ORDINAL and column.attribute.preparation is not None:
        treated["order"] = list(column.attribute.order)
    return _describe(column, plain_type(column.type), treated)


def _describe(column: Column, dtype: pa.DataType, treated: Keys) -> ReleasedColumn:
    prepared = column.attribute.preparation
    if prepared is not None:
        treatment = (
            f"before anything was measured: {prepared.describe()}; then {treated['treatment']}"
        )
        if prepared.by_class:
            treatment = f"{treated['treatment']}; {prepared.describe()}"
        treated = treated | {"treatment": treatment, "prepared": _describe_preparation(prepared)}
    keys: Keys = {"name": column.name, "role": column.role, "kind": column.kind, "type": str(dtype)}
    return ReleasedColumn.model_validate(keys | treated)


def _describe_preparation(prepared: Preparation) -> PreparedColumn:
    """Describe in numbers what was done as values were read."""
    bounds = {"bottom": prepared.bottom, "top": prepared.top, "multiples_of": prepared.step}
    bounds |= {
        "bottom_percentile": prepared.bottom_percentile,
        "top_percentile": prepared.top_percentile,
    }
    keys: Keys = {key: exact_number(number) for key, number in bounds.items() if number is not None}
    if prepared.bands:
        keys["bands"] = [exact_number(end) for end in prepared.bands]
    if prepared.fills:
        keys["missing"] = "category"
    if prepared.imputes is not None:
        keys["missing"] = prepared.imputes
        keys["imputed_percent"] = prepared.percent_imputed
    return PreparedColumn.model_validate(keys)


def _describe_noise(noise: Noise, column: Column) -> str:
    if noise.low is not None and noise.high is not None:
        ends = f"{write_number(noise.low)} to {write_number(noise.high)}"
        how = f"discrete Laplace, values from {ends} in steps of {write_number(noise.step)}"
    elif noise.values:
        how = f"randomised response among {len(noise.values)} listed values"
    else:
        how = f"discrete Laplace on the {len(column.attribute.order)} places of its order"
    return f"differentially private noise, epsilon {float(noise.epsilon):g}: {how}"


def _describe_encoded(encoding: Encoding, plan: Plan, levels: Levels) -> ReleasedColumn:
    column, entry = encoding.column, Keys()
    if encoding.generalised:
        index = plan.encodings.index(encoding)
        of_partitions = [of_partition[index] for of_partition in levels]
        by_level = plan.method.uses_intervals
        treatment = _describe_generalised(encoding, of_partitions, by_level)
        entry |= {"treatment": treatment, "generalised": True}
    elif column.role is Role.QUASI_IDENTIFIER:
        entry |= _describe_aggregate(encoding)
    elif encoding in plan.partition_columns:
        entry["treatment"] = "as it is; no class holds two of its values"
    else:
        entry |= _describe_confidential(plan)
    if column.role is Role.CONFIDENTIAL:
        entry["distance"] = column.distance
    if column.attribute.grouping is not None:  # its taxonomy would list the values of the table
        entry |= _describe_groups(column.attribute.grouping, str(entry["treatment"]))
    elif column.attribute.taxonomy:
        entry["taxonomy"] = [list(row) for row in column.attribute.taxonomy]
    if column.kind is Kind.ORDINAL:
        entry["order"] = list(column.attribute.order)
    return _describe(column, encoding.release_type, entry)


def _describe_groups(grouping: GroupRule, treatment: str) -> Keys:
    entry: Keys = {"treatment": f"{treatment}; values are {grouping.describe()}"}
    entry |= {"prefixes": list(grouping.prefixes)} if grouping.prefixes else {}
    return entry | ({"calendar": list(grouping.calendar)} if grouping.calendar else {})


def _describe_generalised(encoding: Encoding, levels: Sequence[int], by_level: bool) -> str:
    """Describe the generalised values; levels are the same everywhere or in each partition.

    ``by_level``: whether values are of levels, which a plan does not know yet.
    """
    if not levels and not by_level:
        cover = _describe_cover(encoding)
        return f"generalised class by class: {cover}; where all are equal, that one"
    height = height_of(encoding)
    if not levels:
        return f"full-domain generalisation to a level that is to be found, of 0 to {height}"
    descriptions = {
        level: f"level {level} of {height}: {describe_level(encoding, level)}" for level in levels
    }
    if len(descriptions) == 1:
        return f"full-domain generalisation to {descriptions[levels[0]]}"
    counted = sorted(Counter(levels).items())
    each = "; ".join(f"{descriptions[level]}, in {n} of {len(levels)}" for level, n in counted)
    return f"full-domain generalisation, in each partition to a level of its own: {each}"


def _describe_cover(encoding: Encoding) -> str:
    if not encoding.is_nominal:
        return "the interval from its smallest to its largest value"
    if encoding.column.attribute.taxonomy:
        return "the lowest node of the taxonomy above its values"
    return "the set of its values"


def _describe_confidential(plan: Plan) -> Keys:
    if plan.bucketing is None:
        return {"treatment": "as it is"}
    n_buckets = plan.bucketing.sizes.size
    if not plan.method.releases_buckets:
        return {
            "treatment": f"as it is; classes were made by its {n_buckets} buckets, and hold the "
            "ratio in these alone"
        }
    what = f"one of {n_buckets} buckets of neighbouring values, as equally common as ties allow"
    return {"treatment": f"bucket of its value: {what}", "bucketed": True}


def _describe_aggregate(encoding: Encoding) -> Keys:
    """Describe a class's aggregate, and its loss where that is not eq. (5)."""
    column, scale = encoding.column, describe_scale(encoding)
    names = {
        ANCESTOR: "lowest common ancestor",
        LOW_MEDIAN: "lower median",
        REPRESENTATIVE: "one value",
    }
    what = names.get(column.aggregate, column.aggregate)
    shares_note = ""
    if column.aggregate == REPRESENTATIVE:
        shares_note = ", chosen so that all values keep their shares"
        if column.attribute.aggregate is None:
            shares_note += f", as far as {MORE_LOSS:.0%} more loss allows"
    scale_note = f"; classes were made with {scale}" if scale else ""
    described: Keys = {"treatment": f"{what} of its class{shares_note}{scale_note}"}
    if column.attribute.taxonomy:
        described["distance"] = Distance.HIERARCHICAL
        described["loss"] = (
            "hierarchical distance: height of the lowest common ancestor of the original and the "
            "released value, divided by the height of the taxonomy"
        )
    return described
