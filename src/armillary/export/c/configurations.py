"""Further configurations of a system in C: a file for each with its functions, one with those of the changes
of the first, a header, and the tables that the solver reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from armillary.export.c.model import INPUTS, RENEWED, RESULT, CModel
from armillary.export.c.text import Signature, block, function
from armillary.export.text.configurations import (
    change_functions,
    change_sizes,
    common_numbers,
    has_function,
    passing_numbers,
    state_size_table,
)
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.printing.solver_printer import CONSTRAINT_GEOMETRY
from armillary.runtime.models.configurations.run_changes import (
    across_tables,
    change_shape,
    configuration_numbers,
)

_OF_CHANGES = ("leave", "enter", "impulse", "adjust", "ratings", CONSTRAINT_GEOMETRY)
_ORDINARY = ("derivatives", "outputs", "events", "update", *_OF_CHANGES)
_PARTIAL = "partial_rates"  # of stiff programs
_OF_ONE = ("role", "direction", "ends", "lands")
_OF_ALL = {
    "locked": "locked_in", "used": "used_states", "watched": "watched_events", "choice": "choice_event",
    "rank": "rank_event",
}  # fmt: skip
_SIZES = {
    "N_OWN_EVENTS": "own_events", "N_CONFIGURATIONS": "configuration_count", "N_STATES": "states_room",
    "N_EVENTS": "events_room", "N_CONSTANTS": "constants_most", "N_SPEEDS": "speeds", "N_MOTION": "motion",
    "N_LOCKABLE": "lockable", "N_MEMBERS": "members", "N_SETTINGS": "settings",
    "N_OWN_MOTION": "own_motion", "N_ROWS": "rows", "N_ELEMENTS": "elements", "N_STAGES": "stages",
    "N_NESTS": "nests", "N_LOOKS": "looks",
}  # fmt: skip


def configuration_files(model: CModel) -> dict[str, str]:
    """The files of all configurations; none where there is one."""
    if not model.source.changing:
        return {}
    stem = model.stem
    files = {f"{stem}_changes.h": _header(model), f"{stem}_changes.c": _file(model, whole=False)}
    for other in configurations(model)[1:]:
        files[f"{other.stem}.c"] = _file(other, whole=True, header=stem)
    return files


def configurations(model: CModel) -> list[CModel]:
    """The models of all configurations, the first one first."""
    return [model, *(model.further(source) for source in model.source.others)]


def _file(model: CModel, *, whole: bool, header: str = "") -> str:
    """The functions of a configuration, or those of its changes alone."""
    text = "\n".join([*([model.body()] if whole else []), changing_functions(model)])
    helpers_text = model.helper_functions(text)
    apart = _APART if "APART" in helpers_text + text else ""
    name = f"{model.stem}.c" if whole else f"{model.stem}_changes.c"
    what = "one of its configurations" if whole else "changes from and to the configuration as derived"
    head = block([f"{name}: {model.description.name}: {what}"])
    include = f'#include "{header or model.stem}_changes.h"\n\n#include <math.h>\n'
    as_cpp = "#if defined(__cplusplus)\n#define restrict\n#endif\n\n" if "embedded" in model.has else ""
    return f"{head}\n{include}\n{as_cpp}{apart}{helpers_text}\n{text}"


_APART = """\
#if defined(__GNUC__)
#define APART __attribute__((noinline)) /* pieces of long functions stay apart: quicker to compile */
#else
#define APART
#endif

