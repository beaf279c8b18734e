"""Results as pickles: what they hold, without what belongs to the process that made them."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import ClassVar, Self

import numpy as np

from armillary.untyped import DataTable


class PickledValue:
    """A frozen dataclass that is pickled, and copied between processes, as plain data.

    Mappings and arrays that cannot be written to are so again in the copy. Fields named in
    ``_of_process`` (code, equations) are None in the copy, as after loading a saved file.
    """

    _of_process: ClassVar[tuple[str, ...]] = ()

    def __reduce__(self) -> tuple[object, ...]:
        # mypy: all subclasses are dataclasses.
        held = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self._of_process}  # type: ignore[arg-type]
        read_only = tuple(n for n, x in held.items() if _is_read_only(x))
        plain = {n: x.copy() if isinstance(x, MappingProxyType) else x for n, x in held.items()}
        return _made_again, (type(self), plain | dict.fromkeys(self._of_process), read_only)

    def __copy__(self) -> Self:
        return self


def _is_read_only(value: object) -> bool:
    return isinstance(value, MappingProxyType) or (
        isinstance(value, np.ndarray) and not value.flags.writeable
    )


def _made_again(kind: type, held: DataTable, read_only: tuple[str, ...] = ()) -> object:
    made: object = object.__new__(kind)
    for name, value in held.items():
        if name in read_only and isinstance(value, np.ndarray):
            value.flags.writeable = False
        elif name in read_only:
            value = MappingProxyType(value)
        object.__setattr__(made, name, value)
    return made
