"""Mathematics as it is typed, ``ω_r·(J ω_s + h × v_s)``, to MathML.

A line is read from left to right: letters with accents, primes, indices and exponents; numbers; operators;
words. Two spaces or more are a wide gap. Matrices are drawn with ⎡⎢⎣⎤⎥⎦ over several lines. What the notation
cannot say (there are no tall fractions) was not needed on the pages.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape

ACCENTS = {"\u0307": "˙", "\u0308": "¨", "\u0303": "~", "\u0302": "^"}
RAISED = {c: f"<mn>{d}</mn>" for c, d in zip("⁰¹²³", "0123", strict=True)} | {
    "⁺": "<mo>+</mo>",
    "⁻": "<mo>−</mo>",
    "ᵀ": '<mi mathvariant="normal">T</mi>',
    "ˣ": '<mi mathvariant="normal" class="variable">x</mi>',
}
LOWERED = dict(zip("₀₁₂₃₄₅", "012345", strict=True))
FUNCTIONS = {"sin", "cos", "tan", "max", "min", "log", "exp", "sign"}
WIDE = "2.2em"  # a gap between two equations of a line
WORDS = re.compile(r"[a-z][a-z'-]{2,}(?![a-z(_])(?:[ ][a-z][a-z'-]*(?![a-zA-Z(_·]))*:?")
SENTENCE = re.compile(r"[a-z]{3,}(?:\W|$)")  # a piece that begins with a word is words throughout
TOKEN = re.compile(
    r"(?P<gap>(?<!=) {2,}(?!=))|(?P<space> +)|(?P<root>√\()|(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?|[½¼])"
    r"|(?P<operator>\+=|−=|<=|>=|d/dt)|(?P<letter>[^\W\d_])|(?P<other>.)"
)
INDEX = re.compile(r"_(?:\{([^}]*)\}|([A-Za-zΑ-ω0-9]+))")

POWER = re.compile(r"\^(?:\(([^)]*)\)|(\w))")


def display(lines: list[str]) -> str:
    """A block of lines as one display."""
    clusters = [_clusters(line) for line in lines if line.strip()]
    left = min(next(i for i, c in enumerate(line) if c != " ") for line in clusters)
    clusters = [line[left:] for line in clusters]
    if any("⎡" in line for line in clusters):
        body = _with_matrices(clusters)
    else:
        rows = [expression("".join(line)) for line in clusters]
        body = rows[0] if len(rows) == 1 else _table([[row] for row in rows], "left")
    return f'<math display="block"><mrow>{body}</mrow></math>'


def expression(text: str) -> str:
    """MathML of one line."""
    text = "".join(unicodedata.normalize("NFD", c) if c.isalpha() else c for c in text)
    out, place = "", 0
    if indent := len(text) - len(text.lstrip()):
        out, place = f'<mspace width="{0.5 * indent}em"/>', indent
    fresh = True  # at the start of a piece
    while place < len(text):
        words = (SENTENCE if fresh else WORDS).match(text, place)
        name = words and re.match(r"[a-z]+", words[0])
        if words and name and name[0] not in FUNCTIONS:
            end = _gap(text, place) if fresh else words.end()
            out += f"<mtext>{escape(text[place:end])}</mtext>"
            place, fresh = end, False
            continue
        token = TOKEN.match(text, place)
        assert token is not None
        kind, found, place = token.lastgroup, token[0], token.end()
        fresh = kind == "gap"
        if kind == "gap":
            out += f'<mspace width="{WIDE}"/>'
        elif kind == "space":
            out += _thin(text, token.start(), place)
        elif kind == "root":
            end = _closing(text, place)
            out += f"<msqrt>{expression(text[place:end])}</msqrt>"
            place = end + 1
        else:
            base, place = _base(kind or "", found, text, place)
            piece, place = _decorated(base, text, place)
            out += piece
    return out


def _base(kind: str, found: str, text: str, place: int) -> tuple[str, int]:
    """A letter with its accent, a function's name, a number or an operator."""
    if kind == "number":
        return f"<mn>{found}</mn>", place
    if kind == "letter":
        name = re.match(r"[A-Za-z]+", found + text[place:])
        if name and name[0] in FUNCTIONS | {"Exp", "Jl"}:
            return f"<mi>{name[0]}</mi>", place + len(name[0]) - 1
        if found == "Δ" and place < len(text) and text[place].isalpha():  # a difference: part of the name
            base, end = _base("letter", text[place], text, place + 1)
            return f"<mrow>{_letter('Δ')}{base}</mrow>", end
        base = "<mo>∑</mo>" if found == "Σ" else _letter(found)
        if place < len(text) and text[place] in ACCENTS:
            return (
                f'<mover accent="true">{base}<mo stretchy="false">{ACCENTS[text[place]]}</mo></mover>',
                place + 1,
            )
        return base, place
    if found == "d/dt":
        return f"<mfrac>{_letter('d')}<mrow>{_letter('d')}{_letter('t')}</mrow></mfrac>", place
    if found == "∂":
        return _letter("∂"), place
    stretchy = ' stretchy="false"' if found in "()[]|" else ""
    return f"<mo{stretchy}>{escape(found)}</mo>", place


