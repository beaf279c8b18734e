"""C99: a stand-alone program for one system, without globals, allocation or warnings.

model.py writes <name>.h and <name>.c from the sections, solver.py the solver. The main program and the
Makefile are templates beside this file, the same for all systems except for names. Read model.py first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import inf
from pathlib import Path

from armillary.algebra.arguments import flag
from armillary.errors import ArmillaryError, nearest
from armillary.export.c.model import USUAL, CModel, checked_lanes, test_code
from armillary.export.c.printer import CSolverPrinter, counts
from armillary.export.c.solver import assembly_code, configuration_files, solver_texts
from armillary.export.text.files import example_run, fill, foreign_keys, run_keys, template, write_folder
from armillary.export.text.printer import wrap_statement
from armillary.export.text.solver_printer import NO_SOLVER, prefix_settings, setting_checks
from armillary.export.text.source import Source, make_source
from armillary.program.equations import DerivedEquations
from armillary.solver.methods.method_text import exported_methods

PROFILES = ("host", "embedded", "acados")


def export(
    equations: DerivedEquations,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    profile: str = "host",
    precision: str | None = None,
    method: str | None = None,
    measure: bool | None = None,
    configurations: bool | None = None,
    lanes: int | None = None,
    stiff: bool = False,
    parameters: Sequence[str] | None = None,
    step: float | None = None,
) -> Path:
    """Write a folder with the system's program in C and return its path.

    ``lanes`` is the number of doubles in a vector: 2 (default) or 4, or 1 for no vectors. GCC and Clang
    compute operations of similar branches on such vectors.

    ``stiff``: the solver also has the methods rodas5p and rodas3, with the partial derivatives of the rates.

    ``profile="embedded"`` is for microcontrollers: ``precision`` "single" or "double", one ``method`` with a
    fixed step (rodas3 for stiff systems). With ``measure`` the README has costs counted by QEMU; by default
    (None) it has them if QEMU and the cross compilers are installed.

    ``profile="acados"`` is for optimisers: rates, Jacobians, adjoints and Hessians in the form of acados'
    external models, for CasADi and as plain functions. ``parameters`` names the parameters that are arguments
    of these functions; the others keep their defaults. With ``step``, a time in s, the program also has the
    functions of acados' discrete models.
    """
    if profile == "acados":
        from armillary.export.c.optimizer import optimizer_files

        own = {"precision": precision, "method": method, "measure": measure, "lanes": lanes}
        if given := [name for name, value in own.items() if value is not None]:
            raise ArmillaryError(
                f"{', '.join(given)}: programs of profile='acados' have no such option; leave it out"
            )
        return write_folder(path, optimizer_files(equations, parameters or (), step), force=force)
    if parameters is not None or step is not None:
        name = "parameters" if parameters is not None else "step"
        raise ArmillaryError(f"{name}: only profile='acados' takes this")
    if profile == "embedded":
        from armillary.export.embedded import embedded_files, fixed_method

        if lanes is not None and checked_lanes(lanes) > 1:
            raise ArmillaryError("lanes: programs of profile='embedded' have no vectors; leave it out")
        if flag(stiff, "stiff="):
            raise ArmillaryError(
                "stiff: programs of profile='embedded' have one method; give method='rodas3' instead"
            )
        chosen = fixed_method(method or "rk4")
        stiff = chosen.rosenbrock is not None
        found = make_source(equations, configurations, passes=True, stiff=stiff, sparse=True)
        files = embedded_files(found, precision or "single", chosen, measure)
        return write_folder(path, files, force=force)
    if profile != "host":
        raise ArmillaryError(
            f"profile is '{profile}'{nearest(str(profile), PROFILES)}; use one of {', '.join(PROFILES)}"
        )
    own = {"precision": precision, "method": method, "measure": measure}
    if given := [name for name, value in own.items() if value is not None]:
        raise ArmillaryError(
            f"{', '.join(given)}: only profile='embedded' takes this; a host's program is "
            "in double precision and reads its method from the run file"
        )
    made = make_source(equations, configurations, passes=True, stiff=flag(stiff, "stiff="), sparse=True)
    return write_folder(
        path, program_files(made, USUAL if lanes is None else checked_lanes(lanes)), force=force
    )


def program_files(src: Source, lanes: int = USUAL) -> dict[str, str]:
    """Return the files of a system's program, by name."""
    model = CModel(src, lanes)
    return {
        **model_files(model),
        "main.c": fill(template(__package__, "main.c.txt"), model.values | _setting_values(model), model.has),
        "test.c": test_code(model),
        "run.toml": example_run(src),
        "Makefile": _fill_template(model, "Makefile.txt"),
        "README.md": readme(model),
    }


def model_files(model: CModel) -> dict[str, str]:
    """Return the equations and the solver, without a main program."""
    stem = model.stem
    loops = {f"{stem}_assembly.c": assembly_code(model.source)} if "loops" in model.has else {}
    loops |= configuration_files(model)
    return {
        f"{stem}.h": model.header(),
        f"{stem}.c": model.code(),
        **loops,
        **solver_texts(model).files(stem),
    }


_REFUSAL = """\
    if ({}) {{
        fprintf(stderr, "{}\\n"{});
        return 2;
    }}"""


def _setting_values(model: CModel) -> dict[str, str]:
    """Return the settings that the main program reads: the keys of [run] and their defaults."""
    keys, words = run_keys(), prefix_settings("wanted.") | {"chooses": "adaptive"}
    defaults = {"duration": "1.0"}  # of a run without a run file
    numbers = ("(double)INFINITY" if k.default == inf else repr(k.default or 0.0) for k in keys)
    table = ", ".join(f'{{"{k.key}", &run->{k.key}}}' for k in keys)
    adaptive = [m.name.upper() for m in exported_methods(True, model.source.stiff) if m.adaptive]
    return {
        "setting_words": ", ".join(k.key for k in keys),
        "setting_table": "\n".join(wrap_statement(table, 100, "", " " * 8)),
        "setting_defaults": ", ".join(defaults.get(k.key, n) for k, n in zip(keys, numbers, strict=True)),
        "foreign": " || ".join(f'strcmp(key, "{key}") == 0' for key in foreign_keys()),
        "setting_checks": setting_checks(CSolverPrinter(NO_SOLVER, model.stem), _REFUSAL, "%g", words),
        "adaptive": " || ".join(f"wanted.method == {model.upper}_{name}" for name in adaptive),
    }


def _fill_template(model: CModel, name: str) -> str:
    return fill(template(__package__, name), model.values, model.has)


def readme(model: CModel) -> str:
    """Return README.md."""
    d = model.description
    values = model.values | {
        "formalism": d.formalism,
        "freedom": d.freedom,
        "cost": counts(d.operations),
    }
    return fill(template(__package__, "README.md.txt"), values, model.has)
