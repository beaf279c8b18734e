"""Functional mock-up units: a model as a file that other simulation programs run.

Enters: `Equations`. Leaves: an archive with modelDescription.xml (model_description.py), libraries for one or
several platforms, their C sources and a page of documentation. The sources are the equations and
tables of variables (c_sources.py), and the functions of the standard (sources/, the same for all models).
Read `export` below first, then sources/fmu.h.

FMI 3.0.1, section 2.5.1.3, names a library's folder after processor and system. FMI 2.0.4, section 2.3, names
folders only for x86 machines. FMPy reads linux64, win64 or darwin64 on every 64-bit machine, so in FMI 2.0

    darwin64        has one library file for both processors of macOS, of which the system loads one part,
    linux64         has the library for x86-64, else the one for aarch64,
    aarch64-linux   has the library for aarch64, for tools that use the names of FMI 3.0 in both versions.

files/fmu imports FMUs.
"""

from __future__ import annotations

import importlib.util
import math
import os
import platform
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple, cast
from uuid import UUID

from armillary.algebra.arguments import checked_names, flag, one_of
from armillary.errors import ArmillaryError
from armillary.export.fmi.c_sources import model_files, variables_header, variables_source
from armillary.export.fmi.model_description import (
    Facts,
    build_description,
    documentation,
    model_description,
    terminals,
)
from armillary.export.fmi.variables import check_states, interface
from armillary.export.text.source import make_source
from armillary.limited_files import replacing
from armillary.llvm.jit import quick
from armillary.model.units import in_seconds
from armillary.program.equations import DerivedEquations
from armillary.runtime.integrators.settings import complete_settings
from armillary.settings import Initial, RunSettings
from armillary.solver.methods.method_text import exported_methods
from armillary.solver.methods.registry import usual_method


class Platform(NamedTuple):
    """A platform: its target as LLVM names it, the suffix of libraries, and their folder in FMI 2.0."""

    target: str
    suffix: str
    folder: str


PLATFORMS = {
    "x86_64-linux": Platform("x86_64-linux-gnu.2.17", ".so", "linux64"),
    "aarch64-linux": Platform("aarch64-linux-gnu.2.17", ".so", "aarch64-linux"),
    "x86_64-windows": Platform("x86_64-windows-gnu", ".dll", "win64"),
    "x86_64-darwin": Platform("x86_64-macos.11.0", ".dylib", "darwin64"),
    "aarch64-darwin": Platform("aarch64-macos.11.0", ".dylib", "darwin64"),
}

_PROCESSORS = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
_SYSTEMS = {"linux": "linux", "darwin": "darwin", "win32": "windows"}


def this_platform() -> str:
    """Return the platform of this machine."""
    processor = _PROCESSORS.get(platform.machine().lower(), "")
    name = f"{processor}-{_SYSTEMS.get(sys.platform, '')}"
    if name not in PLATFORMS:
        raise ArmillaryError(
            f"there is no name for libraries of this machine ({sys.platform}, {platform.machine()}) among "
            f"{', '.join(PLATFORMS)}; export with binary=False for an FMU of sources alone"
        )
    return name


def chosen_platforms(given: object) -> tuple[str, ...]:
    """Return names of platforms from "all", one name or several: each once, in the order of `PLATFORMS`."""
    if given == "all":
        return tuple(PLATFORMS)
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ArmillaryError(
            f'platforms={given!r} is neither "all" nor a list of names: {", ".join(PLATFORMS)}'
        )
    chosen = checked_names(names, PLATFORMS, "unknown platform", listed=True)
    return tuple(name for name in PLATFORMS if name in chosen)


def folders(version: str, name: str) -> tuple[str, ...]:
    """Return the folders of an FMU that may have a platform's library, in the order in which to look."""
    if version == "3.0":
        return (f"binaries/{name}",)
    own = PLATFORMS[name].folder
    return (f"binaries/{own}", *(("binaries/linux64",) if name == "aarch64-linux" else ()))


def library_files(version: str, stem: str, libraries: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the libraries of all platforms by their path in the FMU."""
    found: dict[str, bytes] = {}
    for name, library in libraries.items():
        for folder in folders(version, name):
            place = f"{folder}/{stem}{PLATFORMS[name].suffix}"
            if folder == "binaries/darwin64" and place in found:
                found[place] = universal([found[place], library])
            else:
                found.setdefault(place, library)
    return found


_PAGE = 1 << 14  # bytes: alignment of the parts of a universal file, a page of Apple's processors


def universal(parts: Sequence[bytes]) -> bytes:
    """Return one file with macOS libraries for several processors, after a fat header (mach-o/fat.h)."""
    offset = _PAGE
    head = struct.pack(">2I", 0xCAFEBABE, len(parts))
    body = b""
    for part in parts:
        processor, kind = struct.unpack_from("<2I", part, 4)
        head += struct.pack(">5I", processor, kind, offset + len(body), len(part), 14)
        body += part + b"\0" * (-len(part) % _PAGE)
    return head + b"\0" * (offset - len(head)) + body


# Compilers of the sources: the system's for this machine, the ziglang wheel for any platform. Zig is a C
# compiler and linker for all platforms, with headers and stubs of their C libraries, in one wheel.

# Without fused multiply-adds numbers follow IEEE 754 and are the same on every machine.
FLAGS = ("-std=c99", "-ffp-contract=off", "-fvisibility=hidden")


_ZIG = (sys.executable, "-m", "ziglang")
# By default Zig adds checks for undefined behaviour.
_ZIG_FLAGS = ("-fno-sanitize=undefined", "-fno-stack-protector", "-g0")


def has_zig() -> bool:
    """Return whether the ziglang wheel is installed."""
    return importlib.util.find_spec("ziglang") is not None


def find_compiler() -> list[str]:
    """Return the command of a C compiler: $CC, cc, gcc, clang, or the compiler of the ziglang wheel."""
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
        "there is no C compiler to build a library: install one, or pip install ziglang; an FMU of sources "
        "needs no compiler: binary=False (--option binary=false)"
    )


def compile_library(sources: Mapping[str, str], suffix: str, flags: Sequence[str] = FLAGS) -> bytes:
    """Compile the sources to a shared library for this machine.

    It is optimised unless ``ARMILLARY_COMPILE`` is "quick". In that case the sources common to all models are
    compiled as one file, since most of their compile time goes into common headers.
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
        list(pool.map(lambda name: _run_compiler([*command, *flags, *position, "-c", name], folder), made))
        objects = [str(Path(name).with_suffix(".o")) for name in made]
        libraries = [] if sys.platform == "win32" else ["-lm"]
        _run_compiler([*command, "-shared", *objects, "-o", f"model{suffix}", *libraries], folder)
        return Path(folder, f"model{suffix}").read_bytes()


def build_library(sources: Mapping[str, str], name: str) -> bytes:
    """Compile the sources to a library for the platform ``name``."""
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
        list(pool.map(lambda file: _run_compiler([*compile_one, file, "-o", f"{file}.o"], folder), made))
        objects = [f"{file}.o" for file in made]
        library = f"model{suffix}"
        if windows:
            _run_compiler(
                [*_ZIG, "dlltool", "-m", "i386:x86-64", "-d", _write_ucrt_stub(folder), "-l", "ucrt.lib"],
                folder,
            )
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
            _run_compiler([*_ZIG, *link, f"-femit-bin={library}", *objects, "ucrt.lib"], folder)
        else:
            _run_compiler(
                [*_ZIG, "cc", "-target", given, "-s", "-shared", *objects, "-o", library, "-lm"], folder
            )
        return Path(folder, library).read_bytes()


# Functions of the Windows C library that sources may call; the linker takes only those that are called.
_UCRT = """
__stdio_common_vsprintf calloc free memcmp memcpy memset strcmp strlen abort
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf exp exp2 expm1 fabs floor fma fmax
fmin fmod frexp hypot ldexp log log10 log1p log2 modf nearbyint pow remainder rint round sin sinh sqrt tan
tanh tgamma trunc
"""


def _write_ucrt_stub(folder: str) -> str:
    """Write the list of functions for a stub of ucrtbase.dll; return its file name."""
    Path(folder, "ucrt.def").write_text("\n".join(["LIBRARY ucrtbase.dll", "EXPORTS", *_UCRT.split(), ""]))
    return "ucrt.def"


def _run_compiler(command: list[str], folder: str) -> None:
    """Run a command of the compiler; if it fails, raise an error with its first message."""
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


# The zip archive of an FMU or a package of FMUs is written to a temporary file, which then replaces the old
# file.

_WHEN = (1980, 1, 1, 0, 0, 0)  # the same sources make the same archive


def write_archive(
    path: str | os.PathLike[str],
    files: Mapping[str, str | bytes],
    *,
    force: bool = False,
    marker: str = "modelDescription.xml",
    kind: str = "an FMU",
) -> Path:
    """Write an archive with given files and return its path.

    An existing file is replaced if it is an archive of the same kind, which contains ``marker``, or with
    ``force``.
    """
    if Path(path).is_dir():
        raise ArmillaryError(f"cannot save '{path}': there is a folder of that name; {kind} is one file")
    if Path(path).exists() and not flag(force, "force=") and not _holds(path, marker):
        raise ArmillaryError(
            f"cannot save '{path}': there is a file of that name that is not {kind}; name another, or "
            "replace it with force=True (--force)"
        )
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
            archive.writestr(entry, content)
    return Path(path)


def _holds(path: str | os.PathLike[str], name: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return name in archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


VERSIONS = ("2.0", "3.0")
KINDS = ("both", "model_exchange", "co_simulation")

_SOURCES = ("fmu.c", "events.c", "stepper.c", "partial.c", "saved.c")


def export(
    equations: DerivedEquations,
    path: str | os.PathLike[str],
    *,
    version: str = "2.0",
    kind: str = "both",
    method: str = usual_method(True),
    step: float | str = 1e-3,
    rtol: float = RunSettings.rtol,
    atol: float = cast("float", RunSettings.atol),
    duration: float | str = 10.0,
    parameters: Mapping[str, float] | None = None,
    initial: Initial = None,
    binary: bool = True,
    platforms: str | Sequence[str] | None = None,
    configurations: bool | None = None,
    force: bool = False,
) -> Path:
    """Write an FMU of FMI ``version`` at ``path``, for model exchange, co-simulation or both.

    ``method`` integrates in co-simulation: "rk4", "midpoint", "ab2" and, for stiff systems, "rodas3" with
    equal steps of at most ``step``; "dopri5", "dop853" and "rodas5p" with adaptive steps, by ``rtol`` and
    ``atol`` or an importer's tolerance. The default experiment has the same ``step`` and ``duration``.
    ``parameters`` and ``initial`` are start values that replace the description's.

    ``binary=False`` omits the library, so that no compiler is needed. ``platforms`` names the platforms to
    build libraries for: "all", or names such as "x86_64-windows"; by default this machine.
    With ``configurations`` the FMU contains the equations of all configurations that runs can reach, and its
    states are all coordinates and all speeds; by default (None) this is so if events lock or unlock joints,
    or set dependent speeds.

    A path without a suffix gets ".fmu". ``force`` also replaces a file that is no FMU.
    """
    version = str(version)
    one_of(version, VERSIONS, "unknown version of FMI ")
    one_of(kind, KINDS, "unknown kind of FMU ")
    one_of(
        method,
        [m.name for m in exported_methods(adaptive=True, stiff=True)],
        "unknown method of co-simulation ",
    )
    h, t_end = in_seconds("step", step), in_seconds("duration", duration)
    for name, value in (("step", h), ("duration", t_end), ("rtol", rtol), ("atol", atol)):
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
            of = " of seconds" if name in ("step", "duration") else ""
            raise ArmillaryError(f"export to an FMU: {name}={value!r} is not a positive number{of}")
    settings = complete_settings(
        RunSettings(t_end, step=float(h), method=method, rtol=rtol, atol=float(atol))
    )
    if platforms is not None:
        wanted = chosen_platforms(platforms)
        if not binary:
            raise ArmillaryError(
                "export to an FMU: binary=False omits libraries, but platforms names some: leave "
                "out one of them"
            )
    stiff = settings.integrator.rosenbrock is not None
    found = make_source(equations, configurations, passes=True, stiff=stiff, sparse=True)
    check_states(found)
    variables = interface(found, parameters, initial)
    adjoint = version == "3.0"
    texts = model_files(found, variables.clocks, adjoint)
    texts["variables.c"] = variables_source(variables, adjoint)
    number = version[0]
    shared = (f"fmi{number}.h", f"fmi{number}.c", "standard.h", "fmu.h", *_SOURCES)
    texts |= {
        name: files(__package__).joinpath("sources", name).read_text(encoding="utf-8") for name in shared
    }
    offers = {"exchange": kind != "co_simulation", "cosimulation": kind != "model_exchange"}
    token = _token(texts, version, repr((settings, offers)))
    texts["variables.h"] = variables_header(variables, token, settings, **offers, adjoint=adjoint)
    made = sorted(name for name in texts if name.endswith(".c"))
    facts = Facts(
        variables,
        found.stem,
        token,
        float(h),
        settings.t_end,
        settings.rtol if settings.integrator.adaptive else 1e-6,  # importers pass it as their own tolerance
        **offers,
        sources=made,
    )
    content: dict[str, str | bytes] = {"modelDescription.xml": model_description(facts, version)}
    content["documentation/index.html"] = documentation(variables, settings)
    if version == "3.0" and (groups := terminals(variables)):
        content["terminalsAndIcons/terminalsAndIcons.xml"] = groups
    content |= {f"sources/{name}": text for name, text in sorted(texts.items())}
    if version == "3.0":
        content["sources/buildDescription.xml"] = build_description(found.stem, made)
    if platforms is not None:
        libraries = {name: build_library(texts, name) for name in wanted}
    elif binary:
        here = this_platform()
        libraries = {here: compile_library(texts, PLATFORMS[here].suffix)}
    else:
        libraries = {}
    content |= library_files(version, found.stem, libraries)
    place = Path(path)
    named = place if place.suffix or place.is_dir() else place.with_name(f"{place.name}.fmu")
    return write_archive(named, content, force=force)


def _token(texts: Mapping[str, str], version: str, options: str) -> str:
    """Return an identifier of the sources and options; importers pass it when they create an instance."""
    digest = sha256(f"{version} {options}".encode())
    for name in sorted(texts):
        digest.update(f"{name}\0{texts[name]}\0".encode())
    return f"{{{UUID(bytes=digest.digest()[:16])}}}"
