"""Compilation of LLVM text in this process; the code is freed with the object that holds it."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache as once
from typing import Any, NamedTuple, TypeAlias

from armillary import cache
from armillary.errors import ArmillaryError
from armillary.llvm.instructions import LABEL

LIBRARY_FUNCTIONS = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "pow", "fma"),
    *("tanh", "floor", "ceil", "fmod"),
)

_ready = False
_LEVEL = 2  # LLVM's level of code generation for programs
_LEAST_STACK = 512 * 1024  # bytes: with 450 KB LLVM crashes the process
_ADDRESS = re.compile(r"inttoptr \(?i64 \d")
_PRODUCT_AND_SUM = re.compile(
    r"%(\S+) = call (double|<\d+ x double>) @llvm\.fmuladd\.\w+\(\2 (.*), \2 (.*), \2 (.*)\)"
)


LlvmObject: TypeAlias = Any  # a module, engine, machine or builder of llvmlite, which has no types


def holds_addresses(text: str) -> bool:
    """Return whether code holds addresses of other objects, which are different in the next process."""
    return "inttoptr" in text and _ADDRESS.search(text) is not None


def is_arranged(text: str) -> bool:
    """Return whether a module holds code scheduled here (arrangement.py), as LLVM lines or machine code."""
    return LABEL in text or "module asm" in text


class Compiled:
    """Functions of one module, by name; freed with this object.

    With ``plain``, LLVM allocates registers in the order of the lines, without scheduling and without
    searches for common operands, unless the code is arranged.
    """

    def __init__(self, text: str, *, plain: bool = False) -> None:
        self.tier = "quick" if quick() else "final"
        arranged = is_arranged(text)
        level = 0 if plain and not arranged else _LEVEL
        name = "" if holds_addresses(text) else f"program {level} {text}"
        passes = ARRANGED if arranged or level == 0 else UNBRANCHED
        self._engine = engine(name, lambda: [text], level, passes)
        self._addresses: dict[str, int] = {}

    def address(self, name: str) -> int:
        """Return the address of a function, 0 if the module has none of that name."""
        if name not in self._addresses:  # LLVM takes 5 µs
            self._addresses[name] = self._engine.get_function_address(name)
        return self._addresses[name]


class Passes(NamedTuple):
    """LLVM's standard pipeline of a level, with or without vectorisation of loops and straight-line code.

    Negative levels are not levels of LLVM: they identify the lists of passes below (``_chosen_passes``).
    """

    speed: int
    loops: bool = True
    straight: bool = False


# Passes for code without branches: functions inlined, operands in a canonical order (Reassociate), operations
# simplified together (InstCombine). The code is as fast as with LLVM's pipeline of level 1 and its results
# are the same to the last bit. It compiles in a quarter of the time: 0.06 s, not 0.27 s, for a chain of 64
# links. Without the last two passes, a hub with panels is 6 % slower.
UNBRANCHED = Passes(-1)
# Passes for arranged code: only inlining. The other two passes would move operations (the arm is 5 % slower)
# and take a tenth of LLVM's time.
ARRANGED = Passes(-2)
# Passes for code with loops that is executed once in a run. They take half the compile time of LLVM's
# pipeline of level 1. Closing the kinematic loops of a platform with six legs takes 61 µs, with LLVM's
# pipeline 50 µs.
BRANCHED = Passes(-3)
# Passes for general loops: variables become registers and operations are simplified; functions with the
# attribute optsize are only translated. The loops run as fast as with LLVM's pipeline of level 3 and compile
# in a quarter of the time.
GENERAL = Passes(-4)
# Passes for loops in one function that only make fixed steps: as GENERAL, and fields are kept in registers
# between operations. Runs of the arm take 0.985 of the time, at equal compile time. Loops with adaptive steps
# would compile in 1.5 times the time.
PLAIN = Passes(-5)


@once
def library_addresses() -> dict[str, int]:
    """Return the addresses of the functions of the C library."""
    library = ctypes.CDLL(ctypes.util.find_library("m") or None)
    found = {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in LIBRARY_FUNCTIONS}
    return {name: address for name, address in found.items() if address}


def prepare_llvm() -> LlvmObject:
    """Return LLVM's binding, initialised for this machine and with the addresses of library functions."""
    global _ready
    import llvmlite.binding as llvm

    if not _ready:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.initialize_native_asmparser()
        for name, address in library_addresses().items():
            llvm.add_symbol(name, address)
        # Without optimisation LLVM would use GlobalISel for arm64, whose code is a fifth slower.
        llvm.set_option("", "-global-isel=0")
        _ready = True
    return llvm


