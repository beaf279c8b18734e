"""Figures and pages: one way to draw, for runs, batches, studies and fits.

``figure.py`` has the look, figures without a display and safe saving; ``chart.py`` decides which curves of
runs stand in which panel, ``run_plot.py`` and ``webpage.py`` draw them; ``distributions.py`` draws many
runs, ``motion.py`` shows how bodies move.
"""
