"""A model's rates, outputs, steps and runs as functions of PyTorch, differentiated by compiled code.

Each function is a `torch.autograd.Function` with forward and reverse derivatives. Tensors must be on the CPU;
their memory is shared, not copied (DLPack). One compiled loop computes all elements along leading axes and
along axes of `torch.func.vmap`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
class TorchFunctions(LibraryFunctions):
    """Functions of tensors: x states, v inputs, p parameters, all in the model's own units.

    `LibraryFunctions` describes the functions and names.
    """


def to_torch(
    model: CompiledModel,
    inputs: Sequence[str] | None = None,
    parameters: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    *,
    step: float | None = None,
    method: str = "rk4",
    parts: int = 1,
    ignore_jumps: bool = False,
) -> TorchFunctions:
    """Return rates, outputs, a step and a run as PyTorch functions with forward and reverse derivatives.

    Arguments are as for ``to_jax``. Tensors must be on the CPU, and their memory is not copied. One
    compiled loop computes all elements along leading axes and along axes of `torch.func.vmap`.
    """
    functions = ArrayFunctions(model, inputs, parameters, outputs, step, method, parts, ignore_jumps)
    torch = require("torch", extra="torch", purpose="to make functions of PyTorch")
    return fill_library_functions(
        TorchFunctions, functions, lambda name, function: _bridge(torch, name, function, functions)
    )


def _bridge(
    torch: LibraryObject, name: str, function: ArrayFunction, of: ArrayFunctions
) -> Callable[..., LibraryObject]:
    def array(tensor: LibraryObject) -> np.ndarray:
        return np.from_dlpack(tensor.detach().contiguous())

    def tensor(found: np.ndarray) -> LibraryObject:
        return torch.from_dlpack(np.ascontiguousarray(found))

    def front(info: LibraryObject, axes: LibraryObject, given: LibraryObject) -> list[LibraryObject]:
        """Return tensors with the mapped axis first; tensors without that axis are expanded."""
        found = []
        for a, axis in zip(given, axes, strict=True):
            mapped = a.expand(info.batch_size, *a.shape) if axis is None else a.movedim(axis, 0)
            found.append(mapped)
        return found

    class Pullback(torch.autograd.Function):  # type: ignore[misc]  # the library may not be installed
        @staticmethod
        def forward(t: float, *given: LibraryObject) -> LibraryObject:
            return tuple(tensor(a) for a in function.pull(t, *map(array, given)))

        @staticmethod
        def setup_context(ctx: LibraryObject, inputs: LibraryObject, output: LibraryObject) -> None:
            pass

        @staticmethod
        def backward(ctx: LibraryObject, *weights: LibraryObject) -> LibraryObject:
            raise ArmillaryError(FIRST_DERIVATIVES.format(name=name))

        @staticmethod
        def vmap(info: LibraryObject, axes: LibraryObject, t: float, *given: LibraryObject) -> LibraryObject:
            return Pullback.apply(t, *front(info, axes[1:], given)), (0, 0, 0)

    class Push(torch.autograd.Function):  # type: ignore[misc]  # the library may not be installed
        @staticmethod
        def forward(t: float, *given: LibraryObject) -> LibraryObject:
            return tensor(function.push(t, *map(array, given)))

        @staticmethod
        def setup_context(ctx: LibraryObject, inputs: LibraryObject, output: LibraryObject) -> None:
            pass

        @staticmethod
        def vmap(info: LibraryObject, axes: LibraryObject, t: float, *given: LibraryObject) -> LibraryObject:
            return Push.apply(t, *front(info, axes[1:], given)), 0

    class Bridge(torch.autograd.Function):  # type: ignore[misc]  # the library may not be installed
        @staticmethod
        def forward(t: float, *given: LibraryObject) -> LibraryObject:
            return tensor(function.value(t, *map(array, given)))

        @staticmethod
        def setup_context(ctx: LibraryObject, inputs: LibraryObject, output: LibraryObject) -> None:
            ctx.t = inputs[0]
            ctx.save_for_backward(*inputs[1:])
            ctx.save_for_forward(*inputs[1:])

        @staticmethod
        def backward(ctx: LibraryObject, weights: LibraryObject) -> LibraryObject:
            return None, *Pullback.apply(ctx.t, *ctx.saved_tensors, weights)

        @staticmethod
        def jvp(ctx: LibraryObject, _: LibraryObject, *moves: LibraryObject) -> LibraryObject:
            places = ctx.saved_tensors
            along = [torch.zeros_like(a) if m is None else m for a, m in zip(places, moves, strict=True)]
            return Push.apply(ctx.t, *places, *along)

        @staticmethod
        def vmap(info: LibraryObject, axes: LibraryObject, t: float, *given: LibraryObject) -> LibraryObject:
            return Bridge.apply(t, *front(info, axes[1:], given)), 0

    def bridge(
        x: LibraryObject,
        v: LibraryObject = None,
        p: LibraryObject = None,
        t: float = 0.0,
        steps: int | None = None,
    ) -> LibraryObject:
        x = torch.as_tensor(x)
        x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
        if x.device.type != "cpu":
            raise ArmillaryError(f"{name}: x is on {x.device}, and these functions run on the CPU: x.cpu()")
        lead = x.shape[:-1]
        v = of.default_inputs(name, steps) if v is None else v
        v, p = (torch.as_tensor(a).to(x.dtype) for a in (v, of.defaults if p is None else p))
        v = v.expand(*lead, *v.shape[-function.inputs :]) if v.ndim >= function.inputs else v
        p = p.expand(*lead, *p.shape[-1:]) if p.ndim else p
        of.compile(name)
        of.check(tuple(x.shape), tuple(v.shape), tuple(p.shape), function.inputs, name)
        return Bridge.apply(checked_time(t), x, v, p)

    bridge.__name__ = bridge.__qualname__ = name
    return bridge
