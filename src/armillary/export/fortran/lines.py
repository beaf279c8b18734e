"""Lines of at most 132 bytes: compilers of Fortran count bytes, not characters, and comments with them."""

from __future__ import annotations

from armillary.export.text.printing.layout import bytes_of

WIDTH = 130  # bytes of a line
PIECE = 50  # bytes of a constant in one line: all of them may be quotes, which are written twice

LONGEST_LINE = 132


def short_lines(text: str) -> str:
    """A text whose comments stand above their lines, and in several, where they would be too long.

    Statements and character constants are broken where they are made.
    """
    return "".join(f"{line}\n" for long in text.splitlines() for line in _shortened(long))


def _shortened(line: str) -> list[str]:
    if bytes_of(line) <= LONGEST_LINE:
        return [line]
    code, comment = _parted(line)
    indent = line[: len(line) - len(line.lstrip())]
    return [*_filled(comment, f"{indent}! "), *([code.rstrip()] if code.strip() else [])]


def _parted(line: str) -> tuple[str, str]:
    """A statement, and the comment behind it."""
    quote = ""
    for place, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "!":
            return line[:place], line[place + 1 :].strip()
    return line, ""


def _filled(comment: str, indent: str) -> list[str]:
    lines: list[str] = []
    line = indent
    for word in comment.split():
        for piece in pieces(word, LONGEST_LINE - len(indent)):
            if line != indent and bytes_of(line) + bytes_of(piece) > LONGEST_LINE:
                lines.append(line.rstrip())
                line = indent
            line += f"{piece} "
    return [*lines, line.rstrip()] if line != indent else lines


def pieces(text: str, most: int) -> list[str]:
    """A text cut into parts of at most so many bytes, never inside a character."""
    found = [""]
    for character in text:
        if bytes_of(found[-1]) + bytes_of(character) > most:
            found.append("")
        found[-1] += character
    return found


def quoted(text: str) -> str:
    """A character constant; a long one in pieces, for lines have at most 132 bytes."""
    return "// &\n      ".join("'" + piece.replace("'", "''") + "'" for piece in pieces(text, PIECE))
