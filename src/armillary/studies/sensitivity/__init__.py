"""Sensitivities of metrics to varied quantities: indices and screening (``screening.py``), what any runs show
(``explained_variance.py``), and bars of both (``bar_chart.py``).
"""
