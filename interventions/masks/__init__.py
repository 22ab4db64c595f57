"""Which features of an example stay: masks are bool arrays [masks, features], True where a feature stays."""

from interventions.masks.coalitions import Coalitions, coalitions
from interventions.masks.partitions import Node, partition
from interventions.masks.permutations import antithetic_orders, prefixes
from interventions.masks.subsets import neighbours, subsets

__all__ = ["Coalitions", "Node", "antithetic_orders", "coalitions", "neighbours", "partition", "prefixes", "subsets"]
