"""Figures and pages of runs, batches, studies and fits, all drawn in one way.

``run_plot.py`` has the style of figures, figures without a display, and safe saving. It decides which panel
shows which curves of runs, and draws them as figures, pages and in notebooks. ``distributions.py`` draws many
runs, ``motion.py`` shows how bodies move.
"""
