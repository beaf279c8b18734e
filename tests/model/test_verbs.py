"""A verb is one entry: what is decorated is what users call, and what text models can hold."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import armillary as arm
from armillary.files.model.documents import LAYOUT, SECTIONS, TOP, entry_kind, verbs_of
from armillary.files.model.save import Writing
from armillary.model.verbs import (
    QUANTITIES,
    VERBS,
    EntryForm,
    LaterForm,
    ListForm,
    NoForm,
    PairForm,
    TableForm,
)
from armillary.stages import System

BODY_VERBS = ("flexible", "point")


def arguments(verb: str) -> list[str]:
    """Names of a verb's arguments, without the system or body."""
    return list(inspect.signature(VERBS[verb].function).parameters)[1:]


def test_every_verb_is_a_method_of_the_class_that_users_hold() -> None:
    for name, verb in VERBS.items():
        owner = arm.Body if name in BODY_VERBS else System
        assert getattr(owner, name) is verb.function, name


def test_every_quantity_that_texts_may_call_is_a_method_too() -> None:
    assert [name for name, (function, _) in QUANTITIES.items() if getattr(System, name) is not function] == []


def test_every_decorated_function_of_the_source_is_known() -> None:
    """A verb in a file that nobody imports would be a verb that no user has."""
    source = Path(arm.__file__).parent
    lines = [line for path in source.rglob("*.py") for line in path.read_text(encoding="utf-8").splitlines()]
    assert sum(line.strip().startswith("@verb(") for line in lines) - 1 == len(VERBS)  # one in a docstring


@pytest.mark.parametrize("name", VERBS)
def test_a_text_model_holds_every_argument_of_a_verb(name: str) -> None:
    form = VERBS[name].form
    if isinstance(form, EntryForm):
        assert VERBS[name] in verbs_of(form.section) and form.section in {*SECTIONS} & {*LAYOUT}
        kinds = entry_kind(VERBS[name])
        assert set(kinds.needs) <= kinds.fields.keys() and form.arguments.keys() <= kinds.fields.keys()
        held = [form.name_argument]
        for key in VERBS[name].kinds:
            argument = form.arguments.get(key, key)
            held += [argument] if isinstance(argument, str) else argument
        assert sorted(held) == sorted(arguments(name))
    elif isinstance(form, LaterForm):
        assert form.section in SECTIONS
        assert sorted([form.owner, *form.arguments.values()]) == sorted(arguments(name))
    elif isinstance(form, PairForm):
        assert TOP[form.section] is VERBS[name].kind and len(arguments(name)) in (1, 2)
    elif isinstance(form, ListForm):
        assert TOP[form.section] is VERBS[name].kind and len(arguments(name)) == 1
    elif isinstance(form, TableForm):
        assert TOP[form.section] is VERBS[name].kind
    else:
        assert isinstance(form, NoForm) and form.words
        assert name in Writing(System("s"), "s")._written_elsewhere
