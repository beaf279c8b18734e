"""Live models: a page in which the model itself runs, compiled to WebAssembly.

``page.py`` makes the page, ``controls.py`` reads what its sliders move, ``variants.py`` lets the figure
follow them, ``grab.py`` adds the loads of the hand that pulls at a body. The page's program is in
``web/scripts/live``.
"""
