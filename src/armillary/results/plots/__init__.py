"""Figures and pages: one way to draw, for runs, batches, studies and fits.

``run_plot.py`` has the look, figures without a display and safe saving, decides which curves of runs are in
which panel, and draws them as figures, pages and in notebooks; ``distributions.py`` draws many
runs, ``motion.py`` shows how bodies move.
"""
