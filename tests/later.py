"""Libraries imported where a test first uses them: each worker collects all tests and runs a half of them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


class Later:
    """A module by its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # asked by pytest, of everything in a module that it collects
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)


def later(name: str, reason: str = "") -> Any:
    """A library for a file of tests, which is skipped where the library is not installed."""
    if find_spec(name.partition(".")[0]) is None:
        pytest.skip(reason or f"{name} is not installed", allow_module_level=True)
    return Later(name)


@cache
def unit_registry() -> Any:
    """The units of Pint; it reads them in half a second."""
    return pytest.importorskip("pint").UnitRegistry()
