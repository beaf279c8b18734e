"""Compilation of LLVM text in this process; the code lives as long as the object that holds it."""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import Any

LIBRARY_FUNCTIONS = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "pow", "fma")

_ready = False


class Compiled:
    """Functions of one module, by name; freed with this object."""

    def __init__(self, text: str, *, level: int = 2, vectorise: bool = False) -> None:
        self._engine = _compile(text, level, vectorise)

    def address(self, name: str) -> int:
        """Address of a function, 0 where the module has none of that name."""
        return self._engine.get_function_address(name)


def _prepare() -> Any:
    global _ready
    import llvmlite.binding as llvm

    if not _ready:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        library = ctypes.CDLL(ctypes.util.find_library("m") or None)
        for name in LIBRARY_FUNCTIONS:
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            llvm.add_symbol(name, address)
        _ready = True
    return llvm


def _compile(text: str, level: int, vectorise: bool) -> Any:
    llvm = _prepare()
    module = llvm.parse_assembly(text)
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=level,
        reloc="pic",
        codemodel="small",
        jit=True,
    )
    module.triple = machine.triple
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.slp_vectorization = vectorise
    builder = llvm.create_pass_builder(machine, options)
    manager = builder.getModulePassManager()
    manager.run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine
