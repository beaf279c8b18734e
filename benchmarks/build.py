"""Compiled parts of the benchmarks, kept in `benchmarks/build/` under the hash of what made them."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
NATIVE = HERE / "native"
FOLDER = HERE / "build"


class NotAvailable(Exception):
    """A peer that is missing or cannot be built; its text is the reason. The run goes on without it."""


@dataclass(frozen=True)
class Built:
    """A file from the cache, with whatever its maker recorded (`cpu_seconds` for a compilation)."""

    path: Path
    record: dict


def cached(name: str, ingredients: Sequence[str | bytes], make: Callable[[Path], dict]) -> Built:
    """`build/<hash>/name`, made by `make(path)` unless it is there; equal ingredients give an equal hash."""
    digest = hashlib.sha256()
    for part in (name, *ingredients):
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    place = FOLDER / f"{name.replace('.', '_')}-{digest.hexdigest()[:16]}"
    record = place / "record.json"
    if not record.exists():
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / ".gitignore").write_text("*\n")
        # Made aside and renamed when complete: an interrupted build leaves nothing that looks finished.
        aside = Path(tempfile.mkdtemp(prefix="unfinished-", dir=FOLDER))
        try:
            (aside / "record.json").write_text(json.dumps(make(aside / name)))
            shutil.rmtree(place, ignore_errors=True)
            aside.rename(place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return Built(place / name, json.loads(record.read_text()))


def children_seconds() -> float:
    """CPU seconds of all finished child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(
    command: Sequence[str | Path], *, env: dict[str, str] | None = None, cpu_limit: int | None = None
) -> str:
    """Standard output of a command; `NotAvailable` with its complaint if it fails or takes too long."""

    def limit() -> None:
        if cpu_limit is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_limit, cpu_limit + 5))

    words = [str(part) for part in command]
    program = Path(words[0]).name
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env,
            preexec_fn=limit if cpu_limit else None,
        )  # fmt: skip
    except OSError as error:
        raise NotAvailable(f"{program} does not run ({error.strerror})") from None
    if done.returncode < 0 and cpu_limit is not None:
        raise NotAvailable(f"{program} did not finish in {cpu_limit} CPU seconds")
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        lines = lines or [f"exit status {done.returncode}"]
        # A compiler's first error is the one that matters; of anything else, the last line.
        complaint = next((line for line in lines if " error: " in line), lines[-1])
        raise NotAvailable(f"{program} failed: {complaint.strip()[:200]}")
    return done.stdout


@cache
def compiler(language: str) -> str:
    """The system's C or C++ compiler; CC and CXX are honoured."""
    variable, names = {"c": ("CC", ("cc", "gcc", "clang")), "c++": ("CXX", ("c++", "g++", "clang++"))}[
        language
    ]
    for name in (os.environ.get(variable), *names):
        if name and shutil.which(name):
            return name
    raise NotAvailable(f"no {language.upper()} compiler found; set {variable}")


@cache
def _processor_fields() -> dict[str, str]:
    """The last processor of Linux's list; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def processor() -> str:
    """The processor's name, or its part number where Linux knows no name."""
    fields = _processor_fields()
    if "CPU part" in fields:
        return f"{platform.machine()} implementer {fields.get('CPU implementer')} part {fields['CPU part']}"
    return fields.get("model name") or platform.processor() or platform.machine()


def instruction_set() -> str:
    """What -march=native depends on: part of the key of everything compiled."""
    fields = _processor_fields()
    return f"{processor()} {fields.get('flags') or fields.get('Features') or ''}"


def compile_cached(name: str, source: Path, flags: Sequence[str], *, link: Sequence[str] = ()) -> Built:
    """A program or shared library from one source file and the headers beside it."""
    language = "c" if source.suffix == ".c" else "c++"
    command = [compiler(language), *flags]
    headers = sorted(NATIVE.glob("*.hpp")) if language == "c++" else []
    version = run([command[0], "--version"]).splitlines()[0]
    contents = [path.read_bytes() for path in (source, *headers)]

    def make(path: Path) -> dict:
        print(f"  building {name} ...", flush=True)
        before = children_seconds()
        run([*command, source, "-o", path, *link])
        return {"cpu_seconds": children_seconds() - before}

    return cached(name, [*command, *link, version, instruction_set(), *contents], make)
