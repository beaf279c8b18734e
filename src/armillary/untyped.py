"""Names for values without a narrower type, each with its reason.

Elsewhere, each `Any` has a comment or an alias that gives its reason; `tests/test_untyped.py` counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

# Values by key whose types depend on the key: tables of TOML and JSON files, metadata, arguments by name.
# Readers check each value by its kind or with `algebra/arguments.py`.
DataTable: TypeAlias = dict[str, Any]
DataMapping: TypeAlias = Mapping[str, Any]  # the same, for functions that only read it

# A value of such a table, or an argument of a user, before its kind is checked.
Given: TypeAlias = Any

# An object of an optional library without types, or with types that are not installed: pandas, xarray, Zarr,
# CuPy, SciPy, python-control, ctypes.
LibraryObject: TypeAlias = Any

# A function of any arguments: of a user, of an optional library, or one that a decorator wraps.
AnyFunction: TypeAlias = Callable[..., Any]
