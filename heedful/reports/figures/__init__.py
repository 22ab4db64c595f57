"""Figures of runs; the import of a module registers its figures in ``FIGURES``."""

from heedful.reports.figures import attentiveness, causal_effects, history, partial_inputs, transitions
from heedful.reports.figures.registry import FIGURES, Drawn, figure

__all__ = ["FIGURES", "Drawn", "attentiveness", "causal_effects", "figure", "history", "partial_inputs", "transitions"]