def _check_stack() -> None:
    """Raise an error in a thread whose stack is too small for LLVM.

    A function of LLVM's code generator for arm64 has a frame of some 450 KB; a stack overflow would end the
    process.
    """
    size = threading.stack_size()  # the call also resets it to 0
    if size:
        threading.stack_size(size)
    if 0 < size < _LEAST_STACK and threading.current_thread() is not threading.main_thread():
        raise ArmillaryError(
            f"threads with a stack of {size // 1024} KB are too small to compile in, which takes "
            f"{_LEAST_STACK // 1024} KB: let threading.stack_size() be larger, or run the model once before "
            "in the main thread"
        )


def engine(
    name: str,
    texts: Callable[[], Sequence[str]],
    level: int,
    passes: Passes,
    adjust: Callable[[LlvmObject], None] | None = None,
    *,
    of_all_models: bool = False,
) -> LlvmObject:
    """Link modules, optimise and compile them; the code lives as long as the engine.

    ``name`` identifies the code completely. If the cache has code of that name, ``texts`` is not called; use
    "" for code of this process only. ``adjust`` changes the linked module before it is optimised. Code
    ``of_all_models`` is optimised in every tier.

    The code model is the default one of a JIT, in which the address of each constant is loaded first: 29 of
    the Stanford arm's 496 instructions, a few nanoseconds. In the small model constants would be operands of
    instructions. But code and constants are separate blocks; in a process with many mappings (JAX) they may
    be further apart than the small model reaches, which crashes the process.
    """
    _check_stack()
    llvm = prepare_llvm()
    if quick() and not of_all_models:
        level, passes = 0, Passes(0, loops=False)
    key = cache.digest(machine_code_key(level), "objects", name) if name else ""
    code = cache.fetch(key) if key else None
    if code is None:
        code = _object_code(texts(), level, passes, adjust)
        if key:
            cache.keep(key, code)
    machine = _machine(level)  # a separate machine, which the engine disposes of
    empty = llvm.parse_assembly("")
    empty.triple, empty.data_layout = machine.triple, str(machine.target_data)
    made = llvm.create_mcjit_compiler(empty, machine)
    for part in _unpack(code):
        made.add_object_file(llvm.ObjectFileRef.from_data(part))
    made.finalize_object()
    return made


_tier: ContextVar[str] = ContextVar("tier", default="final")


@contextmanager
def tier(name: str) -> Iterator[None]:
    """Compile with the tier "final" (optimised) or "quick" in the `with` block."""
    token = _tier.set(name)
    try:
        yield
    finally:
        _tier.reset(token)


def quick() -> bool:
    """Return whether the tier or ``ARMILLARY_COMPILE`` is "quick".

    In the quick tier LLVM only translates. Code is not arranged and has no vectors of branches; products and
    sums are not fused, so last digits may differ. The tier saves time in short runs of models that often
    change, such as tests.
    """
    given = os.environ.get("ARMILLARY_COMPILE", "")
    if given not in ("", "full", "quick"):
        raise ArmillaryError(f"ARMILLARY_COMPILE is {given!r}; it can be 'full' (the default) or 'quick'")
    return given == "quick" or _tier.get() == "quick"


def machine_settings() -> tuple[object, ...]:
    """Return the user's settings of machine code, as a key."""
    return os.environ.get("ARMILLARY_CPU"), os.environ.get("ARMILLARY_COMPILE"), _tier.get()


def features() -> dict[str, bool]:
    """Return the features of this processor, by LLVM's names.

    ``ARMILLARY_CPU`` removes features ("-fma,-avx"), to get the results of a processor without them.
    """
    found = _host().features
    return found | {name: False for name in _taken_away() if name in found}


class Host(NamedTuple):
    """This machine by LLVM's names."""

    triple: str
    cpu: str
    features: dict[str, bool]


