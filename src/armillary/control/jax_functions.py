"""A model's rates, outputs, steps and runs as functions of JAX, differentiated by compiled code.

Each function is a `pure_callback`. Its derivative along a direction is a primitive defined here, which is
linear in the direction. The tangents of the steps compute this primitive, and the adjoint of the steps its
transpose. So `jax.jit`, `jax.grad`, `jax.jvp`, `jax.jacfwd`, `jax.jacrev` and `jax.vmap` work, and mapped
axes are rows of one compiled loop. The functions run on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

import numpy as np

from armillary.control.array_functions import (
    FIRST_DERIVATIVES,
    ArrayFunction,
    ArrayFunctions,
    LibraryFunctions,
    checked_time,
    fill_library_functions,
)
from armillary.errors import ArmillaryError, require
from armillary.runtime.models.compiled import CompiledModel
from armillary.untyped import LibraryObject


@dataclass(frozen=True, eq=False)
class JaxFunctions(LibraryFunctions):
    """Functions of JAX arrays: x states, v inputs, p parameters, all in the model's own units.

    `LibraryFunctions` describes the functions and names.
    """


def to_jax(
    model: CompiledModel,
    inputs: Sequence[str] | None = None,
    parameters: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    *,
    step: float | None = None,
    method: str = "rk4",
    parts: int = 1,
    ignore_jumps: bool = False,
) -> JaxFunctions:
    """Return rates, outputs, a step and a whole run as JAX functions with forward and reverse derivatives.

    ``inputs`` are the names of the inputs v, by default all, and ``parameters`` those of the parameters p,
    by default none. ``outputs`` selects outputs as in ``with_sensitivities``. Inputs are held for a
    ``step``, which is made of ``parts`` equal steps of an explicit ``method``. `jax.jit`, `grad`, `jvp` and
    `vmap` work; the code runs on the CPU.
    """
    functions = ArrayFunctions(model, inputs, parameters, outputs, step, method, parts, ignore_jumps)
    jax = require("jax", extra="jax", purpose="to make functions of JAX")
    return fill_library_functions(
        JaxFunctions, functions, lambda name, function: _bridge(jax, name, function, functions)
    )


class _Host:
    """The Python side of a function, which JAX calls back; it is passed to the primitive as a parameter."""

    def __init__(self, jax: LibraryObject, name: str, function: ArrayFunction) -> None:
        self.jax, self.name, self.function = jax, name, function

    def refuse_second_derivative(self) -> NoReturn:
        """Raise an error that names the remedy, which JAX's own error does not."""
        raise ArmillaryError(FIRST_DERIVATIVES.format(name=self.name))

    def shape(self, x: LibraryObject, v: LibraryObject) -> tuple[int, ...]:
        """Return the shape of the results."""
        lead = x.shape[:-1]
        return (*lead, *self.function.shape(v.shape[len(lead) :]))

    def _call(
        self, compute: Callable[..., LibraryObject], shapes: object, *given: LibraryObject
    ) -> LibraryObject:
        """Return the results of a computation on arrays.

        A callback of JAX gets copies. Outside of `jit`, DLPack reads arrays without a copy, and JAX uses
        results without a copy if they are aligned like its own arrays.
        """

        def back(*arrays: LibraryObject) -> LibraryObject:
            return compute(*(np.asarray(a) for a in arrays))

        if all(self._readable(a) for a in given):
            found = compute(*(np.from_dlpack(a) for a in given))
            share = self.jax.numpy.from_dlpack
            return self.jax.tree.map(lambda a: share(np.ascontiguousarray(a)), found)
        return self.jax.pure_callback(back, shapes, *given, vmap_method="broadcast_all")

    def _readable(self, array: LibraryObject) -> bool:
        """Return whether an array is not a tracer of JAX, and is in the memory of the CPU."""
        known = not isinstance(array, self.jax.core.Tracer)
        return known and {device.platform for device in array.devices()} == {"cpu"}

    def value(self, t: float, x: LibraryObject, v: LibraryObject, p: LibraryObject) -> LibraryObject:
        result = self.jax.ShapeDtypeStruct(self.shape(x, v), x.dtype)
        return self._call(lambda *a: self.function.value(t, *a), result, x, v, p)

    def push(self, t: float, *given: LibraryObject) -> LibraryObject:
        result = self.jax.ShapeDtypeStruct(self.shape(given[0], given[1]), given[0].dtype)
        return self._call(lambda *a: self.function.push(t, *a), result, *given)

    def pull(self, t: float, *given: LibraryObject) -> LibraryObject:
        shapes = tuple(self.jax.ShapeDtypeStruct(a.shape, a.dtype) for a in given[:3])

        def compute(*arrays: LibraryObject) -> LibraryObject:
            return self._call(lambda *a: tuple(self.function.pull(t, *a)), shapes, *arrays)

        once: LibraryObject = self.jax.custom_jvp(compute)
        once.defjvp(lambda at, along: self.refuse_second_derivative())
        return once(*given)


