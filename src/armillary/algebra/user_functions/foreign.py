"""Compiled functions from outside: C functions or Numba cfuncs, which generated code calls by address."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np

from armillary.algebra.arguments import text
from armillary.algebra.expression import Expr, as_expr, call
from armillary.algebra.functions import Operand
from armillary.errors import ExpressionError, shown
from armillary.untyped import Given


class ForeignFunction:
    """A compiled function ``double f(double, …)`` called by its address.

    ``address`` is an integer, a ctypes function, or anything with an ``address``, as Numba's cfuncs; that
    object is kept alive with this one. ``partials`` are the partial derivatives, one callable of the
    arguments for each (other foreign functions, or Python functions of expressions).
    """

    def __init__(
        self, name: str, address: object, arity: int, partials: Sequence[Callable[..., object]] | None = None
    ) -> None:
        text(name, "the name of a foreign function", ExpressionError)
        if isinstance(arity, bool) or not isinstance(arity, int) or arity < 1:
            raise ExpressionError(
                f"foreign function '{name}' needs at least one argument; arity={shown(arity)}"
            )
        if partials is not None and len(partials) != arity:
            raise ExpressionError(
                f"foreign function '{name}' has {arity} argument(s) but {len(partials)} partials"
            )
        self.name = name
        self.arity = arity
        self.source = address
        self.address = _address(name, address)
        self.derivatives = partials
        self.argument_dimensions = (None,) * arity
        self.dimension = None
        # The address differs from process to process, so it is not part of the digest.
        self.digest = crc32(f"{name}/{arity}".encode())

    def __hash__(self) -> int:
        return self.digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ForeignFunction) and self._content() == other._content()

    def _content(self) -> tuple[str, int, int]:
        return self.name, self.arity, self.address

    def __repr__(self) -> str:
        return f"<foreign function '{self.name}' of {self.arity} argument(s)>"

    def __call__(self, *args: object) -> Operand:
        """The function at expressions (a node), or at numbers and arrays (values)."""
        if len(args) != self.arity:
            raise ExpressionError(f"'{self.name}' takes {self.arity} argument(s), but has {len(args)}")
        if not any(isinstance(a, Expr) for a in args):
            return self.value(*args)
        return call(self, tuple(as_expr(a) for a in args), self.dimension)

    def value(self, *args: object) -> np.ndarray:
        """Value at numbers or arrays, through ctypes, one point after another."""
        function = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * self.arity)(self.address)
        where = np.broadcast_arrays(*[np.asarray(a, dtype=float) for a in args])
        points = zip(*[w.ravel().tolist() for w in where], strict=True)
        return np.array([function(*point) for point in points]).reshape(where[0].shape)[()]

    def partials(self, *args: Expr) -> list[Expr]:
        """Partial derivatives at the arguments, as expressions."""
        if self.derivatives is None:
            remedy = "give ForeignFunction(…, partials=[…])"
            raise ExpressionError(f"foreign function '{self.name}' cannot be differentiated: {remedy}")
        return [as_expr(derivative(*args)) for derivative in self.derivatives]


def _address(name: str, source: object) -> int:
    found: Given = getattr(source, "address", source)
    if not isinstance(found, int):
        try:
            if isinstance(found, str | bytes):  # which ctypes would take as data
                raise TypeError
            found = ctypes.cast(found, ctypes.c_void_p).value
        except (ctypes.ArgumentError, TypeError) as error:
            raise ExpressionError(
                f"foreign function '{name}': {source!r} has no address; "
                "give an integer, a ctypes function or a Numba cfunc"
            ) from error
    if found and not 0 < found < 2**64:
        raise ExpressionError(f"foreign function '{name}': {shown(found)} is not an address")
    if not found:
        raise ExpressionError(f"foreign function '{name}' has the null address")
    return int(found)
