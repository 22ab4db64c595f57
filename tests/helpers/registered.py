"""The registries of evaluations and metrics."""

from collections.abc import Iterator
from contextlib import contextmanager

from heedful.callbacks import EVALUATIONS
from heedful.callbacks.evaluations.perturbation import Perturbation
from heedful.metrics import METRICS

CLASSES = {  # with numbers of their own, and so with tests of their own
    name for name, kind in EVALUATIONS.items() if not issubclass(kind, Perturbation) or kind.metric.name == "order"
}


@contextmanager
def restored_registries() -> Iterator[None]:
    """At the end, remove the evaluations and metrics that were registered meanwhile."""
    before = dict(EVALUATIONS), dict(METRICS)
    try:
        yield
    finally:
        for registry, entries in zip((EVALUATIONS, METRICS), before, strict=True):
            registry.clear()
            registry.update(entries)
