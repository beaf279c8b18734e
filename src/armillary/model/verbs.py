"""Verbs with their forms in text models, records of their calls, undo, and the system of an argument.

Calls of verbs are recorded so that a system can be written as a text model. ``arm.dot(arm.position(C.com),
N.y)`` becomes a sum of sines and cosines at once, but a saved model should show the call. So calls by the
user that make expressions and vectors are recorded too. A verb that fails leaves the description unchanged.

A verb is a function that adds to the description of a system, with its form in text models:

    @verb(EntryForm("loads", key="force", argument="magnitude"))
    def force(system: System, name: str, magnitude: ExpressionLike, direction: VectorLike, …) -> Expr: ...

The decorator records calls of the function, and undoes a call that fails. Readers and writers of text models,
and their JSON schema, use the form, and the kinds of values in the annotations of the arguments
(``reading/kinds.py``). ``stages.System`` lists the verbs that users call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache, cached_property, partial, wraps
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from weakref import WeakKeyDictionary, WeakSet, ref

from armillary.algebra.arguments import bound_arguments, check_keywords, independent_copy
from armillary.algebra.expression import Expr
from armillary.algebra.vectors import Frame, Vector, ancestors
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.model.reading.kinds import Either, KeyedTable, Kind, ListOf, TableOf, argument_kinds
from armillary.model.units import UnitSystem
from armillary.untyped import AnyFunction, DataTable, Given

if TYPE_CHECKING:
    from armillary.model.description import Description


class Identity:
    """The owner that symbols refer to: name and units of a system, which are needed even after it is deleted.

    A system and its snapshots have one identity, so a symbol belongs to all of them. The identity refers to
    them by weak references and holds no expression: symbols hold the identity, and Python frees circular
    references late.
    """

    def __init__(self, system: Description) -> None:
        self.name: str = system.name
        self.units: UnitSystem = system.units
        self._system = ref(system)
        self._snapshots: WeakSet[Description] = WeakSet()

    @property
    def system(self) -> Description | None:
        """The system that the user describes, or `None` after it is deleted."""
        return self._system()

    def add_snapshot(self, snapshot: Description) -> None:
        """Add a snapshot, which shares this identity."""
        self._snapshots.add(snapshot)

    def rate(self, symbol: Expr) -> Expr | None:
        """Return the time derivative of a symbol; None for a constant."""
        for holder in (self.system, *self._snapshots):
            if holder is not None and symbol in holder.rates:
                rate = holder.rates[symbol]
                if rate in holder.input_rates:
                    holder.memories.setdefault(rate.name, holder.input_rates[rate])
                return rate
        return None


_systems_of_grounds: WeakKeyDictionary[Frame, ref[Description]] = WeakKeyDictionary()


def register_ground(ground: Frame, system: Description) -> None:
    """Register the system of a ground frame, so that it can be found for vectors in frames on the ground."""
    _systems_of_grounds[ground] = ref(system)


def system_of(arguments: Iterable[object]) -> Description | None:
    """Return the system to which bodies, points, vectors or expressions belong, or `None`."""
    for argument in arguments:
        found: Given
        if isinstance(argument, Vector):
            frames = {root for frame, _ in argument.terms for root in ancestors(frame)}
            known = _systems_of_grounds
            found = next((known[frame]() for frame in frames if frame in known), None)
        elif isinstance(argument, Expr):
            owners = (s.data.owner for s in symbols(argument))
            found = next((owner.system for owner in owners if isinstance(owner, Identity)), None)
        else:
            found = getattr(getattr(argument, "body", argument), "system", None)
        if found is not None:
            system: Description = found
            return system
    return None


Function = TypeVar("Function", bound=AnyFunction)


@dataclass(frozen=True, eq=False)
class Record:
    """One call of a verb by the user; verbs that this verb calls are not recorded."""

    verb: str
    arguments: DataTable
    owner: str = ""  # the name of the body on which it was called, or "" for the system
    result: Given = None


class Recorder:
    """The records of one system, whether a verb is running (``busy``), and whether all are refused
    (``frozen``).
    """

    def __init__(self, records: list[Record] | None = None, *, frozen: bool = False) -> None:
        self.records: list[Record] = [] if records is None else records
        self.busy = False
        self.frozen = frozen


# ---------------------------------------------------------------- calls that made expressions and vectors


class Call(NamedTuple):
    """A call of a function, by the function's name in texts, with its arguments."""

    function: str
    arguments: tuple[Given, ...]


def records_calls(function: Function) -> Function:
    """Return a function that also records its calls, in the system to which the arguments belong."""

    @wraps(function)
    def recording(*arguments: object, **options: object) -> Given:
        result = function(*arguments, **options)
        if not options:
            record_call(system_of(arguments), function.__name__, result, arguments)
        return result

    # mypy: of the type of the wrapped function.
    return recording  # type: ignore[return-value]


