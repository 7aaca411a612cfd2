"""Values as JSON and back, by the types that their classes declare: nothing that is read can run.

A value is written by its declared type: dataclasses field by field, arrays as their dtype, shape
and bytes, other types as JSON has them or as text. Where a declaration leaves a type open (``Any``,
a union), the value's own type is written with it, and only types of a fixed list are read. So
whoever can write to the storage that workers share can damage a run, and cannot make it run code.

pydantic, which reads policies, has no types for arrays, Arrow schemas and values of an open type:
each would need a validator and a serialiser of its own, which are what this module consists of.
"""

import base64
import dataclasses
import functools
import json
import types
import typing
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

Form = tuple[Callable[[Any], Any], Callable[[Any], Any]]  # to JSON, from JSON
_MICROSECOND = timedelta(microseconds=1)


def encode(value: Any, declared: Any) -> bytes:
    """JSON of a value of a declared type."""
    return json.dumps(_form(declared)[0](value), separators=(",", ":")).encode()


def decode(data: bytes, declared: Any) -> Any:
    """The value that `encode` wrote.

    Raises
    ------
    ValueError
        The data are not a value of that type.
    """
    try:
        return _form(declared)[1](json.loads(data))
    except MemoryError:  # which an exception of pyarrow can be
        raise
    except (KeyError, TypeError, AttributeError, IndexError, pa.ArrowException, RecursionError):
        raise ValueError("not a value of the declared type") from None


def _checked(*classes: type) -> Form:
    def check(value: Any) -> Any:
        if type(value) not in classes:
            raise TypeError
        return value

    return check, check


def _write_array(array: np.ndarray) -> dict[str, Any]:
    if array.dtype.kind in "OU":
        texts = [_ANY[0](item) for item in array.ravel().tolist()]
        return {"dtype": array.dtype.str, "shape": array.shape, "items": texts}
    raw = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": _write_dtype(array.dtype), "shape": array.shape, "bytes": raw}


def _read_array(encoded: Mapping[str, Any]) -> np.ndarray:
    dtype = _read_dtype(encoded["dtype"])
    if dtype.kind in "OU":
        array = np.empty(len(encoded["items"]), dtype=dtype)
        array[:] = [_ANY[1](item) for item in encoded["items"]]
    else:
        array = np.frombuffer(base64.b64decode(encoded["bytes"]), dtype=dtype)
    array = array.reshape(encoded["shape"])
    array.setflags(write=False)
    return array


def _write_dtype(dtype: np.dtype) -> str | list[Any]:
    return dtype.str if dtype.names is None else dtype.descr


def _read_dtype(encoded: Any) -> np.dtype:
    return np.dtype(encoded if isinstance(encoded, str) else [tuple(field) for field in encoded])


def _write_type(arrow: pa.DataType) -> str:
    return _write_schema(pa.schema([("", arrow)]))


def _write_schema(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def _read_schema(encoded: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(encoded)))


def _write_values(array: pa.Array) -> str:
    batch = pa.record_batch([array], names=[""])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return base64.b64encode(sink.getvalue().to_pybytes()).decode()


def _read_values(encoded: str) -> pa.Array:
    return pa.ipc.open_stream(base64.b64decode(encoded)).read_next_batch().column(0)


