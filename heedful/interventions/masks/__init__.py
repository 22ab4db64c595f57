"""Masks for attribution methods, which hide features of the input: bool [masks, features], True for a kept feature."""

from heedful.interventions.masks.coalitions import Coalitions, coalitions
from heedful.interventions.masks.partitions import Node, partition
from heedful.interventions.masks.subsets import neighbours, subsets

__all__ = ["Coalitions", "Node", "coalitions", "neighbours", "partition", "subsets"]
