"""Classes that are known by the names that policies give them: the package's own, and others'."""

import inspect
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from threading import RLock
from typing import Any, ClassVar, Generic, TypeVar, get_args

from pydantic import ValidationError
from pydantic_core import InitErrorDetails

from tclose.errors import UsageError
from tclose.model.setting_fields import Settings


class Registrable(Settings):
    """Keys of a policy, and the work that they ask for, of a class that a registry has."""

    version: ClassVar[int] = 1
    """Version of the bytes that it makes: raised when they change; part of a release's id."""

    name: str

    @classmethod
    def check_class(cls) -> None:
        """Refuse a class that lacks what its class variables say it can do.

        Raises
        ------
        ValueError
        """


Registered = TypeVar("Registered", bound=Registrable)
Decorated = TypeVar("Decorated", bound=type[Registrable])


class Registry(Generic[Registered]):
    """Settings classes by the value of their field ``name``.

    Parameters
    ----------
    group : entry points in which other distributions name modules or classes that register
        themselves when they are imported; every process of a run finds these
    modules : of this package, imported when a name is first asked for, in the order of messages
    """

    def __init__(self, group: str, modules: tuple[str, ...]) -> None:
        self._group, self._modules = group, modules
        self._classes: dict[str, type[Registered]] = {}
        self._is_loaded = self._is_loading = False
        self._lock = RLock()

    def register(self, registered: Decorated) -> Decorated:
        """Make a class known; a decorator.

        Raises
        ------
        ValueError
            It has no name, or another class has it, or it lacks what it says it can do.
        """
        name = name_of(registered)
        registered.check_class()
        known: Any = self._classes.setdefault(name, registered)  # type: ignore[arg-type]  # callers pass theirs
        if known is not registered:
            raise ValueError(f"{name!r} is registered already, by {known.__module__}")
        return registered

    def unregister(self, name: str) -> None:
        """Forget a class, for tests."""
        del self._classes[name]

    def classes(self) -> dict[str, type[Registered]]:
        """All of them by name: the package's own in their order, then others."""
        with self._lock:
            if not self._is_loaded and not self._is_loading:  # modules may ask while they load
                self._is_loading = True
                try:
                    self._load()
                    self._is_loaded = True
                finally:
                    self._is_loading = False
        return dict(self._classes)

    def find(self, name: Any) -> type[Registered] | None:
        """The class of a name, if there is one."""
        return self.classes().get(name) if isinstance(name, str) else None

    def refuse_name(self, name: Any, title: str) -> ValidationError:
        """The error of a name that none of them has, located at the key ``name``."""
        *others, last = map(repr, self.classes())
        expected = f"{', '.join(others)} or {last}" if others else last
        problem = InitErrorDetails(
            type="literal_error", loc=("name",), input=name, ctx={"expected": expected}
        )
        return ValidationError.from_exception_data(title, [problem])

    def _load(self) -> None:
        for module in self._modules:
            import_module(module)
        for entry in entry_points(group=self._group):
            _load(entry)
        places = {module: i for i, module in enumerate(self._modules)}
        ordered = sorted(  # whatever was imported before
            self._classes.items(), key=lambda pair: places.get(pair[1].__module__, len(places))
        )
        self._classes = dict(ordered)


def _load(entry: EntryPoint) -> None:
    """Import what another distribution registers.

    Raises
    ------
    UsageError
        It cannot be imported, or its name is taken.
    """
    try:
        entry.load()
    except Exception as error:
        raise UsageError(
            f"entry point {entry.name!r} of {entry.group}: {entry.value} cannot be registered "
            f"({error}); correct or uninstall the distribution that has it"
        ) from None


def name_of(registered: type[Registrable]) -> str:
    """The one value that the field ``name`` of a class allows.

    Raises
    ------
    ValueError
        There is no such field, or it allows others, or it is no text.
    """
    field = registered.model_fields.get("name")
    allowed = () if field is None else get_args(field.annotation)
    if len(allowed) != 1 or not isinstance(allowed[0], str) or not allowed[0]:
        raise ValueError(f"{registered.__name__} needs a field as in name: Literal['...']")
    return allowed[0]


def check_hooks(
    registered: type[Registrable], base: type[Registrable], hooks: Iterable[str]
) -> None:
    """Refuse a class that has not defined some of what its base leaves to it, or only declares.

    Raises
    ------
    ValueError
        Names what is missing.
    """
    missing = [
        hook
        for hook in hooks
        if inspect.getattr_static(registered, hook, None)
        is inspect.getattr_static(base, hook, None)
    ]
    if missing:
        raise ValueError(f"{registered.__name__} has to define {', '.join(missing)}")
