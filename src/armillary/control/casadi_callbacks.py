"""Functions of CasADi that call functions of Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from armillary.untyped import LibraryObject

Ports = Mapping[str, LibraryObject]  # sparsities of arguments or results, by name
Call = Callable[[list[np.ndarray]], list[object]]
Derivative = Callable[[str, list[str], list[str]], LibraryObject]


def make_callback(
    casadi: LibraryObject,
    label: str,
    given: Ports,
    results: Ports,
    call: Call,
    jacobian: Derivative | None = None,
    reverse: Derivative | None = None,
) -> LibraryObject:
    """Return a function of CasADi that calls one of Python, which gives the elements of sparse results.

    ``jacobian`` and ``reverse`` make the functions of its derivatives, under the names that CasADi gives.
    CasADi holds no reference to a callback: keep it.
    """

    class Function(casadi.Callback):  # type: ignore[misc]  # CasADi has no types
        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self.construct(label, {})

        def get_n_in(self) -> int:
            return len(given)

        def get_n_out(self) -> int:
            return len(results)

        def get_name_in(self, i: int) -> str:
            return list(given)[i]

        def get_name_out(self, i: int) -> str:
            return list(results)[i]

        def get_sparsity_in(self, i: int) -> LibraryObject:
            return list(given.values())[i]

        def get_sparsity_out(self, i: int) -> LibraryObject:
            return list(results.values())[i]

        def eval(self, arguments: list[LibraryObject]) -> list[LibraryObject]:
            found = call([np.array(a, dtype=float).ravel(order="F") for a in arguments])
            arrays = [np.array(value, dtype=float, ndmin=1) for value in found]
            return [casadi.DM(s, a) for s, a in zip(results.values(), arrays, strict=True)]

        def has_jacobian(self) -> bool:
            return jacobian is not None

        def get_jacobian(
            self, name: str, inames: list[str], onames: list[str], options: object
        ) -> LibraryObject:
            assert jacobian is not None
            return jacobian(name, list(inames), list(onames))

        def has_reverse(self, count: int) -> bool:
            return reverse is not None and count == 1

        def get_reverse(
            self, count: int, name: str, inames: list[str], onames: list[str], options: object
        ) -> LibraryObject:
            assert reverse is not None
            return reverse(name, list(inames), list(onames))

    return Function()
