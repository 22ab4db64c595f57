"""Masks for attribution methods: bool arrays [masks, features], True where a feature is kept."""

from heedful.interventions.masks.coalitions import Coalitions, coalitions
from heedful.interventions.masks.partitions import Node, partition
from heedful.interventions.masks.subsets import neighbours, subsets

__all__ = ["Coalitions", "Node", "coalitions", "neighbours", "partition", "subsets"]
