"""Verbs: functions that add to the description of a system, each with its form in text models.

    @verb(EntryForm("loads", key="force", argument="magnitude"))
    def force(system: System, name: str, magnitude: ExpressionLike, direction: VectorLike, …) -> Expr: ...

The decorator makes the function all-or-nothing and recorded; readers and writers of text models, and their
JSON schema, use the form, and the kinds of values that annotations of the arguments hold
(``reading/argument_types.py``). ``stages.System`` lists the verbs that users call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache, cached_property, partial, wraps
from typing import TypeVar

from armillary.algebra.arguments import bound_arguments, check_keywords, independent_copy
from armillary.errors import ModelError
from armillary.model.reading.kinds import Either, KeyedTable, Kind, ListOf, TableOf, argument_kinds
from armillary.model.recording.recorder import Record, Recorder, record_call, undo_on_error
from armillary.untyped import AnyFunction, Given

Function = TypeVar("Function", bound=AnyFunction)


# ---------------------------------------------------------------- forms in text models


class EntryForm:
    """A named entry of a section, ``[section.NAME]``: its keys are the arguments of the verb.

    ``key`` distinguishes the verb from the others of its section, and stands for ``argument`` where that has
    another name, or lists several; ``listed`` are other keys that list arguments. The entry's name is the
    argument ``name_argument``. Arguments without a default are needed, and those in ``needs``.
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
        self.writes_defaults = writes_defaults  # a value that was given is written even if it is the default
        self.is_body = is_body  # the entry also holds the body's points, nodes and flexible part

    def key_of(self, argument: str) -> str:
        """The key that stands for an argument, or lists it with others."""
        names = ((key, (n,) if isinstance(n, str) else n) for key, n in self.arguments.items())
        return next((key for key, listed in names if argument in listed), argument)


class LaterForm:
    """Keys of an entry that another verb makes, ``[section.NAME]``, read when all is there that they use.

    ``arguments`` are those of the keys; ``owner`` is the argument for the entry's name.
    """

    def __init__(self, section: str, owner: str, **arguments: str) -> None:
        self.section, self.owner, self.arguments = section, owner, arguments


class TopForm:
    """A table or list at the top of the file, by the name ``section``; ``words`` are for errors."""

    def __init__(self, section: str, words: str = "") -> None:
        self.section, self.words = section, words


class PairForm(TopForm):
    """``[section] variable = value``: the arguments are the variable and its value, or one table of such
    pairs.
    """


class ListForm(TopForm):
    """``section = [...]``, of what the verb takes as its ``*argument``."""


class TableForm(TopForm):
    """``[section]``, whose keys are the arguments; several as ``[[section]]``."""


class NoForm:
    """No entry by itself: ``words`` are where a text model holds what the verb does."""

    def __init__(self, words: str) -> None:
        self.section, self.words = "", words


TextForm = EntryForm | LaterForm | TopForm | NoForm


# ---------------------------------------------------------------- verbs


class Verb:
    """A verb: its name, its function, and its form in text models."""

    def __init__(self, function: Callable[..., object], form: TextForm) -> None:
        self.name, self.function, self.form = function.__name__, function, form

    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters of the function after the system or body, by name."""
        return dict(list(_signature(self.function).parameters.items())[1:])

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """The kinds of an entry's values, by key: that by which the verb is known first, then in the order of
        the arguments.
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
    """A function of a system, or of one of its bodies, as a verb: recorded once it has succeeded; where it
    fails it leaves nothing behind. A verb that another verb calls is part of that one.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def recording(owner: Given, *args: object, **options: object) -> Given:
            system = owner.__dict__.get("system", owner)  # that of a body
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
                raise ModelError(f"{function.__name__}: {error}; it takes {_needed(signature)}") from None
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


def _needed(signature: inspect.Signature) -> str:
    """The arguments that a verb needs, and whether it takes more."""
    found = list(signature.parameters.values())[1:]
    required = [p.name for p in found if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return ", ".join([*required, *(["…"] if len(required) < len(found) else [])])


# ---------------------------------------------------------------- quantities


QUANTITIES: dict[str, tuple[AnyFunction, Given]] = {}  # functions that texts may call, by name


def quantity(arguments: object = 0) -> Callable[[Function], Function]:
    """A function of a system that gives an expression or vector: texts may call it too, with so many
    arguments besides the system (a number, or the least and the greatest), and its calls are recorded.
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
    """Functions of a whole system that its texts may call, with the numbers of their arguments."""
    return {name: (partial(function, system), count) for name, (function, count) in QUANTITIES.items()}
