"""Compilation of LLVM text in this process; the code lives as long as the object that holds it."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from typing import Any

from armillary.backends import cache

LIBRARY_FUNCTIONS = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "pow", "fma")

_ready = False


class Compiled:
    """Functions of one module, by name; freed with this object."""

    def __init__(self, text: str, *, level: int = 2, vectorise: bool = False) -> None:
        def options() -> Any:
            made = prepared().create_pipeline_tuning_options(speed_level=1)
            made.slp_vectorization = vectorise
            return made

        # The address of a foreign function is another one in the next process.
        name = "" if "inttoptr" in text else f"program {level} {vectorise} {text}"
        self._engine = engine(name, lambda: prepared().parse_assembly(text), level, options)

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


def engine(name: str, module: Callable[[], Any], level: int, options: Callable[[], Any]) -> Any:
    """A module optimised with these options and compiled; its code lives as long as the engine.

    ``name`` tells all that decides the code; code of that name is taken from the cache where it is there, and
    then no module is made. "" for code that is of use in this process only.

    In the small code model constants would be operands of instructions; in a JIT's default one the address of
    each is loaded first, 29 of the Stanford arm's 496 instructions, a few nanoseconds. But code and constants
    are blocks of their own, and where a process has mapped much (JAX does) they may lie further apart than
    the small model reaches, which ends the process.
    """
    llvm = prepared()
    machine, described = _machine(level)
    key = cache.digest(described, name) if name else ""
    code = cache.fetch(key) if key else None
    if code is None:
        code = _object_code(module(), machine, options())
        if key:
            cache.keep(key, code)
    empty = llvm.parse_assembly("")
    empty.triple, empty.data_layout = machine.triple, str(machine.target_data)
    made = llvm.create_mcjit_compiler(empty, machine)
    made.add_object_file(llvm.ObjectFileRef.from_data(code))
    made.finalize_object()
    return made


def _machine(level: int) -> tuple[Any, str]:
    """What to compile for, and the words that tell it from others."""
    import llvmlite

    llvm = prepared()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=level, codemodel="jitdefault", jit=True
    )
    return machine, f"{llvmlite.__version__} {machine.triple} {cpu} {features} {level} jitdefault"


def _object_code(module: Any, machine: Any, options: Any) -> bytes:
    llvm = prepared()
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))
