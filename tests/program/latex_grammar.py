r"""A strict reader of the LaTeX that Armillary writes: what LaTeX with amsmath would refuse is an error here.

Of a document it checks environments, groups, special characters in words and the columns of tables; of
formulas the commands (by a list, with the number of their arguments), matching \left and \right, rows of
matrices of equal length, and that nothing has two subscripts or two superscripts.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|[{}^_&$#%~\[\]]|[^\\{}^_&$#%~\[\]]", re.S)
# Names of commands without arguments, then with them.
_PLAIN = """sin cos tan tanh arcsin arccos arctan exp ln min max cdot times div le ge ne land lor lnot quad
 qquad infty partial dots sum lfloor rfloor lceil rceil bmod circ approx to pm surd alpha beta gamma delta
 epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega Gamma Delta
 Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega , ; ! { } _ % & # $"""
_SYMBOLS = {f"\\{name}" for name in re.split(r"\s+", _PLAIN)}
_ARGUMENTS = {"\\frac": 2}
_ARGUMENTS |= dict.fromkeys(["\\sqrt", "\\underbrace", "\\mathrm", "\\mathbf", "\\dot", "\\ddot"], 1)
_ARGUMENTS |= {"\\operatorname": 1}
_MATRICES = {"bmatrix", "cases", "aligned", "pmatrix"}
_DELIMITERS = {"(", ")", "[", "]", "|", ".", "\\{", "\\}", "\\lfloor", "\\rfloor", "\\lceil", "\\rceil"}
_WORDS = {"\\textbackslash": 0, "\\textasciitilde": 0, "\\textasciicircum": 0, "\\dots": 0, "\\quad": 0}
_WORDS |= dict.fromkeys(["\\_", "\\%", "\\&", "\\#", "\\$", "\\{", "\\}", "\\maketitle", "\\hline"], 0)
_WORDS |= {"\\allowdisplaybreaks": 0, "\\title": 1, "\\author": 1, "\\date": 1, "\\section*": 1}
_WORDS |= {"\\subsection*": 1, "\\documentclass": 1, "\\usepackage": 1}


class LatexError(ValueError):
    """What LaTeX would stop at."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = _TOKEN.findall(text)
        self.at = 0

    def stop(self, why: str) -> LatexError:
        return LatexError(f"{why} at …{''.join(self.tokens[max(0, self.at - 25) : self.at + 15])}…")

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        if not (token := self.peek()):
            raise self.stop("the text ends too early")
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        if self.next() != token:
            self.at -= 1
            raise self.stop(f"no '{token}'")

    def spaces(self) -> None:
        while self.peek().isspace():
            self.at += 1

    def braces(self) -> str:
        """The plain text of a group."""
        self.expect("{")
        found = ""
        while (token := self.next()) != "}":
            found += token
        return found

    # ------------------------------------------------------------ formulas

    def formula(self, end: str) -> None:
        """Atoms with their scripts until a token."""
        used: set[str] = set()  # scripts of the last atom
        while True:
            self.spaces()
            token = self.next()
            if token == end:
                return
            if token in ("^", "_"):
                if token in used:
                    raise self.stop(f"double '{token}'")
                used.add(token)
                self.spaces()
                self.atom(self.next())
                continue
            if token in ("&", "\\\\") and end == "row":
                raise self.stop("misplaced alignment")
            used = set()
            self.atom(token)

    def atom(self, token: str) -> None:
        """One symbol, group or command with its arguments."""
        if token == "{":
            self.formula("}")
        elif token == "\\left":
            self.delimiter()
            self.formula("\\right")
            self.delimiter()
        elif token == "\\begin":
            self.matrix()
        elif token == "\\text":
            self.words(group=True)
        elif token in _ARGUMENTS:
            if token == "\\sqrt" and self.peek() == "[":
                self.next()
                self.formula("]")
            for _ in range(_ARGUMENTS[token]):
                self.spaces()
                self.expect("{")
                self.formula("}")
        elif token.startswith("\\"):
            if token not in _SYMBOLS:
                self.at -= 1
                raise self.stop(f"unknown command '{token}'")
        elif token in "}&$#%~" or ord(token) > 126:
            self.at -= 1
            raise self.stop(f"'{token}' in a formula")

    def delimiter(self) -> None:
        self.spaces()
        if self.next() not in _DELIMITERS:
            raise self.stop("no delimiter")

    def matrix(self) -> None:
        name = self.braces()
        if name not in _MATRICES:
            raise self.stop(f"unknown environment '{name}'")
        counts, columns, used = [], 1, set()
        while True:
            self.spaces()
            token = self.next()
            if token == "\\end":
                if self.braces() != name:
                    raise self.stop(f"'{name}' ends otherwise")
                counts += [columns]
                if len(set(counts)) > 1:
                    raise self.stop(f"rows of {counts} columns")
                return
            if token == "&":
                columns, used = columns + 1, set()
            elif token == "\\\\":
                counts, columns, used = [*counts, columns], 1, set()
            elif token in ("^", "_"):
                if token in used:
                    raise self.stop(f"double '{token}'")
                used.add(token)
                self.atom(self.next())
            else:
                used = set()
                self.atom(token)

    # ------------------------------------------------------------ words

    def words(self, group: bool = False, columns: int = 0) -> str:
        """Words until the end of a group, of the environment, or of the text; how they ended."""
        if group:
            self.expect("{")
        count = 1
        while token := self.peek():
            self.at += 1
            if token == "}" and group:
                return "}"
            if token == "\\end" and not group:
                return self.braces()
            if token == "$":
                self.formula("$")
            elif token == "\\[" and not columns and not group:
                self.formula("\\]")
            elif token == "\\begin" and not group:
                self.environment()
            elif columns and token in ("&", "\\\\", "\\hline"):
                if token == "&":
                    count += 1
                elif token == "\\\\":
                    if count != columns:
                        raise self.stop(f"a row of {count} cells in a table of {columns}")
                    count = 1
            elif token in _WORDS:
                for _ in range(_WORDS[token]):
                    if self.peek() == "[":
                        while self.next() != "]":
                            pass
                    self.words(group=True)
                if token.startswith("\\text") or token in ("\\dots", "\\quad"):
                    self.expect("{")
                    self.expect("}")
            elif token == "{":
                self.at -= 1
                self.words(group=True)
            elif token.startswith("\\") or token in "&^_#%~}":
                self.at -= 1
                raise self.stop(f"'{token}' among words")
        if group:
            raise self.stop("a group without an end")
        return ""

    def environment(self) -> None:
        name = self.braces()
        columns = 0
        if name == "longtable":
            while self.next() != "]":
                pass
            columns = len(self.braces())
        elif name != "document":
            raise self.stop(f"unknown environment '{name}'")
        if (found := self.words(columns=columns)) != name:
            raise self.stop(f"'{name}' ends as '{found}'")


def check_formula(text: str) -> None:
    """An error for a formula that LaTeX with amsmath would refuse."""
    reader = _Reader(text + "$")
    reader.formula("$")
    if reader.peek():
        raise reader.stop("a formula that ends too early")


def check_document(text: str) -> None:
    """An error for a text, or a whole document, that LaTeX with amsmath would refuse."""
    reader = _Reader(text)
    if (left := reader.words()) or reader.peek():
        raise reader.stop(f"the end of '{left}' without its begin")
