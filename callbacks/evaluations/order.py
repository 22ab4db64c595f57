"""The evaluation "order": is the same answer chosen if the options change places?"""

import numpy as np

from heedful.callbacks.evaluations.perturbation import perturbation
from heedful.metrics import METRICS
from heedful.records import Example, Options


@perturbation("order", expects="moves", metric=METRICS["order"])
def order(example: Example, rng: np.random.Generator) -> Example | None:
    """Put the options of a question in another random order, in which the same option should be chosen.

    Two options are swapped. Examples whose options are all equal are left out.
    """
    options = example.options
    part = next(name for name, content in example.parts.items() if content is options)
    if len(set(options.texts)) < 2:
        return None
    moved = options
    while moved == options:  # equal options may change places
        moved = Options.of(options.keys, rng.permutation(np.array(options.texts, dtype=object)).tolist())
    return example.replace(part, moved)