def record_call(system: Description | None, name: str, result: object, arguments: tuple[object, ...]) -> None:
    """Record the call that made an expression or vector; numbers and symbols need no record."""
    atom = isinstance(result, Expr) and result.kind in ("number", "symbol")
    made = isinstance(result, Expr | Vector) and not atom and not any(a is result for a in arguments)
    if made and system is not None:
        system.calls[result] = Call(name, arguments)


# ---------------------------------------------------------------- undo


@contextmanager
def undo_on_error(system: Description, owner: object = None) -> Iterator[None]:
    """Undo what the ``with`` block adds to a description if the block raises an error.

    ``owner`` is the body or system whose verb runs.
    """
    restore = _way_back(system, owner)
    try:
        yield
    except BaseException:
        restore()
        raise


def all_or_nothing(function: Function) -> Function:
    """Return a version of a function whose entries in a description are all undone if it fails.

    The function calls several verbs of a system, which is its first argument.
    """

    @wraps(function)
    def whole(system: Description, *args: object, **options: object) -> Given:
        with undo_on_error(system):
            return function(system, *args, **options)

    # mypy: of the type of the wrapped function.
    return whole  # type: ignore[return-value]


@contextmanager
def undo_always(system: Description) -> Iterator[list[str]]:
    """Undo what the ``with`` block adds to a description; if it has added anything, the list is not empty
    afterwards.
    """
    extent, restore = system.extent(), _way_back(system)
    changed: list[str] = []
    try:
        yield changed
    finally:
        if system.extent() != extent:
            changed.append("described")
        restore()


def _way_back(system: Description, owner: object = None) -> Callable[[], None]:
    """Return the function that restores the present content of all tables and lists of a description.

    A description records everything in tables and lists: of the system and its recorder, of its bodies
    (points) and of their flexible parts (nodes). They are found by their types, so that none is forgotten.
    Tables of bodies and parts only grow, so it is enough to store their lengths. A verb of a body may also
    replace attributes of the body, ``owner``, so these are stored, too.
    """
    tables = [x for x in vars(system).values() if isinstance(x, dict | list)]
    tables.append(system.recorder.records)
    copies = [table.copy() for table in tables]
    growing = []
    for part in (system.ground, *system.bodies.values(), *system.flexibles.values()):
        kind: Given = type(part)
        growing += [(table, len(table)) for table in [part.__dict__[name] for name in _growing(kind)]]
    made_with = None if owner is None or owner is system else dict(vars(owner))

    def restore() -> None:
        for table, before in zip(tables, copies, strict=True):
            table.clear()
            table.extend(before) if isinstance(table, list) else table.update(before)
        for table, size in growing:
            while len(table) > size:
                table.popitem()
        if made_with is not None:
            vars(owner).update(made_with)

    return restore


@cache
def _growing(record: Given) -> tuple[str, ...]:
    """Return the fields of a record that begin as empty tables."""
    return tuple(f.name for f in fields(record) if f.default_factory is dict)


# ---------------------------------------------------------------- forms in text models


class EntryForm:
    """A named entry of a section, ``[section.NAME]``: its keys are the arguments of the verb.

    ``key`` distinguishes the verb from the other verbs of its section. The value of this key is the argument
    ``argument``, or a list of several arguments. ``listed`` maps further keys to the arguments that their
    values list. The entry's name is the argument ``name_argument``. An entry must have the arguments without
    a default and those in ``needs``.
    """

    def __init__(
        self,
        section: str,
        *,
        key: str = "",
        argument: str | tuple[str, ...] = "",
        listed: Mapping[str, tuple[str, ...]] | None = None,
        needs: tuple[str, ...] = (),
        name_argument: str = "name",
        writes_defaults: bool = False,
        is_body: bool = False,
    ) -> None:
        self.section, self.key = section, key
        self.arguments: dict[str, str | tuple[str, ...]] = {**(listed or {})}  # by key, where names differ
        if argument:
            self.arguments[key] = argument
        self.needs = needs
        self.name_argument = name_argument
        self.writes_defaults = writes_defaults  # whether given values are written even if they are defaults
        self.is_body = is_body  # the entry also holds the body's points, nodes and flexible part

    def key_of(self, argument: str) -> str:
        """Return the key whose value is an argument, or lists this argument with others."""
        names = ((key, (n,) if isinstance(n, str) else n) for key, n in self.arguments.items())
        return next((key for key, listed in names if argument in listed), argument)


class LaterForm:
    """Keys of an entry ``[section.NAME]`` of another verb, which are read later, when everything to which
    they refer exists.

    ``arguments`` maps keys to arguments of the verb; ``owner`` is the argument for the entry's name.
    """

    def __init__(self, section: str, owner: str, **arguments: str) -> None:
        self.section, self.owner, self.arguments = section, owner, arguments


class TopForm:
    """A table or list at the top of the file with the name ``section``; ``words`` describe it in errors."""

    def __init__(self, section: str, words: str = "") -> None:
        self.section, self.words = section, words


class PairForm(TopForm):
    """A table of pairs, ``[section] variable = value``: the verb takes a variable and its value, or one table
    of such pairs.
    """