# Types that are written as one text or number, by the name they have in JSON.
_PLAIN: dict[type, tuple[str, Form]] = {
    bytes: ("bytes", (lambda v: base64.b64encode(v).decode(), base64.b64decode)),
    Fraction: ("fraction", (str, Fraction)),
    Decimal: ("decimal", (str, Decimal)),
    datetime: ("datetime", (datetime.isoformat, datetime.fromisoformat)),
    date: ("date", (date.isoformat, date.fromisoformat)),
    time: ("time", (time.isoformat, time.fromisoformat)),
    timedelta: ("timedelta", (lambda v: v // _MICROSECOND, lambda v: v * _MICROSECOND)),
    np.dtype: ("dtype", (_write_dtype, _read_dtype)),
    pa.DataType: ("arrow", (_write_type, lambda v: _read_schema(v).field(0).type)),
    pa.Schema: ("schema", (_write_schema, _read_schema)),
    pa.Array: ("values", (_write_values, _read_values)),
    np.ndarray: ("array", (_write_array, _read_array)),
    Path: ("path", (str, Path)),
}
_BY_NAME = dict(_PLAIN.values())


def _write_any(value: Any) -> Any:
    """A value of an open type: JSON's own as they are, others as ``{"<type>": ...}``."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic):
        return _write_any(value.item())
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_write_any(item) for item in value]}
    if isinstance(value, Mapping):
        return {"dict": [[_write_any(k), _write_any(v)] for k, v in value.items()]}
    if isinstance(value, Enum):
        return _write_any(value.value)
    if hasattr(value, "as_unit"):  # what Arrow gives of moments and spans in nanoseconds
        return {
            "nanoseconds": [hasattr(value, "nanosecond"), value.as_unit("ns").value, _zone(value)]
        }
    for known, (name, form) in _PLAIN.items():
        if isinstance(value, known):
            return {name: form[0](value)}
    raise TypeError(f"no form for {type(value).__name__}")


def _zone(value: Any) -> str | None:
    zone = getattr(value, "tz", None)
    return None if zone is None else str(zone)


def _read_nanoseconds(encoded: tuple[bool, int, str | None]) -> Any:
    import pandas as pd

    is_moment, count, zone = encoded
    return pd.Timestamp(count, unit="ns", tz=zone) if is_moment else pd.Timedelta(count, unit="ns")


def _read_any(encoded: Any) -> Any:
    if not isinstance(encoded, dict):
        return encoded
    [(name, inner)] = encoded.items()
    if name in ("list", "tuple"):
        items = [_read_any(item) for item in inner]
        return tuple(items) if name == "tuple" else items
    if name == "nanoseconds":
        return _read_nanoseconds(inner)
    if name == "dict":
        return {_read_any(k): _read_any(v) for k, v in inner}
    return _BY_NAME[name][1](inner)


_ANY: Form = (_write_any, _read_any)


@functools.cache
def _form(declared: Any) -> Form:
    """Return the writer and the reader of a declared type's values."""
    declared = getattr(declared, "__value__", declared)
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if origin is typing.Annotated:
        return _form(arguments[0])
    if declared is Any or declared is object:
        return _ANY
    if declared is None or declared is type(None):
        return _checked(type(None))
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin is typing.Literal:
        return _checked(*{type(a) for a in arguments})
    if (origin or declared) in _PLAIN:
        return _PLAIN[origin or declared][1]
    if origin is not None:
        return _container(origin, arguments)
    return _class(declared)


def _union(members: tuple[Any, ...]) -> Form:
    """A value of one of several types: None as it is, others with the number of their type."""
    present = [m for m in members if m is not type(None)]
    if all(m in (bool, int, float, str) for m in present):
        return _checked(*members)
    classes = [typing.get_origin(m) or m for m in present]
    if len(set(classes)) < len(classes):  # arrays of several dtypes, which say what they are
        present, classes = present[:1], classes[:1]
    forms = [_form(m) for m in present]

    def write(value: Any) -> Any:
        if value is None and len(present) < len(members):
            return None
        number = next(i for i, c in enumerate(classes) if isinstance(value, c))
        return [number, forms[number][0](value)]

    return write, lambda f: None if f is None else forms[f[0]][1](f[1])


def _container(origin: Any, arguments: tuple[Any, ...]) -> Form:
    if origin is tuple and (len(arguments) != 2 or arguments[1] is not Ellipsis):
        forms = [_form(a) for a in arguments]
        return (
            lambda v: [w(i) for (w, _), i in zip(forms, v, strict=True)],
            lambda f: tuple(r(i) for (_, r), i in zip(forms, f, strict=True)),
        )
    if origin in (tuple, list, set, frozenset) or issubclass(origin, Sequence):
        write, read = _form(arguments[0])
        container = list if origin in (list, Sequence) else origin
        return lambda v: [write(i) for i in v], lambda f: container(read(i) for i in f)
    if issubclass(origin, Counter):
        arguments = (*arguments, int)
    if issubclass(origin, Mapping):
        container = origin if issubclass(origin, dict) else dict
        (key_in, key_out), (in_, out) = _form(arguments[0]), _form(arguments[1])
        return (
            lambda v: [[key_in(k), in_(i)] for k, i in v.items()],
            lambda f: container(dict((key_out(k), out(i)) for k, i in f)),  # noqa: C402 (a counter would count pairs)
        )
    raise TypeError(f"no form for {origin}")


def _class(declared: type) -> Form:
    if declared in (bool, int, str):
        return _checked(declared)
    if declared is float:
        return _checked(float, int)
    if issubclass(declared, Enum):
        return (lambda v: v.value, declared)
    if issubclass(declared, BaseModel):
        return (
            lambda v: v.model_dump(mode="json", exclude_unset=True),
            declared.model_validate,
        )
    if dataclasses.is_dataclass(declared):
        return _dataclass(declared)
    if issubclass(declared, tuple) and hasattr(declared, "_fields"):
        forms = [_form(t) for t in typing.get_type_hints(declared).values()]
        return (
            lambda v: [w(i) for (w, _), i in zip(forms, v, strict=True)],
            lambda f: declared(*(r(i) for (_, r), i in zip(forms, f, strict=True))),
        )
    raise TypeError(f"no form for {declared}")


def _dataclass(declared: type) -> Form:
    @functools.cache
    def forms() -> dict[str, Form]:  # when it is first used: a class may hold others of its kind
        hints = typing.get_type_hints(declared)
        return {
            f.name: _form(hints[f.name])
            for f in dataclasses.fields(declared)
            if f.metadata.get("kept", True)
        }

    def write(value: Any) -> dict[str, Any]:
        if type(value) is not declared:
            raise TypeError(f"{type(value).__name__} where {declared.__name__} is declared")
        return {name: form[0](getattr(value, name)) for name, form in forms().items()}

    def read(encoded: dict[str, Any]) -> Any:
        if encoded.keys() != forms().keys():
            raise TypeError
        return declared(**{name: form[1](encoded[name]) for name, form in forms().items()})

    return write, read
