"""Instructions of an embedded program, counted by QEMU: text for the README, or the command to count."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from armillary.errors import ArmillaryError

TARGETS = {
    "arm": ("Cortex-M4F", "arm-none-eabi-gcc", "qemu-system-arm"),
    "riscv": ("RISC-V, 32 bits", "riscv64-unknown-elf-gcc", "qemu-system-riscv32"),
}
_COLUMNS = {
    "flash": "flash, bytes",
    "ram": "RAM of a run, bytes",
    "stack": "stack, bytes",
    "step": "instructions per step",
    "longest": "the longest step",
}


def measured(files: Mapping[str, str], wanted: bool | None) -> str:
    """A table in Markdown of what the targets whose tools are here need; without tools, how to measure."""
    rows = {}
    if wanted is not False:
        rows = {name: found for name in TARGETS if (found := counts_on(name, files))}
    if wanted and not rows:
        tools = " or ".join(f"{compiler} with {emulator}" for _, compiler, emulator in TARGETS.values())
        raise ArmillaryError(
            f"measure=True needs make and {tools}, each compiler with its C library; install them, or leave "
            "measure out and run `make measure-arm` where they are"
        )
    if not rows:
        return (
            "Not measured: `make measure-arm` and `make measure-riscv` need a cross compiler\n"
            "(`arm-none-eabi-gcc`, `riscv64-unknown-elf-gcc`) with its C library, QEMU, and default values\n"
            "from which 200 steps succeed."
        )
    head = f"| | {' | '.join(_COLUMNS.values())} |\n| --- |{' ---: |' * len(_COLUMNS)}"
    lines = [f"| {TARGETS[t][0]} | {' | '.join(str(row[c]) for c in _COLUMNS)} |" for t, row in rows.items()]
    about = "Counted by `make measure-arm` and `make measure-riscv` over 200 steps, without the C library."
    return "\n".join([about, "", head, *lines])


def counts_on(target: str, files: Mapping[str, str]) -> dict[str, int]:
    """The numbers of one target by name; none where a tool is missing or fails."""
    _, compiler, emulator = TARGETS[target]
    if not all(shutil.which(tool) for tool in ("make", compiler, emulator)):
        return {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["make", f"measure-{target}"], cwd=folder, capture_output=True, text=True, check=False
        )
    return parsed(done.stdout) if done.returncode == 0 else {}


def parsed(text: str) -> dict[str, int]:
    """The output of `make measure-…`: the table of `size`, then a word and a number in each line."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].isdigit():
            found[words[0]] = int(words[1])
        elif words[-1:] == ["(TOTALS)"]:
            found["flash"] = int(words[0]) + int(words[1])
    ended = found.get("status", 0) != 0  # such as a run whose parameters have no defaults
    return found if set(_COLUMNS) <= set(found) and not ended else {}
