"""Figures of runs. Each module registers the figures that it draws in ``FIGURES``."""

from heedful.reports.figures import attentiveness, causal_effects, history, partial_inputs, transitions
from heedful.reports.figures.registry import FIGURES, Drawn, figure

__all__ = ["FIGURES", "Drawn", "attentiveness", "causal_effects", "figure", "history", "partial_inputs", "transitions"]
