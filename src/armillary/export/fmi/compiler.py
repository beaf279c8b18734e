"""Compilers that turn sources into libraries: the system's for this machine, the ziglang wheel's for any.

Zig is a C compiler and a linker for all platforms, with headers and stubs of their C libraries, in one wheel.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

from armillary.errors import ArmillaryError
from armillary.export.fmi.platforms import PLATFORMS, this_platform
from armillary.llvm.jit import quick

# Products and sums are not fused, so that the numbers are those of the standard on every machine.
FLAGS = ("-std=c99", "-ffp-contract=off", "-fvisibility=hidden")


_ZIG = (sys.executable, "-m", "ziglang")
# Zig checks for undefined behaviour while a program runs, unless an option turns that off.
_ZIG_FLAGS = ("-fno-sanitize=undefined", "-fno-stack-protector", "-g0")


def has_zig() -> bool:
    """Whether the ziglang wheel is there."""
    return importlib.util.find_spec("ziglang") is not None


def find_compiler() -> list[str]:
    """The command of a C compiler: $CC, cc, gcc or clang, else that of the ziglang wheel."""
    named = shlex.split(os.environ.get("CC", ""))
    if named:
        if shutil.which(named[0]) is None:
            raise ArmillaryError(
                f"the C compiler that CC names, '{named[0]}', is not there; correct CC or unset it"
            )
        return named
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    if has_zig():
        return [*_ZIG, "cc"]
    raise ArmillaryError(
        "there is no C compiler to build a library with: install one, or pip install ziglang; an FMU of "
        "sources alone needs none: binary=False (--option binary=false)"
    )


def compile_library(sources: Mapping[str, str], suffix: str, flags: Sequence[str] = FLAGS) -> bytes:
    """The sources as a shared library for this machine, optimised unless ``ARMILLARY_COMPILE`` is "quick".

    Those that are the same for all models are then one file: most of their time goes into common headers.
    """
    command = [*find_compiler(), "-O0" if quick() else "-O2"]
    position = [] if sys.platform == "win32" else ["-fPIC"]
    texts, made = dict(sources), [name for name in sources if name.endswith(".c")]
    common = [name for name in made if files(__package__).joinpath("sources", name).is_file()]
    if quick() and common:
        texts["common-sources.c"] = "".join(f'#include "{name}"\n' for name in common)
        made = [*(name for name in made if name not in common), "common-sources.c"]
    with tempfile.TemporaryDirectory(prefix="armillary-") as folder, ThreadPoolExecutor() as pool:
        for name, text in texts.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        list(pool.map(lambda name: _run([*command, *flags, *position, "-c", name], folder), made))
        objects = [str(Path(name).with_suffix(".o")) for name in made]
        libraries = [] if sys.platform == "win32" else ["-lm"]
        _run([*command, "-shared", *objects, "-o", f"model{suffix}", *libraries], folder)
        return Path(folder, f"model{suffix}").read_bytes()


def build_library(sources: Mapping[str, str], name: str) -> bytes:
    """The sources as a library for a platform, by its name."""
    if not has_zig():
        if name == this_platform():
            return compile_library(sources, PLATFORMS[name].suffix)
        raise ArmillaryError(
            f"a library for {name} cannot be linked on this machine ({this_platform()}) without the ziglang "
            "wheel: pip install armillary[platforms]; or build sources/ of the FMU there"
        )
    given, suffix, _ = PLATFORMS[name]
    windows = name == "x86_64-windows"
    texts = dict(sources)
    if windows:
        texts["windows.c"] = files(__package__).joinpath("sources", "windows.c").read_text(encoding="utf-8")
    made = [file for file in texts if file.endswith(".c")]
    level = "-O0" if quick() else "-O2"
    position = [] if windows else ["-fPIC"]
    with tempfile.TemporaryDirectory(prefix="armillary-") as folder, ThreadPoolExecutor() as pool:
        for file, text in texts.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        compile_one = [*_ZIG, "cc", "-target", given, level, *FLAGS, *_ZIG_FLAGS, *position, "-c"]
        list(pool.map(lambda file: _run([*compile_one, file, "-o", f"{file}.o"], folder), made))
        objects = [f"{file}.o" for file in made]
        library = f"model{suffix}"
        if windows:
            _run([*_ZIG, "dlltool", "-m", "i386:x86-64", "-d", _ucrt(folder), "-l", "ucrt.lib"], folder)
            link = [
                "build-lib",
                "-dynamic",
                "-target",
                given,
                "-fcompiler-rt",
                "-O",
                "ReleaseFast",
                "-fstrip",
            ]
            _run([*_ZIG, *link, f"-femit-bin={library}", *objects, "ucrt.lib"], folder)
        else:
            _run([*_ZIG, "cc", "-target", given, "-s", "-shared", *objects, "-o", library, "-lm"], folder)
        return Path(folder, library).read_bytes()


# Functions of the C library of Windows that sources call; only those that are called are linked.
_UCRT = """
__stdio_common_vsprintf calloc free memcmp memcpy memset strcmp strlen abort
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf exp exp2 expm1 fabs floor fma fmax
fmin fmod frexp hypot ldexp log log10 log1p log2 modf nearbyint pow remainder rint round sin sinh sqrt tan
tanh tgamma trunc
"""


def _ucrt(folder: str) -> str:
    """The list from which a stub of ucrtbase.dll is made, as a file."""
    Path(folder, "ucrt.def").write_text("\n".join(["LIBRARY ucrtbase.dll", "EXPORTS", *_UCRT.split(), ""]))
    return "ucrt.def"


def _run(command: list[str], folder: str) -> None:
    """A command of the compiler; what it complains of first is the error."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ArmillaryError(
            f"the C compiler '{command[0]}' cannot be run: {error.strerror or error}"
        ) from error
    if done.returncode:
        messages = (done.stderr or done.stdout).strip().splitlines()
        errors = [line for line in messages if "error" in line.lower()]
        first = (errors or messages or ["it gave no message"])[0]
        raise ArmillaryError(f"the C compiler '{command[0]}' could not build the library: {first}")