def _letter(found: str) -> str:
    """A variable, slanted by the style sheet: few text fonts have the slanted letters of mathematics."""
    return f'<mi mathvariant="normal" class="variable">{found}</mi>'


def _decorated(base: str, text: str, place: int) -> tuple[str, int]:
    """The base with the primes, stars, indices and exponents that follow it."""
    under, over = "", ""
    letter = "<mi " in base
    while place < len(text):
        index = INDEX.match(text, place)
        if index:
            under += ("<mo>,</mo>" if under else "") + _index(index[1] or index[2])
            place = index.end()
        elif power := POWER.match(text, place):
            over += expression(power[1] or power[2])
            place = power.end()
        elif text[place] in LOWERED or (letter and text[place] in "0123456789" and not under):
            under += f"<mn>{LOWERED.get(text[place], text[place])}</mn>"
            place += 1
        elif text[place] in RAISED:
            over += RAISED[text[place]]
            place += 1
        elif text[place] == "'":  # the character stands high by itself
            base = f'<mrow>{base}<mo lspace="0" rspace="0">′</mo></mrow>'
            place += 1
        elif text[place] == "*" and letter:
            over += "<mo>*</mo>"
            place += 1
        else:
            break
    kind = "under" if base == "<mo>∑</mo>" else "sub"
    if under and over:
        return f"<msubsup>{base}<mrow>{under}</mrow><mrow>{over}</mrow></msubsup>", place
    if under:
        return f"<m{kind}>{base}<mrow>{under}</mrow></m{kind}>", place
    return (f"<msup>{base}<mrow>{over}</mrow></msup>" if over else base), place


def _index(text: str) -> str:
    """An index: a word upright, letters and numbers as such."""
    if re.fullmatch(r"[a-z]{3,}", text):
        return f"<mtext>{text}</mtext>"
    return expression(text)


def _thin(text: str, start: int, end: int) -> str:
    """A thin space between two factors; operators bring their own."""
    before, after = text[start - 1] if start else " ", text[end] if end < len(text) else " "
    factors = (before.isalnum() or before in ")]'½¼*ᵀ" or unicodedata.combining(before)) and (
        after.isalnum() or after in "([½¼∂"
    )
    return '<mspace width="0.18em"/>' if factors else ""


def _gap(text: str, place: int) -> int:
    """Where the piece that begins here ends."""
    found = re.search(r" {2,}", text[place:])
    return place + found.start() if found else len(text)


def _closing(text: str, place: int) -> int:
    """Where the bracket closes that was opened before this place."""
    depth = 1
    for i in range(place, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return i
    raise ValueError(f"a bracket is not closed in {text!r}")


def _clusters(line: str) -> list[str]:
    """Characters with their accents, so that columns are those one sees."""
    found: list[str] = []
    for c in line:
        if unicodedata.combining(c) and found:
            found[-1] += c
        else:
            found.append(c)
    return found


def _table(rows: list[list[str]], align: str) -> str:
    cells = "".join(
        "<mtr>" + "".join(f'<mtd style="text-align:{align}">{cell}</mtd>' for cell in row) + "</mtr>"
        for row in rows
    )
    return f"<mtable>{cells}</mtable>"


def _with_matrices(lines: list[list[str]]) -> str:
    """Matrices where the brackets are, and what stands between them."""
    out, column = "", 0
    width = max(map(len, lines))
    lines = [line + [" "] * (width - len(line)) for line in lines]
    first = lines[0]
    while "⎡" in first[column:]:
        left = first.index("⎡", column)
        right = first.index("⎤", left)
        out += _between(lines, column, left) + _matrix(["".join(line[left + 1 : right]) for line in lines])
        column = right + 1
    return out + _between(lines, column, width)


def _matrix(rows: list[str]) -> str:
    """Cells, parted by two spaces. The style sheet draws brackets: only mathematical fonts stretch them."""
    cells = [[expression(cell) for cell in re.split(r" {2,}", row.strip())] for row in rows]
    return _table(cells, "center").replace("<mtable>", '<mtable class="matrix">', 1)


def _between(lines: list[list[str]], start: int, end: int) -> str:
    pieces = ["".join(line[start:end]) for line in lines]
    shown = [piece.strip() for piece in pieces if piece.strip()]
    gap = f'<mspace width="{WIDE}"/>' if all(piece.startswith("   ") for piece in pieces) and shown else ""
    if len(shown) > 1:
        return gap + _table([[expression(piece)] for piece in shown], "left")
    return gap + (expression(shown[0]) if shown else "")
