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
        llvm = prepared()
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.slp_vectorization = vectorise
        self._engine = engine(llvm.parse_assembly(text), level, options)

    def address(self, name: str) -> int:
        """Address of a function, 0 where the module has none of that name."""
        return self._engine.get_function_address(name)


def prepared() -> Any:
    """LLVM's binding, ready to compile for this machine and to find the library's functions."""
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


def engine(module: Any, level: int, options: Any) -> Any:
    """A module optimised with these options and compiled; its code lives as long as the engine.

    In the small code model constants are operands of instructions; in a JIT's default one the address of each
    is loaded first, 29 of the Stanford arm's 496 instructions.
    """
    llvm = prepared()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=level,
        reloc="pic",
        codemodel="small",
        jit=True,
    )
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    made = llvm.create_mcjit_compiler(module, machine)
    made.finalize_object()
    return made
