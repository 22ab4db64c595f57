"""Methods that see a model through masks alone."""

from heedful.metrics.attributions.methods import lime, owen, permutation, shap
from heedful.metrics.attributions.methods.method import Method

METHODS: dict[str, Method] = {module.NAME: module for module in (lime, shap, permutation, owen)}

__all__ = ["METHODS", "Method"]