@once
def _host() -> Host:
    llvm = prepare_llvm()
    triple = llvm.get_default_triple()
    return Host(triple, llvm.get_host_cpu_name(), everywhere(triple) | dict(llvm.get_host_cpu_features()))


def everywhere(triple: str) -> dict[str, bool]:
    """Return the vector features of all processors of an architecture, by target triple.

    LLVM finds no features on some machines, such as emulated ones.
    """
    always = {"x86_64": "sse2", "aarch64": "neon", "arm64": "neon"}.get(triple.partition("-")[0])
    return {always: True} if always else {}


def vector_doubles() -> int:
    """Return the doubles per vector for operations of one evaluation; 1 if there are no vectors.

    Vectors of 512 bits are not used: in most systems at most four branches are alike.
    """
    if quick():
        return 1
    here = features()
    return 4 if here.get("avx2") else 2 if here.get("neon") or here.get("sse2") else 1


def register_doubles() -> int:
    """Return the doubles in a vector register, for code that computes several rows or runs; at least 2."""
    here = features()
    return 8 if here.get("avx512f") else 4 if here.get("avx") else 2


def waits_for_parts() -> bool:
    """Return whether a load of several numbers that were stored separately waits for the cache.

    It waits on x86-64; Neoverse cores combine two stores.
    """
    return not quick() and _host().triple.startswith("x86_64")


def _taken_away() -> list[str]:
    words = os.environ.get("ARMILLARY_CPU", "").split(",")
    return [word.strip().removeprefix("-") for word in words if word.strip()]


def _fuses() -> bool:
    """Return whether products and sums may be fused: not if ARMILLARY_CPU removes "fma".

    On arm64, where every processor fuses, LLVM has no such feature, so the flags that permit fusing are
    removed from the modules.
    """
    return "fma" not in _taken_away()


def without_fusion(text: str) -> str:
    """Return a module without fused operations: products are rounded before additions."""
    return _PRODUCT_AND_SUM.sub(
        r"%product.\1 = fmul \2 \3, \4\n  %\1 = fadd \2 %product.\1, \5", text.replace(" contract ", " ")
    )


def registers(packs: bool = False) -> int:
    """Return for how many registers of doubles sections are arranged here; 0 if LLVM schedules them.

    Where Armillary writes no machine code, lines arranged for 16 registers are as fast as LLVM's own order
    for chains, and slower for trees (LLVM is faster by a third), since most instructions of x86-64 take an
    operand from memory. With ``packs`` (alike operations side by side in vectors) LLVM is faster by a twelfth
    even in 32 registers.
    """
    triple = _host().triple
    if quick():
        return 0
    if triple.startswith("x86_64"):
        wide = _has("avx512f", "avx512vl", "avx512dq")
        return (32 if wide else 16) if encodes() else 32 if wide and not packs else 0
    return 32 if triple.startswith(("aarch64", "arm64")) else 0


def _has(*names: str) -> bool:
    here = features()
    return all([here.get(name, False) for name in names])


def encodes() -> str:
    """Return the instruction set, "arm64" or "x86_64", for which Armillary writes machine code; else "".

    LLVM writes all code in the quick tier, if operations may not be fused, and on Windows, where large stack
    frames need further code.
    """
    triple = _host().triple
    if "windows" in triple or not _fuses() or quick():
        return ""
    if triple.startswith("x86_64"):
        return "x86_64" if _has("avx2", "fma") else ""
    return "arm64" if triple.startswith(("aarch64", "arm64")) else ""


def machine_code_key(level: int) -> str:
    """Return words that identify machine code of a level, of this processor and this LLVM."""
    import llvmlite

    host = _host()
    return f"{llvmlite.__version__} {host.triple} {host.cpu} {_flags()} {_fuses()} {level} jitdefault"


def _flags() -> str:
    return ",".join(f"{'+' if has else '-'}{name}" for name, has in sorted(features().items()))


def _machine(level: int) -> LlvmObject:
    llvm = prepare_llvm()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=_host().cpu, features=_flags(), opt=level, codemodel="jitdefault", jit=True
    )


