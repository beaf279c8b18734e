"""Pictures of motions: the drawing of a system, the poses of its bodies in a run, and the page that shows
them.

Enters: a compiled model and a run. Leaves: one HTML file that needs no network, or a film or picture. Read
``page_data.py`` (poses of all bodies from compiled code, packed), ``appearance.py`` (the drawing of a body),
``figures.py`` (drawing and poses as data of a page), ``page.py`` (pages of motions, and of poses with
sliders); then ``views.py`` (several runs), ``film.py`` and ``picture.py`` (pictures without a browser),
``live.py`` (pages in which the model runs). The program of the page is ``web/scripts``, ``motion.js`` first.
"""
