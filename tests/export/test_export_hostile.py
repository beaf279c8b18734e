"""Texts of a stranger's model in exported programs: they end up in comments, strings and escaped text."""

from __future__ import annotations

import io
import re
import tokenize
import tomllib
import zipfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

import armillary as arm
from armillary.stages.equations import Equations

MARK = "EVIL("
# Ends of comments and strings in every language, also in disguise; line breaks of every kind; marks of
# templates.
ENDS = (
    *("*/", "*\\", "*??/", "'", '"', '"""', "'''", "\\'", '\\"', "]]>", "-->", "</td><script>", "%s%n"),
    *("@title@", "{{if events}}", "\n", "\r", "\u2028", "\x0b", "\x85", "\n#", "\n'\"", "$(shell ", "{"),
    *("/*/", "//", "\\", "\t", "  \t"),
)  # fmt: skip
TEXT = "x" + "".join(f"{end} EVIL(); " for end in ENDS) + "\\"

# Comments and strings, in the order in which a reader of the language meets them.
_C = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_FORTRAN = re.compile(r"![^\n]*|'(?:''|[^'\n])*'|\"(?:\"\"|[^\"\n])*\"")
_MATLAB = re.compile(r"%[^\n]*|(?<![\w)\]}.'])'(?:''|[^'\n])*'|\"(?:\"\"|[^\"\n])*\"")
_SHELL = re.compile(r"#[^\n]*")


@cache
def hostile() -> Equations:
    """A system with the text wherever a system takes a text that is not a name."""
    s = arm.System(f"system {TEXT}")
    s.parameter("k", 2.0, units="N\n/\r\nm", about=TEXT)
    s.input("i", 1.0, units="N", about=TEXT)
    s.memory("m", 0.0, about=TEXT)
    s.memory("clocked", 0.0, update="clocked + 1", every=0.1, about=TEXT)
    law = arm.Table([0, 1], [0, 1], name=TEXT, x_units="m", y_units="m")
    area = arm.Table2([0, 1], [0, 1], [[0, 1], [2, 3]], name=TEXT, x_units="m", y_units="m", z_units="m")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    b = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.constrain(a.q1 - b.q1, name=TEXT)
    s.force("pull", -s.parameters["k"] * (law(a.q1) + area(a.q1, a.q1)), a.x, at=a.com)
    s.event(f"event {TEXT}", "a.q1 - 3", set={"m": "m + 1"}, about=TEXT)
    s.output(f"output {TEXT}", "a.q1", units="m\n", about=TEXT)
    return s.derive()


def code_of(name: str, text: str) -> str:
    """What is left of a file when comments, strings and plain prose are taken out."""
    suffix = Path(name).suffix
    if suffix == ".py":
        kinds = (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return " ".join(token.string for token in tokens if token.type not in kinds)
    if suffix == ".toml":
        return " ".join(key for table in tomllib.loads(text).values() for key in table)
    if suffix == ".xml":
        return " ".join(element.tag for element in ElementTree.fromstring(text).iter())
    if suffix == ".html":
        return " ".join(_tags(text))
    if suffix in (".c", ".h", ".cu", ".cuh", ".cpp"):
        spliced = text.replace("??/", "\\").replace("\\\n", "")  # what compilers do before anything else
        return _C.sub(" ", spliced)
    if suffix in (".f90", ".nml"):
        return _FORTRAN.sub(" ", text)
    if suffix == ".m":
        return _MATLAB.sub(" ", text)
    if name.endswith("Makefile"):
        return _SHELL.sub(" ", text)
    if suffix == ".md":  # prose, whose lines must not become lines of their own
        return "\n".join(line for line in text.splitlines() if line.strip().startswith("EVIL"))
    return text


def _tags(text: str) -> list[str]:
    found: list[str] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attributes: found.append(tag)  # type: ignore[method-assign]
    reader.feed(text)
    assert "script" not in found
    return found


@pytest.mark.parametrize("language", ("c", "cuda", "python", "jax", "fortran", "matlab", "fmu"))
def test_no_text_of_a_model_becomes_code(language: str, tmp_path: Path) -> None:
    options = {"binary": False} if language == "fmu" else {}
    made = hostile().export(language, tmp_path / "evil", **options)
    if made.is_file():
        with zipfile.ZipFile(made) as archive:
            archive.extractall(tmp_path / "unpacked")
        made = tmp_path / "unpacked"
    met = 0
    for file in made.rglob("*"):
        if file.is_file():
            text = file.read_bytes().decode()
            met += MARK in text
            assert MARK not in code_of(file.name, text), file.name
    assert met >= 3  # the texts are there, for people


def test_what_is_no_text_must_be_a_name() -> None:
    """Names that stand in code bare are letters, digits and underscores."""
    s = arm.System("names")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    for verb in (
        lambda: s.parameter(TEXT, 1.0),
        lambda: s.input(TEXT),
        lambda: s.memory(TEXT, 0.0),
        lambda: s.body(TEXT),
        lambda: s.force(TEXT, 1.0, a.x, at=a.com),
        lambda: s.moment(TEXT, 1.0, a.x, on=a),
        lambda: s.strut(TEXT, "-x", between=(s.ground.origin, a.com)),
        lambda: s.function(TEXT, lambda x: x),
        lambda: s.parameter("p", 1.0, units=f"m{TEXT}"),
        lambda: s.output("o", a.q1, units=TEXT),
    ):
        with pytest.raises(arm.ArmillaryError):
            verb()


def test_no_name_of_a_model_is_a_macro_of_its_c_equations(tmp_path: Path) -> None:
    """A parameter APART was `const double __attribute__((noinline)) = …` in front of GCC."""

    def written(folder: str, names: tuple[str, ...]) -> str:
        s = arm.System("arms")
        s.gravity(9.81, -s.ground.y)
        a = s.body("a", joint=arm.Revolute("z"), com=(1, 0, 0), mass=1.0, inertia=(1, 1, 1))
        b = s.body("b", a, arm.Revolute("z"), at=(1, 0, 0), com=(1, 0, 0), mass=1.0, inertia=(1, 1, 1))
        s.moment("pull", sum((s.parameter(n, 1.0) for n in names), 1 * b.q1), b.z, on=b)
        return (s.derive().export("c", tmp_path / folder) / "arms.c").read_text()

    macros = set(re.findall(r"# *define (\w+)", written("plain", ())))
    assert macros >= {"APART", "WHOLE"}
    declared = set(re.findall(r"const double (\w+)", written("named", tuple(sorted(macros)))))
    assert not macros & declared
    assert declared >= {f"{macro}_1" for macro in macros}
