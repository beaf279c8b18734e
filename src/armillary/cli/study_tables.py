"""Results as `armillary study` shows them: tables of metrics, sensitivities, charts in a folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from armillary.cli import show
from armillary.errors import ArmillaryError, MissingExtraError
from armillary.studies import Study
from armillary.studies.sensitivity import Sensitivity
from armillary.untyped import AnyFunction

_LEVELS = {"lowest": 0.0, "5 %": 0.05, "median": 0.5, "95 %": 0.95, "highest": 1.0}


def spreads(study: Study, names: Sequence[str] | None = None) -> dict[str, dict[str, float]]:
    """Quantiles of metrics over the runs made in which they are finite, and in how many they are not."""
    table = study.table()
    table = table[table["status"] != "not run"]
    found = {}
    for name in study.metrics if names is None else names:
        if name in table:  # histograms are not in it
            values = table[name].to_numpy()
            known = values[np.isfinite(values)]
            quantiles = np.quantile(known, list(_LEVELS.values())) if known.size else [np.nan] * len(_LEVELS)
            found[name] = dict(zip(_LEVELS, map(float, quantiles), strict=True))
            found[name]["without"] = int(values.size - known.size)
    return found


def metrics_table(study: Study, names: Sequence[str] | None = None) -> str:
    """The metrics of a study, a line each."""
    rows = []
    for name, spread in spreads(study, names).items():
        numbers = [f"{value:.5g}" for value in list(spread.values())[:-1]]
        rows.append([name, *numbers, study.units[name], str(spread["without"] or "")])
    heads = ["", *_LEVELS, "", "without"]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return show.columns([heads, *rows]) if rows else ""


def row(study: Study, run: int) -> dict[str, float]:
    """The metrics of one run as the study has them."""
    table = study.table()
    return {name: float(table[name].iloc[run]) for name in study.metrics if name in table}


def sensitivities(study: Study, names: Sequence[str]) -> tuple[dict[str, Sensitivity], dict[str, str]]:
    """The sensitivities of metrics; and the reasons where they cannot be computed."""
    found, unknown = {}, {}
    known = study.table().columns
    for name in names:
        if name in known:
            try:
                found[name] = study.sensitivity(name)
            except MissingExtraError:
                raise
            except ArmillaryError as error:
                unknown[name] = str(error)
    return found, unknown


def draw(study: Study, folder: Path, names: Sequence[str], found: Mapping[str, Sensitivity]) -> list[Path]:
    """Charts of a study in a folder."""
    known = study.table().columns
    shown = [name for name in names if name in known]
    charts: dict[str, AnyFunction] = {f"fan {name}": partial(study.fan, name) for name in study.outputs}
    charts |= {f"histogram {name}": partial(study.histogram, name) for name in names}
    charts |= {f"sensitivity {name}": each.plot for name, each in found.items()}
    if shown:
        charts["scatter"] = partial(study.scatter, *study.varied, *shown)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArmillaryError(f"cannot make the folder '{folder}': {error.strerror or error}") from error
    written = []
    for title, chart in charts.items():
        path = folder / (re.sub(r"[^\w.]+", "-", title).strip("-") + ".png")
        try:
            chart(path=path)
        except MissingExtraError:
            raise
        except ArmillaryError:  # a metric without a finite value has no chart
            continue
        written.append(path)
    return written
