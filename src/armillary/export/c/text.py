"""Pieces of C text: comments, strings, functions from sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from armillary.export.text.body import SectionText, Step
from armillary.export.text.printer import wrap_statement
from armillary.program.passes.graph import Operations

WIDTH = 110
PIECE = 400  # assignments in one function; beyond, a compiler's time grows faster than the length
NUMBER = re.compile(r"(?<![\w.])((?:\d+\.\d*|\d+(?=e))(?:e[+-]?\d+)?)(?![\w.])")  # a literal of a real
COMMENT = re.compile(r"(/\*.*?\*/)", re.S)


def comment(text: str) -> str:
    """Text that may stand inside a comment."""
    return " ".join(comment_line(text).split())


def string_literal(text: str) -> str:
    """Return a string literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return '"' + "".join(c if c >= " " else f"\\{ord(c):03o}" for c in escaped) + '"'


def block(lines: Iterable[str]) -> str:
    """Lines as one block comment."""
    inside = [f" * {comment_line(line)}".rstrip() for line in lines]
    return "/*" + "\n".join(inside)[2:] + "\n */"


def comment_line(line: str) -> str:
    """Return a line for a comment, its blanks kept."""
    # Backslashes first: what stands in their place must not end the comment together with its neighbour.
    return line.replace("\\", "/").replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def counts(operations: Operations) -> str:
    """Operations in words."""
    o = operations
    parts = (o.additions, "additions"), (o.multiplications, "multiplications"), (o.divisions, "divisions")
    return ", ".join(f"{n} {what}" for n, what in (*parts, (o.functions, "functions")))


@dataclass(frozen=True)
class Signature:
    """A generated function: its name, its arguments as declared, and where its results go."""

    name: str
    arguments: str
    targets: Sequence[str]
    prefix: str = ""  # before "void"


def function(signature: Signature, about: str, body: SectionText, scale: dict[int, str] | None = None) -> str:
    """Return a section as a function; if it is long, as several with a work array between them.

    ``scale`` holds factors of inputs by index, for parameters in the user's units.
    """
    pieces = _cut_steps(body.steps)
    if len(pieces) > 1:
        return _long(signature, about, body, pieces, scale or {})
    lines = _function_lines(body, signature, body.steps, range(len(body.results)), scale or {})
    return function_text(signature, about, lines, argument_names(signature))


def _function_lines(
    body: SectionText,
    signature: Signature,
    steps: Sequence[Step],
    results: Iterable[int],
    scale: dict[int, str],
    received: dict[str, int] | None = None,
    handed_on: dict[str, int] | None = None,
    angles: bool = True,
) -> list[str]:
    """Return the lines of one function: state, angles, then steps and results, each after the constants it
    needs.

    Constants are read where they are first needed: read at the top, they would fill the registers that the
    compiler then has to empty. ``received`` and ``handed_on`` are places in the work array, for pieces.
    """
    results = list(results)
    read = set().union(*(s.reads for s in steps), *(body.result_reads[i] for i in results))
    read |= {a.angle for a in body.angles} if angles else set()
    first: list[str] = []
    waiting: dict[str, str] = {}
    for i in body.inputs:
        if i.array and i.name in read:
            scaled = i.array == "parameters" and i.index in scale
            factor = f" * {scale[i.index]}" if scaled else ""
            value = f"{i.name} = {i.array}[{i.index}]{factor}"
            if i.array == "constants":
                waiting[i.name] = value
            else:
                first.append(f"    const double {value};")
    waiting |= {n: f"{n} = work[{k}]" for n, k in (received or {}).items()}

    def declare_needed(reads: Iterable[str]) -> list[str]:
        now = [waiting.pop(n) for n in sorted(reads) if n in waiting]
        return wrap_statement(f"const double {', '.join(now)};", WIDTH, "    ", "        ") if now else []

    lines = [*first, *(_angle_lines(body) if angles else [])]
    for step in steps:
        lines += declare_needed(step.reads)
        lines += _step_statements(step)
    lines += [f"    work[{place}] = {n};" for n, place in (handed_on or {}).items()]
    for k in results:
        lines += declare_needed(body.result_reads[k])
        text = f"{signature.targets[k]} = {body.results[k]}; /* {comment(body.section.labels[k])} */"
        lines += wrap_statement(text, WIDTH, "    ", "        ")
    return lines


def _step_statements(step: Step) -> list[str]:
    if (call := step.block) is None:
        return wrap_statement(f"const double {step.name} = {step.text};", WIDTH, "    ", "        ")
    given = f"const double {call.given}[{len(call.arguments)}] = {{{', '.join(call.arguments)}}};"
    return [
        *wrap_statement(given, WIDTH, "    ", "        "),
        f"    double {step.name}[{call.results}];",
        f"    {call.function}({call.given}, {step.name});",
    ]


