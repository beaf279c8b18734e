"""The compiler that turns sources into a library for this machine: the system's, or the ziglang wheel's."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from armillary.errors import ArmillaryError
from armillary.llvm.jit import quick

# Products and sums are not fused, so that the numbers are those of the standard on every machine.
FLAGS = ("-std=c99", "-ffp-contract=off", "-fvisibility=hidden")


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
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise ArmillaryError(
        "there is no C compiler to build a library with: install one, or pip install ziglang; an FMU of "
        "sources alone needs none: binary=False (--option binary=false)"
    )


def compile_library(sources: Mapping[str, str], suffix: str, flags: Sequence[str] = FLAGS) -> bytes:
    """The sources as a shared library for this machine, optimised unless ``ARMILLARY_COMPILE`` is "quick"."""
    command = [*find_compiler(), "-O0" if quick() else "-O2"]
    position = [] if sys.platform == "win32" else ["-fPIC"]
    made = [name for name in sources if name.endswith(".c")]
    with tempfile.TemporaryDirectory(prefix="armillary-") as folder, ThreadPoolExecutor() as pool:
        for name, text in sources.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        list(pool.map(lambda name: _run([*command, *flags, *position, "-c", name], folder), made))
        objects = [str(Path(name).with_suffix(".o")) for name in made]
        libraries = [] if sys.platform == "win32" else ["-lm"]
        _run([*command, "-shared", *objects, "-o", f"model{suffix}", *libraries], folder)
        return Path(folder, f"model{suffix}").read_bytes()


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


def place_of_binary(version: str) -> tuple[str, str]:
    """The folder of this machine's library inside an FMU of a version, and the ending of its name."""
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}.get(sys.platform)
    machine = platform.machine().lower()
    architecture = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}.get(
        machine
    )
    if system is None or architecture is None:
        raise ArmillaryError(
            f"there is no name for libraries of this machine ({sys.platform}, {machine}) in FMI; export with "
            "binary=False for an FMU of sources alone"
        )
    suffix = {"linux": ".so", "darwin": ".dylib", "windows": ".dll"}[system]
    if version == "3.0":
        return f"binaries/{architecture}-{system}", suffix
    short = {"linux": "linux64", "darwin": "darwin64", "windows": "win64"}[system]
    # FMI 2.0 has names for x86 machines only; tools of other machines look in the same folders.
    return f"binaries/{short}", suffix
