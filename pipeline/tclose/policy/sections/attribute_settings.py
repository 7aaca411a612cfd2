"""The ``attributes`` section of a policy: what a column is, and how it is treated."""

from fractions import Fraction
from typing import Any

from pydantic import GetJsonSchemaHandler, PrivateAttr, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tclose.data.files.input_settings import check_marks
from tclose.data.files.text_formats import TextFormat
from tclose.data.preparation.check_preparation import check_preparation
from tclose.model.attributes import ANCESTOR, LOW_MEDIAN, REPRESENTATIVE, Attribute, Noise
from tclose.model.column_terms import Distance, Kind, Role, Scale
from tclose.model.grouping import CALENDAR, GroupRule
from tclose.model.preparation import MISSING, Preparation
from tclose.policy.sections.attribute_fields import (
    AttributeFields,
    IntervalSettings,
    NoiseSettings,
    PercentileSettings,
)


class AttributeSettings(AttributeFields):
    """The role of one column and its treatment."""

    _has_bands: bool = PrivateAttr(default=False)

    @model_validator(mode="before")
    @classmethod
    def _expand_role(cls, value: object) -> object:
        return {"role": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Say that an attribute may be its role alone."""
        full = handler.resolve_ref_schema(handler(schema))
        return {"title": "Attribute", "anyOf": [full["properties"]["role"], full]}

    @model_validator(mode="after")
    def _check_consistency(self) -> "AttributeSettings":
        if self.role is Role.PERSON and self.model_fields_set != {"role"}:
            raise ValueError(
                "role: person takes no other key; values that are equal are one person"
            )
        if not self.persistent and self.role is not Role.CONFIDENTIAL:
            raise ValueError("persistent belongs to confidential attributes only")
        if self.t is not None and self.role is not Role.CONFIDENTIAL:
            raise ValueError("t belongs to confidential attributes only")
        if self.noise is not None and self.role is not Role.CONFIDENTIAL:
            raise ValueError("noise belongs to confidential attributes only")
        if self.noise is not None and self.t is not None:
            raise ValueError("noise gives a t of its own; take t out")
        if self.noise is not None and (self.distance or self.taxonomy or self.subsets_by):
            raise ValueError(
                "noise: no class is held to a distance of such values; take distance, taxonomy and "
                "subsets_by out"
            )
        if self.role is not Role.QUASI_IDENTIFIER and (self.aggregate or self.round is False):
            raise ValueError("aggregate and round: false belong to quasi-identifiers only")
        self._check_scale()
        self._check_numbers()
        self._check_missing()
        self._check_formats()
        self._check_grouping()
        self._check_intervals()
        self._check_order()
        self._check_distance()
        self._check_aggregate()
        return self

    def resolve(self, name: str, limit: Fraction) -> Attribute:
        """The attribute as a value; ``limit``: the t that holds where it has none of its own."""
        demanded = limit if self.t is None else Fraction(str(self.t))
        confidential = self.role is Role.CONFIDENTIAL and self.noise is None
        return Attribute(
            name=name,
            role=self.role,
            kind=Kind.NOMINAL if self._is_nominal else self.type or self._spelled_kind,
            order=tuple(str(value) for value in self.order or ()),
            max_emd=demanded if confidential else None,
            aggregate=self.aggregate,
            rounded=self.round is not False,
            distance=self.distance,
            taxonomy=self.taxonomy or (),
            by_frequency=self.subsets_by == "frequency",
            intervals=_interval_texts(self.intervals),
            noise=_exact_noise(self.noise),
            persistent=self.persistent,
            scale=None if self.scale is None else Scale(self.scale),
            weight=self.weight,
            preparation=self._prepare(),
            grouping=self._group(),
            has_bands=self._has_bands,
        )

    def _group(self) -> GroupRule | None:
        """Return the rule that makes a taxonomy of the values; None where no key asks for one."""
        if not (self.prefixes or self.calendar):
            return None
        calendar = tuple(part for part in CALENDAR if part in self.calendar)
        return GroupRule(tuple(sorted(self.prefixes)), calendar)

    def _prepare(self) -> Preparation | None:
        """Return what is done to the values as they are read; None where nothing is."""
        bottom, top = _exact_bound(self.bottom), _exact_bound(self.top)
        preparation = Preparation(
            bottom=bottom[0],
            top=top[0],
            step=None if isinstance(self.round, bool) else Fraction(str(self.round)),
            bands=tuple(Fraction(str(end)) for end in self.bands),
            fills=self.missing == "category",
            imputes=self._imputed_centre,
            bottom_percentile=bottom[1],
            top_percentile=top[1],
        )
        return None if preparation == Preparation() else preparation

    def after_preparation(self) -> "AttributeSettings":
        """The settings for the same values once they are prepared."""
        prepared = self._prepare()
        if prepared is None:
            return self
        changes: dict[str, Any] = {"bottom": None, "top": None, "bands": ()}
        if not prepared.by_class:  # whose gaps are still there
            changes["missing"] = None
        if not isinstance(self.round, bool):
            changes["round"] = True
        if prepared.bands:
            changes |= {"type": Kind.ORDINAL, "order": prepared.labels}
        elif prepared.fills and self.type is None and not self.taxonomy:
            changes["type"] = Kind.NOMINAL
        settings = self.model_copy(update=changes)
        settings._has_bands = bool(prepared.bands)  # noqa: SLF001 (of its own class)
        return settings

    @property
    def _imputed_centre(self) -> str | None:
        return None if self.missing == "category" else self.missing

    @property
    def _is_nominal(self) -> bool:
        """True if values are names: persons are as they are spelled, and 07 is not 7."""
        return bool(self.taxonomy or self.prefixes) or self.role is Role.PERSON

    @property
    def _spelled_kind(self) -> Kind | None:
        """The kind whose spelling or preparation is given."""
        if self.date_format is not None or self.calendar:
            return Kind.DATE
        if self._prepares_numbers or self.decimal is not None or self.thousands is not None:
            return Kind.NUMERIC
        return Kind.NOMINAL if self.missing == "category" else None

    @property
    def _prepares_numbers(self) -> bool:
        is_rounded = not isinstance(self.round, bool)
        return is_rounded or bool(self.bands) or self.bottom is not None or self.top is not None

    def text_format(self, general: TextFormat) -> TextFormat:
        """The spelling of the column's CSV texts; ``general``: where it has none of its own."""
        if self.decimal is None and self.thousands is None:
            decimal, thousands = general.decimal, general.thousands
        else:
            decimal, thousands = self.decimal or general.decimal, self.thousands
        return TextFormat(decimal, thousands, self.date_format or general.date_format)

    def _check_numbers(self) -> None:
        """Refuse to prepare what are no numbers, or to prepare them in two ways."""
        if not self._prepares_numbers:
            return
        if self.role not in (Role.CONFIDENTIAL, Role.NON_CONFIDENTIAL):
            raise ValueError(
                "round (a number), bottom, top and bands belong to confidential and "
                "non-confidential columns only"
            )
        if self.type not in (None, Kind.NUMERIC) or self.taxonomy or self.date_format:
            raise ValueError("round, bottom, top and bands go with type: numeric")
        if self.noise is not None:
            raise ValueError("noise has its own low, high and step; take the others out")
        prepared = self._prepare()
        assert prepared is not None
        check_preparation(prepared)

    def _check_missing(self) -> None:
        """Refuse a value for missing ones where classes have none, or it is none of the type's."""
        if self.missing is None:
            return
        if self.role is not Role.QUASI_IDENTIFIER:
            raise ValueError(f"missing: {self.missing} belongs to quasi-identifiers only")
        if self.calendar and self.missing != "category":
            raise ValueError(f"missing: {self.missing} does not go with a calendar")
        kind = Kind.NOMINAL if self.taxonomy or self.prefixes else self.type or self._spelled_kind
        if self.missing == "median" and kind in (Kind.NOMINAL, Kind.BOOLEAN):
            raise ValueError("missing: median goes with type: numeric, date or ordinal; say mode")
        if self.missing == "mode" and kind in (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL):
            raise ValueError("missing: mode goes with type: nominal or boolean; say median")
        if self.missing == "category":
            self._check_category()

    def _check_category(self) -> None:
        if self.type not in (None, Kind.NOMINAL, Kind.ORDINAL) or self._spelled_kind is Kind.DATE:
            raise ValueError("missing: category goes with type: nominal or ordinal")
        if self.type is Kind.ORDINAL and MISSING not in map(str, self.order or ()):
            raise ValueError(
                f"missing: category needs a place in the order; put '{MISSING}' into it"
            )

    def _check_formats(self) -> None:
        """Refuse the spelling of what the column is not."""
        kind = self._spelled_kind
        if kind is None or not (self.date_format or self.decimal or self.thousands):
            return
        keys = "date_format" if kind is Kind.DATE else "decimal and thousands"
        if self.date_format is not None and (self.decimal or self.thousands):
            raise ValueError("date_format goes with dates, decimal and thousands with numbers")
        if self.type not in (None, kind) or self.taxonomy:
            raise ValueError(f"{keys} of a column goes with type: {kind}")
        if self.decimal is not None:
            check_marks(self.decimal, self.thousands)

    def _check_grouping(self) -> None:
        """Refuse groups of what is no code or date, and a second taxonomy beside them."""
        for key, groups, kind in (
            ("prefixes", self.prefixes, Kind.NOMINAL),
            ("calendar", self.calendar, Kind.DATE),
        ):
            if not groups:
                continue
            if self.role is not Role.QUASI_IDENTIFIER:
                raise ValueError(f"{key} belongs to quasi-identifiers only")
            if self.type not in (None, kind) or self._spelled_kind not in (None, kind):
                raise ValueError(f"{key} goes with type: {kind}")
            if self.taxonomy or self.intervals or (self.prefixes and self.calendar):
                raise ValueError(f"{key} makes a taxonomy of its own; take the others out")
            if len(set(groups)) != len(groups):
                raise ValueError(f"{key} names a group twice")
            if self.aggregate not in (None, "mode", REPRESENTATIVE, ANCESTOR):
                raise ValueError(f"{key}: aggregate can be {ANCESTOR}, mode or {REPRESENTATIVE}")

    def _check_scale(self) -> None:
        if self.role is not Role.QUASI_IDENTIFIER and (self.scale or self.weight != 1):
            raise ValueError("scale and weight belong to quasi-identifiers only")
        is_grouped = bool(self.taxonomy or self.prefixes or self.calendar)
        if self.scale and (is_grouped or self.type in (Kind.NOMINAL, Kind.BOOLEAN)):
            raise ValueError("scale goes with values that have an order: numeric, date or ordinal")

    def _check_intervals(self) -> None:
        if self.intervals is None:
            return
        if self.role is not Role.QUASI_IDENTIFIER:
            raise ValueError("intervals belong to quasi-identifiers only")
        if self.taxonomy:
            raise ValueError("intervals go with numbers, a taxonomy with names; take one of them")
        if self.type not in (None, Kind.NUMERIC):
            raise ValueError("intervals go with type: numeric")

    def _check_distance(self) -> None:
        if self.role is not Role.CONFIDENTIAL and (self.distance or self.subsets_by):
            raise ValueError("distance and subsets_by belong to confidential attributes only")
        if self.taxonomy and self.type not in (None, Kind.NOMINAL):
            raise ValueError("taxonomy goes with type: nominal")
        if self.taxonomy and self.role not in (Role.CONFIDENTIAL, Role.QUASI_IDENTIFIER):
            raise ValueError("taxonomy belongs to quasi-identifiers and confidential attributes")
        if self.distance is Distance.HIERARCHICAL and not self.taxonomy:
            raise ValueError("distance: hierarchical needs a taxonomy")
        if self.subsets_by == "taxonomy" and not self.taxonomy:
            raise ValueError("subsets_by: taxonomy needs a taxonomy")
        if self.distance is Distance.ORDERED and self.type is Kind.NOMINAL:
            raise ValueError("distance: ordered does not go with type: nominal")

    def _check_order(self) -> None:
        if self.type is Kind.ORDINAL and not self.order:
            raise ValueError("type: ordinal needs order: [lowest, ..., highest]")
        if self.order is not None and self.type is not Kind.ORDINAL:
            raise ValueError("order goes with type: ordinal")
        texts = [str(value) for value in self.order or ()]
        if len(set(texts)) != len(texts):
            raise ValueError("order names a value twice")

    def _check_aggregate(self) -> None:
        if self.aggregate == ANCESTOR and not (self.taxonomy or self.prefixes or self.calendar):
            raise ValueError("aggregate: ancestor needs a taxonomy, prefixes or a calendar")
        if self.aggregate is None or self.type is None or self.calendar:
            return
        allowed = AGGREGATES[self.type]
        if self.aggregate not in allowed:
            raise ValueError(f"aggregate of type {self.type} can be {' or '.join(allowed)}")


AGGREGATES: dict[Kind, tuple[str, ...]] = {
    Kind.NUMERIC: ("mean", "median", LOW_MEDIAN),
    Kind.DATE: ("mean", "median", LOW_MEDIAN),
    Kind.ORDINAL: ("median", REPRESENTATIVE),
    Kind.BOOLEAN: ("mode", REPRESENTATIVE),
    Kind.NOMINAL: ("mode", REPRESENTATIVE, ANCESTOR),
}


def _exact_bound(
    bound: int | float | PercentileSettings | None,
) -> tuple[Fraction | None, Fraction | None]:
    """A bound, or the percentile that it will be, as they were written: 0.1 is a tenth."""
    if isinstance(bound, PercentileSettings):
        return None, Fraction(str(bound.percentile))
    return (None if bound is None else Fraction(str(bound))), None


def _interval_texts(settings: IntervalSettings | None) -> tuple[tuple[str, ...], str] | None:
    """Widths and origin as they were written, 0.1 a tenth."""
    return (
        None if settings is None else (tuple(str(w) for w in settings.widths), str(settings.origin))
    )


def _exact_noise(settings: NoiseSettings | None) -> Noise | None:
    """Numbers as they were written, 0.1 a tenth."""
    if settings is None:
        return None
    low, high = (
        None if end is None else Fraction(str(end)) for end in (settings.low, settings.high)
    )
    return Noise(
        Fraction(str(settings.epsilon)),
        low,
        high,
        Fraction(str(settings.step)),
        tuple(settings.values),
    )
