"""Pure functions that change examples: deterministic by (seed, intervention, version, part, uid, draw)."""

from interventions.base import Intervention, manifest_hash
from interventions.null import Null
from interventions.randomness import generator
from interventions.swap import Swap

__all__ = ["Intervention", "Null", "Swap", "generator", "manifest_hash"]
