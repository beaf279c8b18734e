"""Pictures of motions: what a system looks like, where its bodies are in a run, and the page that shows it.

Enters: a compiled model and a run. Leaves: one HTML file that needs no network, or a film or picture. Read
``poses.py`` (places and attitudes of all bodies from compiled code), ``appearance.py`` (what is drawn for a
body), ``figures.py`` (both as data), ``page.py``; then ``views.py`` and ``cloud.py`` (several runs),
``posing.py`` (sliders), ``film/`` (pictures without a browser). The page's own program is ``web/scripts``,
``motion.js`` first.
"""
