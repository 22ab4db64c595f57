"""Values of words, compared with a loop over tokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.callbacks.engine.inquiry import of_words

AGGREGATES = {"sum": sum, "mean": np.mean, "first": lambda values: values[0]}


@given(st.lists(st.lists(st.integers(-1, 3), min_size=7, max_size=7).map(sorted), min_size=1, max_size=3))
@pytest.mark.parametrize("subwords", AGGREGATES)
def test_the_value_of_a_word_is_the_aggregate_of_its_tokens(subwords, features):
    tokens = np.arange(1.0, 7 * len(features) + 1).reshape(-1, 7) ** 2
    expected = np.zeros((len(features), 5))
    for i, row in enumerate(features):
        for word in set(row) - {-1}:
            expected[i, word] = AGGREGATES[subwords]([tokens[i, j] for j, feature in enumerate(row) if feature == word])
    assert of_words(tokens, np.array(features), 5, subwords) == pytest.approx(expected)