def argument_names(signature: Signature) -> list[str]:
    """Return the names of a function's arguments."""
    return [part.split()[-1].lstrip("*").partition("[")[0] for part in signature.arguments.split(", ")]


def function_text(
    signature: Signature, about: str, lines: list[str], names: list[str], prefix: str | None = None
) -> str:
    """Return a function of these lines, with the arguments that it does not read."""
    body = "\n".join(lines)
    unused = [n for n in names if not _mentions(body, n)]
    if unused:
        lines = [f"    {' '.join(f'(void){n};' for n in unused)}", *lines]
    head = f"{signature.prefix if prefix is None else prefix}void {signature.name}({signature.arguments})"
    remark = [f"/* {comment(about)} */"] if about else []
    return "\n".join([*remark, *heading(head), "{", *lines, "}", ""])


def heading(head: str) -> list[str]:
    """Return the head of a function, broken between its arguments."""
    whole = head.replace(" ", "\1").replace("*", "\0").replace(",\1", ", ")
    return [line.replace("\0", "*").replace("\1", " ") for line in wrap_statement(whole, WIDTH, "", "    ")]


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _angle_lines(body: SectionText) -> list[str]:
    """Sines and cosines, as many at a time as the printer computes together, under their names."""
    lines, size = [], max(1, body.paired_angles)
    read = set().union(*(s.reads for s in body.steps), *body.result_reads)
    for start in range(0, len(body.angles), size):
        group = body.angles[start : start + size]
        if len(group) == 1:
            a = group[0]
            lines += [
                f"    double {a.sine}, {a.cosine};",
                f"    sine_cosine({a.angle}, &{a.sine}, &{a.cosine});",
            ]
            continue
        k = start // size + 1
        padded = [a.angle for a in group] + ["0.0"] * (size - len(group))
        lines.append(f"    double sines_{k}[{size}], cosines_{k}[{size}];")
        lines.append(f"    sines_cosines({', '.join(padded)}, sines_{k}, cosines_{k});")
        for i, a in enumerate(group):
            found = {a.sine: f"sines_{k}[{i}]", a.cosine: f"cosines_{k}[{i}]"}
            used = [f"{name} = {value}" for name, value in found.items() if name in read]
            lines.append(f"    const double {', '.join(used)};")
    return lines


# ---------------------------------------------------------------- long sections


def _cut_steps(steps: Sequence[Step]) -> list[Sequence[Step]]:
    count = max(1, round(len(steps) / PIECE))
    size = max(1, -(-len(steps) // count))
    cuts = [0]
    for i in range(size, len(steps)):
        if i - cuts[-1] >= size and not steps[i].is_part:
            cuts.append(i)
    return [steps[i:j] for i, j in zip(cuts, [*cuts[1:], len(steps)], strict=True)]


def _long(
    signature: Signature, about: str, body: SectionText, pieces: list[Sequence[Step]], scale: dict[int, str]
) -> str:
    """Pieces that hand values on through a work array, and the function that calls them in turn."""
    home = {name: 0 for a in body.angles for name in (a.sine, a.cosine)}
    home |= {step.name: k for k, piece in enumerate(pieces) for step in piece}
    last = len(pieces) - 1
    stored: dict[int, list[int]] = {}
    for i, reads in enumerate(body.result_reads):
        stored.setdefault(max((home[n] for n in reads if n in home), default=last), []).append(i)
    needed: list[set[str]] = []
    for k, piece in enumerate(pieces):
        used: set[str] = set().union(
            *(s.reads for s in piece), *(body.result_reads[i] for i in stored.get(k, []))
        )
        needed.append(used | ({a.angle for a in body.angles} if k == 0 else set()))
    crossing: dict[str, int] = {}
    for k, used in enumerate(needed):
        for name in sorted(n for n in used if n in home and home[n] != k):
            crossing.setdefault(name, len(crossing))
    arguments = f"{signature.arguments}, double *restrict work"
    names = argument_names(signature)
    texts, calls = [], []
    for k, piece in enumerate(pieces):
        inner = Signature(f"{signature.name}_{k + 1}", arguments, signature.targets)
        received = {n: at for n, at in crossing.items() if n in needed[k] and home[n] < k}
        handed_on = {n: at for n, at in crossing.items() if home[n] == k}
        lines = _function_lines(
            body, signature, piece, stored.get(k, []), scale, received, handed_on, angles=k == 0
        )
        texts.append(function_text(inner, "", lines, [*names, "work"], "APART static "))
        calls.append(f"    {inner.name}({', '.join([*names, 'work'])});")
    lines = [f"    double work[{max(1, len(crossing))}];", *calls]
    return "\n".join([*texts, function_text(signature, about, lines, names)])
