"""Pictures of motions: what a system looks like, where its bodies are in a run, and the page that shows it.

Enters: a compiled model and a run. Leaves: one HTML file that needs no network. Read ``poses.py`` (places and
attitudes of all bodies from compiled code), ``appearance.py`` (what is drawn for a body), ``page.py``.
"""