"""


def changing_functions(model: CModel) -> str:
    """The functions by which a run leaves and enters a configuration."""
    texts = []
    for f in change_functions(model.source):
        targets = [f"out[{i}]" for i in range(len(f.section.results))]
        signature = Signature(f"{model.stem}_{f.name}", f"{INPUTS}, {RESULT}", targets)
        texts.append(function(signature, f"{f.about}.", model.sections.body(f.section)))
    return "\n".join(texts)


def _header(model: CModel) -> str:
    """Prototypes of the functions of all configurations."""
    stem = model.stem
    lines = [block([f"{stem}_changes.h: functions of all configurations of {model.description.name}"])]
    lines += [
        f"#ifndef {model.upper}_CHANGES_H",
        f"#define {model.upper}_CHANGES_H",
        f'#include "{stem}.h"',
        "",
    ]
    for one in configurations(model):
        had = _functions(one)
        if one is not model:
            lines.append(f"void {one.stem}_precompute(const double *parameters, double *constants);")
            if "fire" in had:
                lines.append(f"void {one.stem}_fire(int event, {_plain(INPUTS)}, {_plain(RENEWED)});")
            if "normalise" in had:
                inputs = _plain(INPUTS).replace("const double *state", "double *state", 1)
                lines.append(f"void {one.stem}_normalise({inputs});")
        own = (*_ORDINARY, _PARTIAL) if one is not model else _OF_CHANGES
        lines += [f"void {one.stem}_{name}({_plain(INPUTS)}, double *out);" for name in own if name in had]
    return "\n".join([*lines, "", "#endif", ""])


def _plain(arguments: str) -> str:
    return arguments.replace("*restrict ", "*")


def _functions(model: CModel) -> set[str]:
    """Names of the functions that a configuration has."""
    found = {name for name, there in has_function(model.program, model.source.passing).items() if there}
    partial = {_PARTIAL} if model.program.partial_rates else set()
    return {"precompute", "derivatives", "outputs"} | partial | found


def configuration_values(model: CModel, vectors: Sequence[str], code: str) -> dict[str, str]:
    """Sizes and tables of the solver's files; ``vectors`` are those of states in a run, ``code`` the text of
    the functions that read the tables.
    """
    if not model.source.changing:
        return {"own_events": f"{model.upper}_EVENTS"}
    models = configurations(model)
    every = [m.source.equations for m in models]
    sizes = {
        _SIZES[name]: str(value)
        for name, value in change_sizes(every, model.source.passing).items()
        if name in _SIZES
    }
    return sizes | {
        "configuration_tables": _tables(models, code),
        "cleared": " = ".join(f"run->{name}[i]" for name in vectors),
    }


def _tables(models: Sequence[CModel], code: str) -> str:
    """Functions and numbers of all configurations, as far as they are read."""
    model = models[0]
    _, lockable = change_shape(model.source.equations)
    partial = (_PARTIAL,) if "differentiated" in model.has else ()
    members = ", *".join(["update", *partial])
    texts = [_TYPES.replace("@name@", model.stem).replace("*update;", f"*{members};")]
    ordinary = [*_ORDINARY[:4], *partial, *_ORDINARY[4:]]
    entries = []
    numbers = [configuration_numbers(m.source.equations, lockable, recloses=True) for m in models]
    for c, one in enumerate(models):
        had = _functions(one)
        texts += [_array(f"{name}_{c}", numbers[c][name]) for name in _OF_ONE]
        functions = [
            f"{one.stem}_{name}" if name in had else "0"
            for name in ("precompute", *ordinary, "fire", "normalise")
        ]
        entries.append("    {" + ", ".join([*functions, *(f"{name}_{c}" for name in _OF_ONE)]) + "},")
    shared = {
        _OF_ALL.get(name, name): [v for own in numbers for v in own[name]]
        for name in numbers[0]
        if name not in _OF_ONE
    }
    every = [m.source.equations for m in models]
    shared |= common_numbers(every, lockable)
    if model.source.passing:
        shared |= passing_numbers(every)
    read = code + "used_states[ watched_events["  # these by the fixed text; names alone are words of comments
    texts += [_array(name, values) for name, values in shared.items() if re.search(rf"\b{name}\[", read)]
    reals = {"state_size": state_size_table(every)} | (across_tables() if model.source.passing else {})
    texts += [_array(name, values, "double") for name, values in reals.items() if f"{name}[" in read]
    texts += [
        "static const configuration configurations[] = {\n" + "\n".join(entries) + "\n};\n",
        "/* The present configuration of a run. */",
        f"static const configuration *present(const {model.stem}_run *run)",
        "{\n    return &configurations[run->configuration];\n}\n",
        f"static void install({model.stem}_run *run, int c);\n",
    ]
    return "\n".join(texts)


def _array(name: str, values: Iterable[float], kind: str = "int") -> str:
    text = "\n".join(wrapped(", ".join(map(repr, values)) or "0", 100, "    ", "    "))
    return f"static const {kind} {name}[] = {{\n{text}}};"


_TYPES = """\
typedef void section(double t, const double *state, const double *constants, const double *memory,
    double *out);

/* The functions and the numbers of a configuration; no function: 0. */
typedef struct {
    void (*precompute)(const double *parameters, double *constants);
    section *derivatives, *outputs, *events, *update;
    section *leave, *enter, *impulse, *adjust, *ratings, *constraint_geometry;
    void (*fire)(int event, double t, const double *state, const double *constants, const double *memory,
        double *new_memory, double *new_state);
    void (*normalise)(double t, double *state, const double *constants, const double *memory);
    const int *role, *direction, *ends, *lands; /* of its events */
} configuration;
"""
