"""Equations as CasADi functions that call compiled code, with exact derivatives of first and second order.

    f(t, x, v, p)           values
    its Jacobian            ∂f/∂(t, x, v, p), sparse
    its adjoint             wᵀ ∂f/∂(t, x, v, p)
    the adjoint's Jacobian  ∂²(wᵀ f)/∂(t, x, v, p)², and ∂f/∂(t, x, v, p) by w

CasADi requests these when it differentiates an expression that calls f. Nothing is expanded into its graph,
and no C compiler is needed: each function is a callback of machine code made from the symbolic program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.control.knot_functions import KnotFunctions, Knots
from armillary.untyped import LibraryObject

Ports = Mapping[str, LibraryObject]  # CasADi's sparsities of arguments or results, by name
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
    """Return a function of CasADi that calls one of Python, which returns the elements of sparse results.

    ``jacobian`` and ``reverse`` make the functions of the derivatives, with names that CasADi chooses.
    CasADi holds no reference to a callback: keep the result.
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


LABELS = ("t", "x", "v", "p")


@dataclass(frozen=True, eq=False)
class Arguments:
    """Sizes of the arguments t, x, v, p, indices of v in the memory, and the memory's other values."""

    sizes: tuple[int, int, int, int]
    places: tuple[int, ...]
    memory: np.ndarray

    def knots(self, given: Sequence[np.ndarray]) -> Knots:
        """Return the arguments as a single knot."""
        t, x, v, p = given
        memory = np.array(self.memory, ndmin=2)
        memory[0, list(self.places)] = v
        return Knots(np.array(t, dtype=float), x[None], memory, p[None])

    def spans(self) -> dict[str, slice]:
        """Return the slices of the arguments among the functions' variables, whose order is x, v, p, t."""
        t, x, v, p = self.sizes
        return {
            "t": slice(x + v + p, x + v + p + t), "x": slice(0, x),
            "v": slice(x, x + v), "p": slice(x + v, x + v + p),
        }  # fmt: skip


class ExternalFunction:
    """One function for CasADi; ``made`` holds its callbacks, since CasADi keeps no reference to them."""

    def __init__(
        self, casadi: LibraryObject, name: str, functions: KnotFunctions, arguments: Arguments
    ) -> None:
        self.casadi, self.name, self.functions, self.arguments = casadi, name, functions, arguments
        self.length = len(functions.results)
        self.made: list[LibraryObject] = []
        dense = casadi.Sparsity.dense
        self._given = {label: dense(n, 1) for label, n in zip(LABELS, arguments.sizes, strict=True)}
        self._result = {name: dense(self.length, 1)}
        self.function = self._callback(
            name, self._given, self._result, self._values, jacobian=self._jacobian, reverse=self._reverse
        )

    # ------------------------------------------------------------ numbers

    def _values(self, a: list[np.ndarray]) -> list[np.ndarray]:
        return [self.functions.values(self.arguments.knots(a[:4]))[0]]

    def _jacobian_values(self, a: list[np.ndarray]) -> list[np.ndarray]:
        whole = self.functions.dense_jacobian(self.arguments.knots(a[:4]))[0]
        return [whole[:, span] for span in self._argument_slices()]

    def _adjoint_values(self, a: list[np.ndarray]) -> list[np.ndarray]:
        seed = a[5].reshape(-1, self.length).T if a[5].size != self.length else a[5][:, None]
        whole = self.functions.dense_jacobian(self.arguments.knots(a[:4]))[0]
        return [whole[:, span].T @ seed for span in self._argument_slices()]

    def _hessian_values(self, a: list[np.ndarray]) -> list[np.ndarray]:
        at = self.arguments.knots(a[:4])
        first = self.functions.dense_jacobian(at)[0]
        second = self.functions.dense_hessian(at, a[5][None])[0]
        found: list[np.ndarray] = []
        for row in self._argument_slices():
            found += [second[row, column] for column in self._argument_slices()]
            size = row.stop - row.start
            found += [np.zeros((size, self.length)), first[:, row].T]
        return found

    def _argument_slices(self) -> list[slice]:
        spans = self.arguments.spans()
        return [spans[label] for label in LABELS]

    # ------------------------------------------------------------ derivatives that CasADi requests

    def _jacobian(self, name: str, inames: list[str], onames: list[str]) -> LibraryObject:
        casadi, pattern = self.casadi, self.functions.jacobian_pattern
        blocks = {}
        for label, span in zip(onames, self._argument_slices(), strict=True):
            inside = (pattern.columns >= span.start) & (pattern.columns < span.stop)
            rows, columns = pattern.rows[inside].tolist(), (pattern.columns[inside] - span.start).tolist()
            blocks[label] = casadi.Sparsity.triplet(self.length, span.stop - span.start, rows, columns)
        given = dict(zip(inames, [*self._given.values(), *self._result.values()], strict=True))
        return self._callback(name, given, blocks, self._jacobian_values)

    def _reverse(self, name: str, inames: list[str], onames: list[str]) -> LibraryObject:
        dense = self.casadi.Sparsity.dense
        given = [*self._given.values(), *self._result.values(), dense(self.length, 1)]
        results = {label: dense(n, 1) for label, n in zip(onames, self.arguments.sizes, strict=True)}
        return self._callback(
            name, dict(zip(inames, given, strict=True)), results, self._adjoint_values,
            jacobian=self._adjoint_jacobian,
        )  # fmt: skip

    def _adjoint_jacobian(self, name: str, inames: list[str], onames: list[str]) -> LibraryObject:
        casadi = self.casadi
        sizes = [*self.arguments.sizes, self.length, self.length]
        given = [casadi.Sparsity.dense(n, 1) for n in (*sizes, *self.arguments.sizes)]
        shapes = [(row, column) for row in self.arguments.sizes for column in sizes]
        results = {
            label: casadi.Sparsity(*shape) if i % 6 == 4 else casadi.Sparsity.dense(*shape)
            for i, (label, shape) in enumerate(zip(onames, shapes, strict=True))
        }
        return self._callback(name, dict(zip(inames, given, strict=True)), results, self._hessian_values)

    def _callback(
        self,
        name: str,
        given: dict[str, LibraryObject],
        results: dict[str, LibraryObject],
        call: Callable[[list[np.ndarray]], list[np.ndarray]],
        jacobian: Derivative | None = None,
        reverse: Derivative | None = None,
    ) -> LibraryObject:
        places = [
            (np.array(s.row(), dtype=int), np.repeat(np.arange(s.size2()), np.diff(s.colind())))
            for s in results.values()
        ]

        def elements(arguments: list[np.ndarray]) -> list[object]:
            found = (v[:, None] if v.ndim == 1 else v for v in call(arguments))
            return [v[place] for v, place in zip(found, places, strict=True)]

        self.made.append(make_callback(self.casadi, name, given, results, elements, jacobian, reverse))
        return self.made[-1]
