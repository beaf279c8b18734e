"""Pictures of motions: what a system looks like, where its bodies are in a run, and the page that shows it.

Enters: a compiled model and a run. Leaves: one HTML file that needs no network, or a film or picture. Read
``poses.py`` (places and attitudes of all bodies from compiled code), ``parts/appearance.py`` (what is drawn
for a body), ``figures.py`` (both as data), ``pages/page.py``; then ``pages/views.py`` and ``pages/cloud.py``
(several runs), ``pages/pose_page.py`` (sliders), ``film/`` (pictures without a browser). The page's own
program is ``web/scripts``, ``motion.js`` first.
"""