@cache
def _push_primitive() -> LibraryObject:
    """Return the JAX primitive for the derivative of a function at (x, v, p) along (ẋ, v̇, ṗ)."""
    purpose = "to make functions of JAX"
    jax, core, ad, batching, mlir = (
        require(name, extra="jax", purpose=purpose)
        for name in (
            *("jax", "jax.extend.core", "jax.interpreters.ad", "jax.interpreters.batching"),
            "jax.interpreters.mlir",
        )
    )
    primitive = core.Primitive("armillary_push")

    def compute(*given: LibraryObject, host: _Host, t: float) -> LibraryObject:
        return host.push(t, *given)

    def result_shape(*given: LibraryObject, host: _Host, t: float) -> LibraryObject:
        return given[3].update(shape=host.shape(given[0], given[1]))

    def transpose(weights: LibraryObject, *given: LibraryObject, host: _Host, t: float) -> LibraryObject:
        places, moves = given[:3], given[3:]
        if type(weights) is ad.Zero:
            return (None,) * 6
        found = host.pull(t, *places, weights)
        return (None,) * 3 + tuple(
            g if ad.is_undefined_primal(m) else None for g, m in zip(found, moves, strict=True)
        )

    def map_rows(
        given: LibraryObject, axes: LibraryObject, *, host: _Host, t: float
    ) -> tuple[LibraryObject, int]:
        jnp = jax.numpy
        rows = next(a.shape[axis] for a, axis in zip(given, axes, strict=True) if axis is not None)
        front = [
            jnp.broadcast_to(a, (rows, *a.shape)) if axis is None else jnp.moveaxis(a, axis, 0)
            for a, axis in zip(given, axes, strict=True)
        ]
        return primitive.bind(*front, host=host, t=t), 0

    def jvp(given: LibraryObject, along: LibraryObject, *, host: _Host, t: float) -> LibraryObject:
        """Return the tangent by ẋ, v̇ and ṗ; a tangent of x, v or p would be a second derivative."""
        if any(type(a) is not ad.Zero for a in along[:3]):
            host.refuse_second_derivative()
        moves = [ad.instantiate_zeros(a) for a in along[3:]]
        bind = primitive.bind
        return bind(*given, host=host, t=t), bind(*given[:3], *moves, host=host, t=t)

    primitive.def_impl(compute)
    primitive.def_abstract_eval(result_shape)
    mlir.register_lowering(primitive, mlir.lower_fun(compute, multiple_results=False))
    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = transpose
    batching.primitive_batchers[primitive] = map_rows
    return primitive


def _bridge(
    jax: LibraryObject, name: str, function: ArrayFunction, of: ArrayFunctions
) -> Callable[..., LibraryObject]:
    jnp, host = jax.numpy, _Host(jax, name, function)

    def differentiable(t: float) -> Callable[..., LibraryObject]:
        def compute(x: LibraryObject, v: LibraryObject, p: LibraryObject) -> LibraryObject:
            return host.value(t, x, v, p)

        made: LibraryObject = jax.custom_jvp(compute)

        def change(at: LibraryObject, along: LibraryObject) -> LibraryObject:
            return made(*at), _push_primitive().bind(*at, *along, host=host, t=t)

        made.defjvp(change)
        found: Callable[..., LibraryObject] = made
        return found

    known: dict[float, Callable[..., LibraryObject]] = {}

    def bridge(
        x: LibraryObject,
        v: LibraryObject = None,
        p: LibraryObject = None,
        t: float = 0.0,
        steps: int | None = None,
    ) -> LibraryObject:
        x = jnp.asarray(x)
        x = x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.zeros(0).dtype)
        lead = x.shape[:-1]
        if v is None:
            v = jnp.asarray(of.default_inputs(name, steps), dtype=x.dtype)
        p = jnp.asarray(of.defaults if p is None else p, dtype=x.dtype)
        v = jnp.asarray(v, dtype=x.dtype)
        v = jnp.broadcast_to(v, (*lead, *v.shape[-function.inputs :])) if v.ndim >= function.inputs else v
        p = jnp.broadcast_to(p, (*lead, *p.shape[-1:])) if p.ndim else p
        of.compile(name)
        of.check(x.shape, v.shape, p.shape, function.inputs, name)
        at = checked_time(t)
        if at not in known:
            known[at] = differentiable(at)
        return known[at](x, v, p)

    bridge.__name__ = bridge.__qualname__ = name
    return bridge
