"""A model's rates, outputs, steps and runs as functions of JAX, differentiated by our compiled adjoint.

`jax.jit`, `jax.grad`, `jax.jacrev` and `jax.vmap` go through them: each is a `pure_callback` with a
`custom_vjp`, and mapped axes become rows of one compiled loop. They run on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from armillary.control.array_functions import ArrayFunction, ArrayFunctions, checked_time
from armillary.errors import require
from armillary.untyped import LibraryObject


@dataclass(frozen=True, eq=False)
class JaxFunctions:
    """Functions of JAX arrays: x states, v inputs, p parameters, all in the model's own units.

        derivatives(x, v, p, t)   ẋ
        outputs(x, v, p, t)       outputs, in stated units
        step(x, v, p, t)          x after a step with v held
        run(x, v, p, t)           x at the start and after each step, for rows of v

    v and p may be left out: inputs as at the start of a run, parameters by their defaults. A run without v
    takes ``steps=``. ``states``, ``inputs``, ``parameters`` and ``output_names`` name the elements,
    ``start`` is the described initial state and ``defaults`` are the parameters' values.
    """

    derivatives: Callable[..., LibraryObject]
    outputs: Callable[..., LibraryObject]
    step: Callable[..., LibraryObject]
    run: Callable[..., LibraryObject]
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    output_names: tuple[str, ...]
    start: np.ndarray
    defaults: np.ndarray


def to_jax(functions: ArrayFunctions) -> JaxFunctions:
    """The functions in JAX; see ``stages/control.py``, whose verb it is."""
    jax = require("jax", extra="jax", purpose="to make functions of JAX")
    f = functions
    made = {"derivatives": f.rates, "outputs": f.outputs, "step": f.step, "run": f.run}
    return JaxFunctions(
        **{name: _bridge(jax, name, function, f) for name, function in made.items()},
        states=f.states, inputs=f.inputs, parameters=f.parameters, output_names=f.output_names,
        start=f.start, defaults=f.defaults,
    )  # fmt: skip


def _bridge(
    jax: LibraryObject, name: str, function: ArrayFunction, of: ArrayFunctions
) -> Callable[..., LibraryObject]:
    jnp = jax.numpy

    def call(
        host: Callable[..., LibraryObject], shapes: LibraryObject, *given: LibraryObject
    ) -> LibraryObject:
        def back(*arrays: LibraryObject) -> LibraryObject:
            return host(*(np.asarray(a) for a in arrays))

        return jax.pure_callback(back, shapes, *given, vmap_method="broadcast_all")

    def result(x: LibraryObject, v: LibraryObject) -> LibraryObject:
        lead = x.shape[:-1]
        return jax.ShapeDtypeStruct((*lead, *function.shape(v.shape[len(lead) :])), x.dtype)

    def differentiable(t: float) -> Callable[..., LibraryObject]:
        @jax.custom_vjp  # type: ignore[untyped-decorator]  # the library may not be installed
        def compute(x: LibraryObject, v: LibraryObject, p: LibraryObject) -> LibraryObject:
            return call(lambda *a: function.value(t, *a), result(x, v), x, v, p)

        def forward(*given: LibraryObject) -> tuple[LibraryObject, LibraryObject]:
            return compute(*given), given

        def backward(given: LibraryObject, weights: LibraryObject) -> LibraryObject:
            shapes = tuple(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in given)
            return call(lambda *a: tuple(function.pull(t, *a)), shapes, *given, weights)

        compute.defvjp(forward, backward)
        made: Callable[..., LibraryObject] = compute
        return made

    known: dict[float, Callable[..., LibraryObject]] = {}

    def bridged(
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

    bridged.__name__ = bridged.__qualname__ = name
    return bridged
