"""Test of the most probable label, also of scores that are not finite."""

import math

import torch

from heedful.lightning_modules import NOT_FINITE
from heedful.lightning_modules.outputs import most_probable


def test_rows_without_a_finite_best_score_are_marked_and_a_label_may_be_ruled_out():
    nan, inf = math.nan, math.inf
    scores = torch.tensor([[1, 3, 3], [-inf, 0, -inf], [0, nan, 1], [nan] * 3, [0, inf, 1], [-inf] * 3, [2, 1, -inf]])
    numbers = most_probable(scores)
    assert numbers.dtype == torch.int64
    assert numbers.tolist() == [1, 1, NOT_FINITE, NOT_FINITE, NOT_FINITE, NOT_FINITE, 0]
