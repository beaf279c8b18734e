"""Features that only some systems have: the parts of templates that they need."""

from __future__ import annotations

from armillary.export.text.source import Source
from armillary.program.configurations.sections import ADJUST, speed_settings
from armillary.program.targets.targets import DEPENDENT_SPEEDS


def features(source: Source) -> frozenset[str]:
    """Words for `template.fill`."""
    program, d, every = source.program, source.description, (source, *source.others)
    found = {
        "events": bool(program.events.results),
        "update": bool(program.update.results),
        "normalise": program.normalises,
        "quaternions": bool(program.quaternions),
        "renewed": bool(program.renewed),
        "drift": len(program.renewed) > 4 * len(program.quaternions),
        "corrected": bool(program.corrected),
        "loops": source.assembly is not None,
        "jumps": bool(program.stops),
        "physical": source.physical is not None,
        "masses": source.masses is not None,
        "start": source.start is not None,
        "placed": source.start is not None and bool(source.start.placed),
        "memory": bool(program.memory),
        "clocks": any(m.period is not None for m in d.memory),
        "guarded": source.guard is not None,
        "guard": any(e.guard for e in d.events),
        "parameters": bool(d.parameters),
        "configurations": source.changing,
        "passing": source.passing,
        "contacts": bool(source.equations.system.contacts),
        "locking_events": any(e.equations.configuration.locked for e in every),
        "settings": bool(source.changing and speed_settings(source.equations.system)),
        "adjusting": any(s.name == ADJUST for one in every for s in one.program.changes),
        "choices": any(w.name == DEPENDENT_SPEEDS for e in every for w in e.equations.targets.watched),
        "reclosing": bool(source.set_places) and not source.prefix,
        "landing_events": source.changing,
        "implicit": source.stiff,
        "differentiated": all(one.program.partial_rates for one in every),
        "sparse": program.structure is not None,
        "driven": source.stiff and bool(program.tabled),
        "rated": any(s.name == "ratings" for one in every for s in one.program.changes),
    }
    return frozenset(name for name, present in found.items() if present)