def vectorise_functions(text: str, names: Sequence[str]) -> list[str]:
    """Split a module in two; the second has some internal functions, optimised by LLVM's level 2.

    These functions must not call others.
    """
    from llvmlite.binding.newpassmanagers import NewPassManager

    if quick():
        return [text]
    heads = re.compile(rf"^define internal (.*@armillary_(?:{'|'.join(names)})\(.*)\n", re.MULTILINE)
    declared = re.findall(r"^declare .*\n", text, re.MULTILINE)
    own, rest, done = declared, "", 0
    for head in heads.finditer(text):
        end = text.index("\n}\n", head.end()) + len("\n}\n")
        own.append(f"define {head[1]}\n{text[head.end() : end]}")
        rest += f"{text[done : head.start()]}declare {head[1]}\n"
        done = end
    llvm = prepare_llvm()
    machine, builder = _builder(3, Passes(2), _flags())
    module = llvm.parse_assembly("".join(own), llvm.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    manager = builder.getModulePassManager()
    manager.run(module, builder)
    NewPassManager._dispose(manager)  # see `translate_modules`
    manager.detach()
    return [rest + text[done:], str(module)]


_LENGTH_BYTES = 8
_MUCH = 40_000  # least characters of rare functions for a separate module, which takes 10 ms
_FUNCTION = re.compile(r"^define .*?^}\n", re.MULTILINE | re.DOTALL)
_RARE_HEAD = re.compile(r"^define .* optnone.*$", re.MULTILINE)
_SYMBOL = re.compile(r'@("\\01[\w.]+"|[\w.]+)')  # names of arranged code are quoted
_METADATA = re.compile(r"!\d+")  # for example the weights of a branch


def _pack(parts: Sequence[bytes]) -> bytes:
    """Return several object files as one byte string."""
    return b"".join(len(part).to_bytes(_LENGTH_BYTES, "little") + part for part in parts)


def _unpack(data: bytes) -> list[bytes]:
    """Return the object files of a byte string from `_pack`."""
    parts, first = [], 0
    while first < len(data):
        end = first + _LENGTH_BYTES
        length = int.from_bytes(data[first:end], "little")
        parts.append(data[end : end + length])
        first = end + length
    return parts


def _take_rare_functions(text: str) -> tuple[str, str]:
    """Return a module without its long functions that rarely run ("optnone"), and a module of these.

    LLVM translates the second module in an eighth of the time: in an optimised module it allocates registers
    with care in all functions, whatever their attributes.
    """
    rare = [text[m.start() : text.index("\n}\n", m.end())] for m in _RARE_HEAD.finditer(text)]
    if sum(map(len, rare)) < _MUCH:
        return text, ""
    needed = {name for function in rare for name in _SYMBOL.findall(function)}
    own, kept = [], []
    done = 0
    for found in _FUNCTION.finditer(text):
        kept.append(text[done : found.start()])
        done = found.end()
        function = found[0]
        head, _, _ = function.partition("\n")
        declared = head.removeprefix("define ").removeprefix("internal ").removesuffix(" {")
        name = _SYMBOL.findall(head)[0]
        if " optnone" in head:
            own.append(function.replace("define internal ", "define ", 1))
            kept.append(f"declare {declared.replace(' optnone', '')}\n")
        else:
            kept.append(function.replace("define internal ", "define ", 1) if name in needed else function)
            if name in needed:
                own.append(f"declare {declared.replace(' alwaysinline', '')}\n")
    kept.append(text[done:])
    # Constants are in both modules.
    lines = [line for part in kept[::2] for line in part.splitlines() if line[:1] in ("@", "d")]
    constants = {_SYMBOL.findall(line)[0]: line for line in lines if line.startswith("@")}
    for name in sorted(needed & set(constants)):
        needed |= set(_SYMBOL.findall(constants[name]))
    outside = [
        line
        for line in lines
        if line.startswith("declare ") and ("\\01" not in line or _SYMBOL.findall(line)[0] in needed)
    ]
    shared = [line for name, line in constants.items() if name in needed]
    return "".join(kept), "\n".join([*outside, *shared, *own, *_metadata_lines(text, own)])


def _metadata_lines(text: str, functions: Sequence[str]) -> list[str]:
    """Return the lines of a module that define the numbered metadata of some of its functions."""
    defined = {line.partition(" =")[0]: line for line in text.splitlines() if _METADATA.match(line)}
    lines: dict[str, str] = {}
    wanted = [number for function in functions for number in _METADATA.findall(function)]
    while wanted:
        number = wanted.pop()
        if number not in lines:
            lines[number] = defined[number]
            wanted += _METADATA.findall(defined[number].partition(" =")[2])
    return sorted(lines.values())


def _object_code(
    texts: Sequence[str], level: int, passes: Passes, adjust: Callable[[LlvmObject], None] | None = None
) -> bytes:
    """Return machine code: an object file of the linked modules, and perhaps one of rare functions."""
    translates = passes.speed == 0
    if not translates and len(texts) == 1:
        usual, rare = _take_rare_functions(texts[0])
        if rare:
            quickly = _object_code([rare], 0, Passes(0, loops=False))
            return _object_code([usual], level, passes, adjust) + quickly
    if translates or not _fuses():
        texts = [without_fusion(text) for text in texts]
    if translates:  # sines remain calls: inlining them would take up to half of the time
        texts = [text.replace(" alwaysinline", "") for text in texts]
    return _pack([translate_modules(texts, *_builder(level, passes, _flags()), adjust, passes)])


def translate_modules(
    texts: Sequence[str],
    machine: LlvmObject,
    builder: LlvmObject,
    adjust: Callable[[LlvmObject], None] | None = None,
    passes: Passes | None = None,
) -> bytes:
    """Return the object code of modules linked into one; LLVM's temporary objects are freed.

    The modules have a separate context, because the process-wide context keeps every number in them.
    llvmlite 0.50 frees neither a pass manager (its class inherits an empty ``_dispose`` first; 27 KiB each)
    nor the list of passes of a pass builder (1.5 KiB each, 12 KiB once it has run). So the manager is freed
    here explicitly, and one builder serves all modules of a level.
    """
    from llvmlite.binding.newpassmanagers import NewPassManager

    llvm = prepare_llvm()
    context = llvm.create_context()
    module, *others = (llvm.parse_assembly(text, context) for text in texts)
    for other in others:
        module.link_in(other)
    if adjust is not None:
        adjust(module)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    # A manager can run only once, since some passes release their data.
    chosen = passes in (UNBRANCHED, ARRANGED, BRANCHED, GENERAL, PLAIN)
    manager = _chosen_passes(llvm, passes) if chosen else builder.getModulePassManager()
    manager.run(module, builder)
    if passes == GENERAL:
        for function in module.functions:
            if any(b"optsize" in attributes for attributes in function.attributes):
                function.add_function_attribute("optnone")
    NewPassManager._dispose(manager)
    manager.detach()
    return bytes(machine.emit_object(module))


def _chosen_passes(llvm: LlvmObject, passes: Passes | None) -> LlvmObject:
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    if passes == BRANCHED:
        manager.add_sroa_pass()
        manager.add_instruction_combine_pass()
        manager.add_loop_rotate_pass()
        manager.add_new_gvn_pass()
        manager.add_simplify_cfg_pass()
    if passes in (GENERAL, PLAIN):
        manager.add_sroa_pass()
        manager.add_simplify_cfg_pass()
        manager.add_instruction_combine_pass()
    if passes == PLAIN:
        manager.add_new_gvn_pass()
        manager.add_jump_threading_pass()
        manager.add_dead_store_elimination_pass()
        manager.add_new_gvn_pass()
    if passes in (GENERAL, PLAIN):
        manager.add_simplify_cfg_pass()
    if passes == UNBRANCHED:
        manager.add_reassociate_pass()
        manager.add_instruction_combine_pass()
    return manager


@once
def _builder(level: int, passes: Passes, flags: str) -> tuple[LlvmObject, LlvmObject]:
    """Return a target machine and LLVM's pass builder for it; ``flags`` only identify that machine."""
    llvm = prepare_llvm()
    machine = _machine(level)
    options = llvm.create_pipeline_tuning_options(speed_level=max(passes.speed, 0))
    options.loop_vectorization, options.slp_vectorization = passes.loops, passes.straight
    return machine, llvm.create_pass_builder(machine, options)
