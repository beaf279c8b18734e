"""What a description was told, verb by verb: from it a system is written down as a text model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from armillary.algebra.call_record import bound, kept
from armillary.errors import ModelError, nearest
from armillary.model.atomic_verbs import all_of_it_or_nothing

Verb = TypeVar("Verb", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Entry:
    """One verb as the user said it; verbs that it is made of are not entries of their own."""

    verb: str
    arguments: dict[str, Any]
    owner: str = ""  # the body whose verb it is, "" for one of the system itself
    made: Any = None  # what it gave back


class Telling:
    """The journal of one system, whether a verb is under way, and whether the system refuses all verbs."""

    def __init__(self, entries: list[Entry] | None = None, *, frozen: bool = False) -> None:
        self.entries: list[Entry] = [] if entries is None else entries
        self.busy = False
        self.frozen = frozen


def recorded(verb: Verb) -> Verb:
    """A verb of a system, or of one of its bodies: it enters the journal once it has succeeded, and one that
    fails leaves nothing behind.
    """
    signature = inspect.signature(verb)

    @wraps(verb)
    def told(owner: Any, *args: Any, **options: Any) -> Any:
        system = owner.__dict__.get("system", owner)  # a body knows its system
        telling: Telling = system.telling
        if telling.frozen:
            raise ModelError(
                f"{verb.__name__}: this description of '{system.name}' belongs to equations derived from "
                "it and does not change any more; change the System that you made, and derive it again"
            )
        if telling.busy:
            return verb(owner, *args, **options)
        try:
            given = bound(signature, (owner, *kept(args)), kept(options))
        except TypeError as error:
            raise ModelError(f"{verb.__name__}: {error}{_advice(signature, options)}") from None
        telling.busy = True
        try:
            with all_of_it_or_nothing(system, owner):
                made = verb(owner, *args, **options)
        finally:
            telling.busy = False
        name = owner.name if system is not owner else ""
        telling.entries.append(Entry(verb.__name__, given, name, made))
        return made

    told.recorded = True  # type: ignore[attr-defined]
    return told  # type: ignore[return-value]


def _advice(signature: inspect.Signature, options: dict[str, Any]) -> str:
    """The argument that was meant, or else those that a verb needs."""
    found = list(signature.parameters.values())[1:]
    names = [p.name for p in found]
    for name in options:
        if name not in names:
            return nearest(name, names) or f"; it takes {', '.join(names)}"
    required = [p.name for p in found if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return f"; it takes {', '.join([*required, *(['…'] if len(required) < len(found) else [])])}"
