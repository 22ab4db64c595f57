"""Which examples are explained, what is counted of them, and where swapped parts come from."""

import pytest

from heedful.callbacks import Attributions
from heedful.lightning_modules import NO_LABEL_NUMBER, Encoder, Outputs
from heedful.records import Example, Examples

from letters import Letters, Reads, by_example, reader, rows_of
from oracles import measure

COUNTS = "attributions/"


def explained(module, data, **settings):
    """The engine after attributions by SHAP."""
    return measure(module, data, Attributions(["shap"], samples=16, **settings), only=["attributions"])


def uids(engine):
    return {uid for uid, _, _ in by_example(engine)}


class OftenSilent(Encoder):
    """Answers with a label only where the first word is "a" or hidden."""

    def answer(self, inputs):
        probs, first = super().answer(inputs).probs, inputs["input_ids"][:, 1]
        tokenizer = self.processor.tokenizer
        speaks = (first == tokenizer.convert_tokens_to_ids("a")) | (first == tokenizer.mask_token_id)
        return Outputs(probs, probs.argmax(dim=1).where(speaks, NO_LABEL_NUMBER))


@pytest.mark.parametrize("examples", [2, 3, 5])
def test_answers_that_are_not_labels_do_not_change_which_examples_are_chosen(tiny_bert, examples):
    data = Letters()
    whole = uids(explained(reader(tiny_bert, data), data, examples=examples, shown=0))
    module = OftenSilent(str(tiny_bert), max_length=64)
    module.prepare(data.task)
    module.network = reader(tiny_bert, data).network
    engine = explained(module, data, examples=examples, shown=0)
    labelled = {f"letters/{i}" for i, (premise, _) in enumerate(data.pairs) if premise.startswith("a")}
    assert uids(engine) == whole & labelled
    assert engine.content["counts"][COUNTS + "without_label"] == len(whole - labelled)


def test_examples_that_are_cut_off_are_counted(tiny_bert):
    data = Letters(swap=["premise"])
    module = Encoder(str(tiny_bert), max_length=9)  # of the six pairs three have more than six words
    module.prepare(data.task)
    tokenizer = module.processor.tokenizer
    module.network = Reads(len(tokenizer), tokenizer.convert_tokens_to_ids("z"))
    engine = explained(module, data)
    cut = {f"letters/{i}" for i, pair in enumerate(data.pairs) if len(" ".join(pair).split()) > 6}
    assert 0 < len(cut) < len(data.pairs)
    assert engine.content["counts"][COUNTS + "truncated"] == len(cut)  # swapped ones do not count


class TwoSplits(Letters):
    """The first half of the examples is of one split, the other half of another."""

    splits_evaluated = "one", "two"

    def load(self, split):
        several = super().load(split)
        return Examples.of(
            [
                Example(e.uid, e.parts, e.label, {}, {"split": self.splits_evaluated[2 * i >= len(several)]})
                for i, e in enumerate(several)
            ]
        )


def test_swapped_parts_come_from_the_split_of_the_example(tiny_bert):
    pairs = [(f"{letter} z", other) for letter, other in zip("abcdefgh", "hgfedcba", strict=True)]
    data = TwoSplits(pairs, swap=["premise"])
    of_split = ({"a", "b", "c", "d"}, {"e", "f", "g", "h"})
    rows = [row for row in rows_of(explained(reader(tiny_bert, data), data)) if row["variant"] == "swap premise"]
    first = [(int(row["uid"].split("/")[1]), row["word"]) for row in rows if row["part"] and not row["draw"]]
    lent = [(i, word) for i, word in first if word != pairs[i][1]]
    assert len(lent) == len(pairs)
    assert all(word in of_split[i >= 4] for i, word in lent)
