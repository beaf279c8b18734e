"""Expressions and lookup tables in C, of which C++ and CUDA are close enough relatives to share them."""

from __future__ import annotations

import numpy as np

from armillary.algebra.tables import Piecewise
from armillary.export.c.text import comment
from armillary.export.text.files.template import fill, template
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.printing.printer import Printer, nested_polynomial
from armillary.untyped import Given

# Words of C and C++, and what their headers define.
_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
_Bool _Complex _Imaginary bool true false and and_eq bitand bitor compl not not_eq or or_eq xor xor_eq asm
catch class const_cast delete dynamic_cast explicit export friend mutable namespace new operator private
protected public reinterpret_cast static_cast template this throw try typeid typename using virtual wchar_t
alignas alignof char16_t char32_t concept constexpr consteval constinit co_await co_return co_yield decltype
noexcept nullptr requires static_assert thread_local linux unix i386 INFINITY NAN HUGE_VAL HUGE MAXFLOAT
DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS NULL errno assert main real
sin cos tan asin acos atan atan2 exp log pow sqrt fabs fma tanh floor ceil fmod
"""


GROUP = 4  # angles whose sines and cosines are computed together


class CPrinter(Printer):
    """C99: doubles, conditional expressions, sines and cosines in pairs."""

    keywords = frozenset(_WORDS.split())
    inline = 60  # with longer ones GCC, which keeps their order, waits for results: 7 % on a Stewart platform
    paired_angles = GROUP
    functions = {"abs": "fabs", "min": "lesser", "max": "greater", "sign": "signum", "mod": "modulo"}  # noqa: RUF012
    specials = ("NAN", "INFINITY", "(-INFINITY)")


# Functions of numbers that C has not, or not with these rules for NaN.
HELPERS = {
    "lesser": """\
/* The smaller of two numbers; NaN if either is. */
static inline double lesser(double a, double b) { return a < b || a != a ? a : b; }
""",
    "greater": """\
/* The larger of two numbers; NaN if either is. */
static inline double greater(double a, double b) { return a > b || a != a ? a : b; }
""",
    "modulo": """\
/* What a is beyond a whole multiple of b, with the sign of b. */
static inline double modulo(double a, double b)
{
    const double r = fmod(a, b);
    return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}
""",
    "signum": """\
/* 1, 0 or -1; NaN for NaN. */
static inline double signum(double a) { return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a; }
""",
}


def trigonometry(code: str) -> str:
    """The functions for sines and cosines that a text calls: of single angles, of several at once."""
    has = {"single"} if "sine_cosine(" in code else set()
    has |= {"several"} if "sines_cosines(" in code else set()
    return fill(template(__package__, "trigonometry.c.txt"), {}, has) if has else ""


def helpers(code: str) -> str:
    """The helper functions that a text calls."""
    return "\n".join(text for name, text in HELPERS.items() if f"{name}(" in code)


def lookup_function(name: str, table: Piecewise, printer: Printer) -> str:
    """A table as a function: bisection on each axis, then Horner's rule (user_functions/tables.py)."""
    lines = [f"/* Table '{comment(table.name)}': a polynomial in each interval between its breaks. */"]
    lines.append(f"static double {name}({', '.join(f'double x{a}' for a in range(table.arity))})")
    lines.append("{")
    for a, breaks in enumerate(table.breaks):
        lines += _array(f"breaks{a}", breaks, printer)
    lines += _array("coefficients", np.ravel(table.coefficients), printer)
    for a in range(table.arity):
        lines += _axis(table, a, printer)
    return "\n".join([*lines, *_horner(table), "}"])


def _array(name: str, values: Given, printer: Printer) -> list[str]:
    items = ", ".join(printer.number(float(v)).text for v in values)
    text = f"static const double {name}[{len(values)}] = {{{items}}};"
    return wrapped(text, 110, "    ", "        ")


def _axis(table: Piecewise, a: int, printer: Printer) -> list[str]:
    """Interval i and distance s from its left break along one axis."""
    breaks, n = table.breaks[a], len(table.breaks[a]) - 1
    first, last = (printer.number(float(breaks[k])).text for k in (0, -1))
    held = (
        f"x{a} < {first} ? {first} : x{a} > {last} ? {last} : x{a}"
        if table.outside[a] == "clamp"
        else f"x{a}"
    )
    return [
        f"    const double inside{a} = {held};",
        f"    int i{a} = 0;",
        f"    for (int end = {n}; end - i{a} > 1;) {{",
        f"        const int middle = (i{a} + end) / 2;",
        f"        if (inside{a} >= breaks{a}[middle])",
        f"            i{a} = middle;",
        "        else",
        "            end = middle;",
        "    }",
        *(
            [f"    const double s{a} = inside{a} - breaks{a}[i{a}];"]
            if table.coefficients.shape[table.arity + a] > 1
            else []
        ),
    ]


def _horner(table: Piecewise) -> list[str]:
    """Along the last axis for each power of the first, then along the first."""
    shape = table.coefficients.shape
    degrees = shape[table.arity :]
    cell = int(np.prod(degrees))
    place = "i0" if table.arity == 1 else f"(i0 * {shape[1]} + i1)"
    lines = [f"    const double *c = &coefficients[{place} * {cell}];"]
    lines.append(f"    double value = {nested_polynomial(table)};")
    for a in range(table.arity):
        if degrees[a] == 1:  # a constant piece would not notice NaN
            lines += [f"    if (x{a} != x{a})", f"        value = x{a};"]
        if table.outside[a] == "zero":
            first, last = (repr(float(table.breaks[a][k])) for k in (0, -1))
            lines += [f"    if (x{a} < {first} || x{a} > {last})", "        value = 0.0;"]
    return [*lines, "    return value;"]
