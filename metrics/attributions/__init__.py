"""Attributions of words: methods that see a model through masks alone, and their rows."""

from metrics.attributions import lime, owen, permutation, shap
from metrics.attributions.method import Method

METHODS: dict[str, Method] = {module.NAME: module for module in (lime, shap, permutation, owen)}

__all__ = ["METHODS", "Method"]
