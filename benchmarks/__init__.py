"""Speed and operation counts of Armillary beside its peers, in one run.

What enters: models as plain data (`models.py`), written once and built from there in every peer. What
leaves: a table of times, ratios and counts, the list of targets with met or missed, and `results.json`.

Read `command.py` first: it is the run, stage by stage. `ours.py` builds the models with Armillary's public
interface, `peers/` builds them with the others, `reference.py` is the arbiter between all, `timing.py`
holds the stopwatch.
"""
