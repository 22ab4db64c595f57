"""The evaluation "typos": do predictions stay if letters of words are exchanged?"""

import re

import numpy as np

from heedful.callbacks.evaluations.perturbation import perturbation
from heedful.records import Example

WORD = re.compile(r"[^\W\d_]{4,}")  # the first and the last letter of a word stay


@perturbation("typos", by_default=False)
def typos(example: Example, rng: np.random.Generator, part: str = "", words: int = 1) -> Example:
    """Exchange two neighbouring letters within words of a text, which should change no prediction.

    Source: Ribeiro et al. (2020), "Beyond Accuracy: Behavioral Testing of NLP Models with CheckList", invariance tests.
    The evaluation runs only if ``--evaluations`` names it.

    Args:
        part: The part to change; by default, each part that is a text.
        words: Number of words to change in a part.
    """
    for name in [part] if part else [name for name in example.parts if isinstance(example[name], str)]:
        text = str(example[name])
        found = list(WORD.finditer(text))
        for k in rng.permutation(len(found))[:words].tolist():
            at = int(rng.integers(found[k].start() + 1, found[k].end() - 2))
            text = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
        example = example.replace(name, text)
    return example
