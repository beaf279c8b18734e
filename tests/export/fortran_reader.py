"""What a compiler would refuse first in Fortran: names that are not declared, blocks that are not closed.

For machines without a compiler. The texts are those that exports write: one statement to a line, ``&`` at the
end of one that goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORDS_TEXT = """
if then else end do while exit cycle return select case default call subroutine function module program
contains implicit none private public use only type integer real logical character parameter intent in
out inout pure elemental result allocatable allocate dimension len kind procedure interface import stop
error print write read open close inquire format true false and or not eq ne namelist target pointer
optional block associate class save data where elsewhere protected intrinsic iostat iomsg unit file
status action position nml recursive value deallocate advance fmt exist flush stat to command newunit
null nullify backspace rewind endif enddo iso_fortran_env ieee_arithmetic
"""
_WORDS = frozenset(_WORDS_TEXT.split())
_INTRINSIC_TEXT = """
abs max min sqrt sin cos tan asin acos atan atan2 exp log sinh cosh tanh asinh acosh atanh sign mod
modulo floor ceiling nint int real merge size maxval minval sum any all count huge tiny epsilon present
trim adjustl len_trim index matmul dot_product transpose reshape spread pack spacing nearest
get_command_argument command_argument_count associated allocated minloc maxloc dble char ichar achar
iachar new_line repeat scan verify is_iostat_end move_alloc product norm2 erf aint anint hypot cpu_time
system_clock log10 cshift exit
"""
_INTRINSIC = frozenset(_INTRINSIC_TEXT.split())
_HEAD = r"(?:(?:pure|elemental|recursive|module)\s+)*"
_OPENING = (
    re.compile(rf"{_HEAD}(?:\w+(?:\([^)]*\))?\s+)?(subroutine|function)\s+\w+"),
    re.compile(r"(module|program)\s+(?!procedure)\w+$"),
    re.compile(r"(?:\w+:\s*)?(if)\s*\(.*\)\s*then$"),
    re.compile(r"(?:\w+:\s*)?(do)\b"),
    re.compile(r"(select)\s+case"),
    re.compile(r"(associate)\s*\("),
    re.compile(r"(?:abstract\s+)?(interface)\b"),
    re.compile(r"(type)(?:\s*,[^:]*)?\s*::\s*\w+$|(type)\s+\w+$"),
)


def statements(text: str) -> Iterator[str]:
    """Statements in small letters, without comments; texts in quotes are empty."""
    going = ""
    for line in text.splitlines():
        assert len(line) <= 132, line
        line = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"", "''", line)
        line = line.split("!")[0].strip()
        if line.endswith("&"):
            going += line[:-1].rstrip() + " "
        elif line or going:
            yield (going + line).strip().lower()
            going = ""
    assert not going


def find_faults(text: str, elsewhere: frozenset[str] = frozenset()) -> list[str]:
    """Names without a declaration and blocks without an end, in words."""
    lines, faults, blocks = list(statements(text)), [], []
    shared = set(elsewhere) | _names_of_procedures(lines)
    inside: set[str] | None = None
    for line in lines:
        if line.count("(") != line.count(")") or line.count("[") != line.count("]"):
            faults.append(f"brackets: {line}")
        ending = re.match(r"end\b\s*(\w+)?(?!\s*=)", line)
        if ending:
            if not blocks or (ending[1] and ending[1] != blocks[-1]):
                faults.append(f"{line!r} in {blocks[-1:]}")
            kind = blocks.pop() if blocks else ""
            if kind in ("subroutine", "function"):
                inside = None
            continue
        opened = next((m for pattern in _OPENING if (m := pattern.match(line))), None)
        if opened:
            kind = next(g for g in opened.groups() if g)
            blocks.append(kind)
            if kind in ("subroutine", "function"):
                inside = _arguments(line)
            if kind == "associate" and inside is not None:
                inside |= set(re.findall(r"(\w+)\s*=>", line))
            if kind in ("subroutine", "function", "program", "associate"):
                continue
        if "::" in line or re.match(r"(use|namelist|private|public|import)\b", line):
            declared = _declared(line)
            (shared if inside is None else inside).update(declared)
            continue
        if inside is None and "program" not in blocks:
            continue
        for name in _used(line) - shared - (inside or set()) - _WORDS - _INTRINSIC:
            faults.append(f"{name!r} is not declared: {line[:100]}")
    return faults + [f"{kind} is not closed" for kind in blocks]


def public_names(text: str) -> frozenset[str]:
    """What a module declares or contains."""
    lines = list(statements(text))
    found = _names_of_procedures(lines)
    inside = False
    for line in lines:
        if re.match(rf"{_HEAD}(subroutine|function)\s", line):
            inside = True
        elif re.match(r"end\s*(subroutine|function)", line):
            inside = False
        elif not inside and ("::" in line or line.startswith("use")):
            found |= _declared(line)
    return frozenset(found)


def _names_of_procedures(lines: list[str]) -> set[str]:
    pattern = re.compile(rf"{_HEAD}(?:\w+(?:\([^)]*\))?\s+)?(?:subroutine|function)\s+(\w+)")
    return {m[1] for line in lines if (m := pattern.match(line))}


def _arguments(line: str) -> set[str]:
    return set(re.findall(r"\w+", line.partition("(")[2]))


def _declared(line: str) -> set[str]:
    after = line.partition("::")[2] if "::" in line else line
    while (inner := re.sub(r"\([^()]*\)|\[[^\[\]]*\]", "", after)) != after:
        after = inner
    after = re.sub(r"=>?[^,]*", "", after) if not line.startswith("use") else re.sub(r"=>\s*\w+", "", after)
    return set(re.findall(r"[a-z_]\w*", after))


def _used(line: str) -> set[str]:
    line = re.sub(r"\.\w+\.", " ", line)  # operators
    line = re.sub(r"%\s*\w+", "", line)  # components
    line = re.sub(r"\b\d[\w.]*(?:e[+-]?\d+)?(?:_\w+)?", "", line)  # numbers with kinds
    line = re.sub(r"([(,]\s*)[a-z_]\w*\s*=(?!=)", r"\1", line)  # keywords of arguments
    return set(re.findall(r"\b[a-z_]\w*", line))
