"""Attribution methods that need only predictions on masked inputs, not gradients."""

from heedful.metrics.attributions.methods import lime, owen, shap
from heedful.metrics.attributions.methods.method import Method

METHODS: dict[str, Method] = {module.NAME: module for module in (lime, shap, owen)}

__all__ = ["METHODS", "Method"]
