"""Programs and loops as WebAssembly, compiled in this process: LLVM's object code, linked here.

Read ``web_assembly`` below first; ``linker.py`` makes a module of an object, ``library.py`` holds what C's
library gives elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from armillary.llvm.jit import LlvmObject, prepared, quick, translated
from armillary.llvm.web_assembly.library import HOSTS, for_modules, library_text
from armillary.llvm.web_assembly.linker import STACK, Linked, linked

__all__ = ["Linked", "web_assembly"]

_TRIPLE = "wasm32-unknown-unknown"


def web_assembly(
    texts: Sequence[str],
    exports: Sequence[str],
    *,
    room: int = 0,
    apart: Sequence[str] = (),
    table: Sequence[str] = (),
    stack: int = 0,
) -> Linked:
    """Modules of LLVM text as one WebAssembly module that exports some of their functions.

    ``room`` is the memory in bytes that the host needs behind the module's own; functions named in ``apart``
    are never copied into others, which keeps the module small; those in ``table`` are called by their place
    in it, from 1 on. The stack has ``stack`` bytes more than is usual.
    """

    kept = {*exports, *table}

    def adjust(module: LlvmObject) -> None:
        for function in module.functions:
            if function.name in apart:
                function.add_function_attribute("noinline")
            if not function.is_declaration and function.name not in kept:
                function.linkage = "internal"

    code = translated([*map(for_modules, texts), library_text()], *_builder(quick()), adjust)
    return linked(code, exports, HOSTS, room, table, STACK + stack)


@cache
def _builder(quick: bool) -> tuple[LlvmObject, LlvmObject]:
    """A target machine with vectors of 128 bits, and LLVM's passes for it; none if ``quick``."""
    llvm = prepared()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    level, speed = (0, 0) if quick else (3, 2)
    machine = llvm.Target.from_triple(_TRIPLE).create_target_machine(opt=level, features="+simd128")
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    options.loop_vectorization, options.slp_vectorization = False, False
    return machine, llvm.create_pass_builder(machine, options)
