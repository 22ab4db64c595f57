"""Pure functions from rows to numbers with error bars."""

from metrics.accuracy import accuracy, noise
from metrics.attentiveness import attentiveness
from metrics.measurement import Measurement

__all__ = ["Measurement", "accuracy", "attentiveness", "noise"]
