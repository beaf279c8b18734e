"""Functions that generated code calls: blocks with many results, and a user's compiled functions."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from zlib import crc32

import numpy as np

from armillary.algebra.arguments import text
from armillary.algebra.expression import ZERO, Expr, as_expr, call
from armillary.algebra.functions import Operand
from armillary.errors import ExpressionError, shown
from armillary.untyped import Given

# A block function takes many numbers and has many results; the solution of linear equations is an example.
#
# A block is a node that calls a block function. In this process the function is compiled code, called by its
# address; in exported programs it is a function of their language. The value of a block is a vector: only
# calls of `BlockPart`, which take one number out of the vector, have a block as their operand.


class BlockFunction(ABC):
    """A function of many numbers with many results; arguments and results are grouped in named vectors.

    ``vectors`` are the vectors' lengths by name. ``takes`` names the vectors of arguments and ``gives`` the
    vectors of results, in order; the first ``smooth`` results have derivatives, the others are piecewise
    constant. If the first number of the vector ``condition`` is zero, the results are not used, and the call
    may be left out. ``extends`` is the name of a block function whose arguments are the first arguments of
    this one, and whose results are, up to rounding, its first results. ``sizes`` are constant whole numbers
    and ``tables`` constant lists of whole numbers, by their names in the code of the function.
    """

    dimension = None
    condition: str | None = None
    extends: str | None = None

    def __init__(
        self,
        name: str,
        vectors: Mapping[str, int],
        takes: Sequence[str],
        gives: Sequence[str],
        smooth: int,
        sizes: Mapping[str, int],
        tables: Mapping[str, tuple[int, ...]],
    ) -> None:
        self.name, self.vectors, self.takes, self.gives = name, vectors, takes, gives
        self.smooth, self.sizes, self.tables = smooth, sizes, tables
        self.arity, self.count = (sum(vectors[v] for v in chosen) for chosen in (takes, gives))
        self.argument_dimensions = (None,) * self.arity
        self._content = (name, tuple(sizes.items()), tuple(tables.items()))
        self.digest = crc32(repr(self._content).encode())

    def split(self, names: Sequence[str], numbers: Sequence[Given]) -> dict[str, list[Given]]:
        """Split a list of values into vectors by name, in the order of ``names``."""
        found: dict[str, list[Given]] = {}
        first = 0
        for name in names:
            found[name] = list(numbers[first : first + self.vectors[name]])
            first += self.vectors[name]
        return found

    def __hash__(self) -> int:
        return self.digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockFunction) and self._content == other._content

    def __repr__(self) -> str:
        return f"<block '{self.name}': {self.arity} numbers, {self.count} results>"

    def results(self, arguments: Sequence[object]) -> list[Expr]:
        """Return the results at these arguments, each an expression."""
        assert len(arguments) == self.arity, (self, len(arguments))
        return parts(call(self, tuple(as_expr(a) for a in arguments), None))

    @abstractmethod
    def value(self, *arguments: float) -> np.ndarray:
        """Return all results for numbers as arguments."""

    @abstractmethod
    def tangent(self, node: Expr, rates: Sequence[Expr]) -> Expr:
        """Return a block that computes the derivatives of the results of ``node``, a call of this function,
        from the derivatives of its arguments.
        """


class BlockPart:
    """The function that takes result ``index`` out of a block."""

    name = "part"
    arity = 1
    dimension = None
    argument_dimensions = (None,)

    def __init__(self, index: int) -> None:
        self.index = index
        self.digest = crc32(f"part {index}".encode())

    def __hash__(self) -> int:
        return self.digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockPart) and self.index == other.index

    def __repr__(self) -> str:
        return f"<part {self.index} of a block>"

    def value(self, block: np.ndarray) -> float:
        """Return one number of a block's value."""
        return float(block[self.index])

    def tangent(self, node: Expr, rates: Sequence[Expr]) -> Expr:
        """Return the same part of the block's derivative; zero for a piecewise constant part."""
        return call(self, (rates[0],), None) if self.index < node.args[0].data.smooth else ZERO


def parts(block: Expr) -> list[Expr]:
    """Return all results of a call of a block function."""
    return [call(BlockPart(k), (block,), None) for k in range(block.data.count)]


def is_block(node: Expr) -> bool:
    """Return whether a node is a call of a block function."""
    return node.kind == "call" and isinstance(node.data, BlockFunction)


def is_block_part(node: Expr) -> bool:
    """Return whether a node takes one number out of a block."""
    return node.kind == "call" and isinstance(node.data, BlockPart)


# A user's compiled functions: C functions or Numba cfuncs, which generated code calls by their addresses.


class ForeignFunction:
    """A compiled function ``double f(double, …)`` called by its address.

    ``address`` is an integer, a ctypes function, or an object with an ``address``, such as Numba's cfuncs;
    the foreign function keeps a reference to it. ``partials`` are the partial derivatives, one callable of
    all arguments for each argument (other foreign functions, or Python functions of expressions).
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
        self.address = _function_address(name, address)
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
        """Return a node if an argument is an expression, else the values for numbers and arrays."""
        if len(args) != self.arity:
            raise ExpressionError(f"'{self.name}' takes {self.arity} argument(s), but has {len(args)}")
        if not any(isinstance(a, Expr) for a in args):
            return self.value(*args)
        return call(self, tuple(as_expr(a) for a in args), self.dimension)

    def value(self, *args: object) -> np.ndarray:
        """Return the value at numbers or arrays, through ctypes, one point after another."""
        function = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * self.arity)(self.address)
        where = np.broadcast_arrays(*[np.asarray(a, dtype=float) for a in args])
        points = zip(*[w.ravel().tolist() for w in where], strict=True)
        return np.array([function(*point) for point in points]).reshape(where[0].shape)[()]

    def partials(self, *args: Expr) -> list[Expr]:
        """Return the partial derivatives at the arguments, as expressions."""
        if self.derivatives is None:
            remedy = "give ForeignFunction(…, partials=[…])"
            raise ExpressionError(f"foreign function '{self.name}' cannot be differentiated: {remedy}")
        return [as_expr(derivative(*args)) for derivative in self.derivatives]


def _function_address(name: str, source: object) -> int:
    found: Given = getattr(source, "address", source)
    if not isinstance(found, int):
        try:
            if isinstance(found, str | bytes):  # ctypes would use the address of the text
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