class ListForm(TopForm):
    """A list, ``section = [...]``, of the values of the verb's ``*argument``."""


class TableForm(TopForm):
    """A table ``[section]`` whose keys are the arguments of the verb; for several calls, ``[[section]]``."""


class NoForm:
    """The form of a verb without an entry of its own; ``words`` state where text models have its effect."""

    def __init__(self, words: str) -> None:
        self.section, self.words = "", words


TextForm = EntryForm | LaterForm | TopForm | NoForm


# ---------------------------------------------------------------- verbs


class Verb:
    """A verb: its name, its function, and its form in text models."""

    def __init__(self, function: Callable[..., object], form: TextForm) -> None:
        self.name, self.function, self.form = function.__name__, function, form

    def parameters(self) -> dict[str, inspect.Parameter]:
        """Return the parameters of the function after the system or body, by name."""
        return dict(list(_signature(self.function).parameters.items())[1:])

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """The kinds of an entry's values, by key. The key that identifies the verb comes first, then the
        other keys in the order of the arguments.
        """
        form = self.form
        assert isinstance(form, EntryForm)
        found: dict[str, Kind] = {}
        for argument, kind in argument_kinds(self.function).items():
            key = form.key_of(argument)
            names = form.arguments.get(key)
            found[key] = ListOf(kind, len(names)) if isinstance(names, tuple) else kind
        return {form.key: found[form.key], **found} if form.key else found

    @cached_property
    def kind(self) -> Kind:
        """The kind of the table or list at the top of a file."""
        kinds = argument_kinds(self.function)
        last = [*kinds.values()][-1]
        if isinstance(self.form, TableForm):
            table = KeyedTable(self.form.words, kinds, tuple(kinds))
            return Either((table, ListOf(table)))
        if isinstance(self.form, ListForm):
            return ListOf(last)
        return TableOf(last) if len(self.parameters()) > 1 else last


VERBS: dict[str, Verb] = {}  # all verbs by name, in the order in which they are defined


def verb(form: TextForm) -> Callable[[Function], Function]:
    """Return a decorator that makes a verb of a function whose first argument is a system or body. A call of
    a verb is recorded if it succeeds, and undone if it fails; a call by another verb is not recorded.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def recording(owner: Given, *args: object, **options: object) -> Given:
            system = owner.__dict__.get("system", owner)  # the system of a body
            recorder: Recorder = system.recorder
            if recorder.frozen:
                raise ModelError(
                    f"{function.__name__}: this description of '{system.name}' belongs to equations derived "
                    "from it and does not change any more; change the System that you made, and derive it "
                    "again"
                )
            if recorder.busy:
                return function(owner, *args, **options)
            signature = _signature(function)
            try:
                given = bound_arguments(
                    signature, (owner, *independent_copy(args)), independent_copy(options)
                )
            except TypeError as error:
                check_keywords(function, options, ModelError)
                raise ModelError(
                    f"{function.__name__}: {error}; it takes {_needed_arguments(signature)}"
                ) from None
            recorder.busy = True
            try:
                with undo_on_error(system, owner):
                    result = function(owner, *args, **options)
            finally:
                recorder.busy = False
            name = owner.name if system is not owner else ""
            recorder.records.append(Record(function.__name__, given, name, result))
            return result

        assert function.__name__ not in VERBS, f"two verbs are named {function.__name__}"
        VERBS[function.__name__] = Verb(recording, form)
        # mypy: the entry of a verb is an attribute of its function.
        recording.recorded = VERBS[function.__name__]  # type: ignore[attr-defined]
        # mypy: of the type of the wrapped function.
        return recording  # type: ignore[return-value]

    return decorate


@cache
def _signature(function: Callable[..., object]) -> inspect.Signature:
    return inspect.signature(function)


def _needed_arguments(signature: inspect.Signature) -> str:
    """Return the names of the arguments that a verb needs as text, with "…" if it takes more."""
    found = list(signature.parameters.values())[1:]
    required = [p.name for p in found if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return ", ".join([*required, *(["…"] if len(required) < len(found) else [])])


# ---------------------------------------------------------------- quantities


QUANTITIES: dict[str, tuple[AnyFunction, Given]] = {}  # functions that texts may call, by name


def quantity(arguments: object = 0) -> Callable[[Function], Function]:
    """Return a decorator for functions of a system that return an expression or vector. It records their
    calls, and allows texts to call them. ``arguments`` is the number of arguments besides the system, or
    (least, greatest) if the number may vary.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def recording(system: Given, *given: Given, **options: object) -> Given:
            result = function(system, *given, **options)
            if not options:
                record_call(system, function.__name__, result, given)
            return result

        QUANTITIES[function.__name__] = (recording, arguments)
        # mypy: of the type of the wrapped function.
        return recording  # type: ignore[return-value]

    return decorate


def quantities_of(system: object) -> dict[str, tuple[AnyFunction, Given]]:
    """Return the functions of a system that its texts may call, with their numbers of arguments."""
    return {name: (partial(function, system), count) for name, (function, count) in QUANTITIES.items()}
