"""Attributions through the real engine, of models that read one word and of small random models."""

import math

import numpy as np
import pytest
import torch

from heedful import stopping
from heedful.callbacks import Attributions
from heedful.lightning_modules import NO_LABEL_NUMBER, Encoder, Outputs
from heedful.lightning_modules.processors.hiding import HiddenWords
from heedful.records import Example, Examples, ModelError, SettingError

from letters import METHODS, Letters, Reads, by_example, random, reader, rows_of
from oracles import measure
from refusals import refused
from tiers import first_tier


def words_of(rows, part):
    """The words of a part."""
    return [row["word"] for row in rows if row["part"] == part]


ALL = sorted(METHODS)
EXACT = sorted(METHODS - {"lime"})
SETTINGS = {"samples": 64, "shown": 0}
PREFIX = "attributions/"


def explain(module, data, methods=ALL, only=("accuracy", "attributions"), **settings):
    """The measurements of attributions and accuracy."""
    return measure(module, data, Attributions(methods, **{**SETTINGS, **settings}), only=only)


def counts_of(engine):
    counts = engine.content["counts"].items()
    return {name.removeprefix(PREFIX): count for name, count in counts if name.startswith(PREFIX)}


def uids_of(engine):
    return {uid for uid, _, _ in by_example(engine)}


@pytest.mark.parametrize("hide", ["mask", "delete"])
def test_the_only_word_that_a_model_reads_has_all_of_phi(tiny_bert, hide):
    data = Letters()
    methods = ALL if hide == "mask" else sorted(METHODS - {"gradients"})
    explained = by_example(explain(reader(tiny_bert, data), data, methods, hide=hide))
    worth = math.exp(2) / (math.exp(2) + 2) - 1 / 3
    assert {method for _, method, _ in explained} == set(methods)
    for (uid, method, _), rows in explained.items():
        phi = {True: [], False: []}
        for row in rows:
            phi[row["word"] == "z"].append(row["phi"])
            assert (row["full"], row["nothing"]) == (pytest.approx(worth + 1 / 3), pytest.approx(1 / 3))
        (own,) = phi[True]
        if method == "lime":  # ridge regression shrinks phi
            assert own > 0.7 * worth
            assert np.abs(phi[False]).max() < 0.2 * own, uid
        else:
            assert own == pytest.approx(worth, abs=1e-6)
            assert np.abs(phi[False]).max() < 1e-6, uid


@pytest.mark.parametrize("scale", first_tier(1, ["probability", "logit"]))
def test_phi_sums_to_the_difference_that_the_words_make(tiny_bert, scale):
    data = Letters()
    engine = explain(random(Encoder, tiny_bert, data), data, scale=scale, steps=64)
    assert counts_of(engine)["gradients"] == 64 * len(data.pool)
    base = {row["uid"]: row for row in engine.rows["accuracy"][0].to_pylist()}
    for (uid, method, _), rows in by_example(engine).items():
        first, own = rows[0], base[uid]
        p = max(own["p"])
        assert first["y"] == own["y"]
        assert first["full"] == pytest.approx(p if scale == "probability" else math.log(p / (1 - p)), abs=1e-4)
        assert first["delta"] == pytest.approx(first["full"] - first["nothing"] - sum(row["phi"] for row in rows))
        if method in ("shap", "owen"):
            assert first["delta"] == pytest.approx(0, abs=1e-9)
        if method == "gradients":
            assert abs(first["delta"]) < 0.02
    assert any(abs(row["full"] - row["nothing"]) > 0.05 for row in rows_of(engine))


def test_equal_masks_are_predicted_once(tiny_bert):
    data, methods = Letters(), ["lime", "owen", "shap"]
    module = reader(tiny_bert, data)
    engine = explain(module, data, methods, only=["attributions"], samples=200)
    seen, n = module.network.seen, len(data.pool)
    counts = counts_of(engine)
    assert sum(seen.values()) == n + counts["inputs"]
    made = module.processor(list(data.pool))
    whole = [
        tuple(ids[mask.bool()].tolist()) for ids, mask in zip(made["input_ids"], made["attention_mask"], strict=True)
    ]
    assert all(times == 1 + (ids in whole) for ids, times in seen.items()), "base predictions are the second time"
    asked = {key: rows[0]["masks"] for key, rows in by_example(engine).items()}
    assert counts["inputs"] - 2 * n < 0.8 * sum(asked.values())
    assert max(asked.values()) <= 200


def test_a_smaller_sample_is_part_of_a_larger_one_and_has_the_same_rows(tiny_bert):
    data = Letters()
    many, few = (by_example(explain(random(Encoder, tiny_bert, data), data, examples=n)) for n in (5, 2))
    assert len({uid for uid, _, _ in many}) == 5
    assert len({uid for uid, _, _ in few}) == 2
    assert set(few) < set(many)
    for key, rows in few.items():
        for row, other in zip(rows, many[key], strict=True):
            for name in ("phi", "full", "nothing", "delta"):
                assert row.pop(name) == pytest.approx(other.pop(name), abs=1e-6)
            for error in (row.pop("error"), other.pop("error")):
                assert error is None or error >= 0
            assert row == other


def test_some_examples_are_also_explained_with_a_swapped_part(tiny_bert):
    data = Letters(swap=["premise"])
    engine = explain(reader(tiny_bert, data), data, ["shap"], shown=2, examples=4)
    explained = by_example(engine)
    swapped = {uid for uid, _, variant in explained if variant}
    assert (len(uids_of(engine)), len(swapped)) == (4, 2)
    premises = [premise.split() for premise, _ in data.pairs]
    for uid in swapped:
        own, other = explained[uid, "shap", ""], explained[uid, "shap", "swap premise"]
        assert words_of(own, "hypothesis") == words_of(other, "hypothesis")
        assert words_of(own, "premise") != words_of(other, "premise")
        assert words_of(other, "premise") in premises
        assert {row["y"] for row in (*own, *other)} == {own[0]["y"]}, "both explain the base prediction"
        assert {row["gold"] for row in other} == {None}
        assert sum(row["phi"] for row in other) == pytest.approx(other[0]["full"] - other[0]["nothing"])
    assert engine["attributions/letters/shap/delta"].n == 4  # without swapped ones


class SomeWithoutGold(Letters):
    """The last example has no gold label."""

    def load(self, split):
        *others, last = super().load(split)
        return Examples.of([*others, Example(last.uid, last.parts, None, {})])


def test_the_gold_label_is_explained_instead_of_the_prediction(tiny_bert):
    data = SomeWithoutGold()
    module = reader(tiny_bert, data)
    engine = explain(module, data, EXACT, only=["attributions"], explain="gold")
    assert counts_of(engine)["without_label"] == 1
    assert uids_of(engine) == {f"letters/{i}" for i in range(5)}
    for (uid, _, _), rows in by_example(engine).items():
        is_first = int(uid.split("/")[1]) % 3 == 0
        assert {row["y"] for row in rows} == {rows[0]["gold"]}
        assert [row["phi"] > 0.1 if is_first else row["phi"] < -0.1 for row in rows if row["word"] == "z"] == [True]


class OftenSilent(Encoder):
    """Answers with a label only if the first word is "a" or hidden."""

    def answer(self, inputs):
        probs, first = super().answer(inputs).probs, inputs["input_ids"][:, 1]
        tokenizer = self.processor.tokenizer
        speaks = (first == tokenizer.convert_tokens_to_ids("a")) | (first == tokenizer.mask_token_id)
        return Outputs(probs, probs.argmax(dim=1).where(speaks, NO_LABEL_NUMBER))


@pytest.mark.parametrize("examples", [2, 3, 5])
def test_answers_that_are_not_labels_do_not_change_the_selection_of_examples(tiny_bert, examples):
    data = Letters()
    selected = uids_of(explain(reader(tiny_bert, data), data, ["shap"], examples=examples))
    module = OftenSilent(str(tiny_bert), max_length=64)
    module.bind(data.task)
    module.network = reader(tiny_bert, data).network
    engine = explain(module, data, ["shap"], examples=examples)
    labelled = {f"letters/{i}" for i, (premise, _) in enumerate(data.pairs) if premise.startswith("a")}
    assert uids_of(engine) == selected & labelled
    assert counts_of(engine)["without_label"] == len(selected - labelled)


def test_truncated_examples_are_counted(tiny_bert):
    data = Letters(swap=["premise"])
    module = Encoder(str(tiny_bert), max_length=9)  # three of the six pairs have more than six words
    module.bind(data.task)
    tokenizer = module.processor.tokenizer
    module.network = Reads(len(tokenizer), tokenizer.convert_tokens_to_ids("z"))
    truncated = [pair for pair in data.pairs if len(" ".join(pair).split()) > 6]
    assert counts_of(explain(module, data, ["shap"], shown=10))["truncated"] == len(truncated) > 0


class TwoSplits(Letters):
    """The first half of the examples has one split, the other half another."""

    splits_evaluated = "one", "two"

    def load(self, split):
        several = list(super().load(split))
        halves = [self.splits_evaluated[2 * i >= len(several)] for i in range(len(several))]
        return Examples.of(
            Example(e.uid, e.parts, e.label, {}, {"split": half}) for e, half in zip(several, halves, strict=True)
        )


def test_swapped_parts_come_from_the_split_of_the_example(tiny_bert):
    pairs = [(f"{letter} z", other) for letter, other in zip("abcdefgh", "hgfedcba", strict=True)]
    data = TwoSplits(pairs, swap=["premise"])
    engine = explain(reader(tiny_bert, data), data, ["shap"], shown=10)
    lent = {}
    for row in rows_of(engine):
        if row["variant"] == "swap premise" and row["part"] == "premise" and row["draw"] == 0:
            lent[int(row["uid"].split("/")[1])] = row["word"]
    assert len(lent) == len(pairs)
    for i, word in lent.items():
        assert word in "abcdefgh"[4 * (i >= 4) :][:4].replace("abcdefgh"[i], "")


class NotFinite(Encoder):
    """Returns NaN if all words are hidden."""

    def logits(self, inputs):
        hidden = (inputs["input_ids"] == self.processor.tokenizer.mask_token_id).sum(dim=1)
        return super().logits(inputs).masked_fill(hidden[:, None] > 1, torch.nan)


def test_outputs_that_are_not_finite_are_refused(tiny_bert):
    with refused(ModelError, "(inputs without words)"):
        explain(NotFinite(str(tiny_bert), max_length=64), Letters(), ["shap"])


def test_a_probability_of_1_has_no_log_odds(tiny_bert):
    data = Letters()
    module = reader(tiny_bert, data)
    module.network.gain = 80.0  # 1 - p is far below the precision of p
    rows = rows_of(explain(module, data, ["shap"], scale="logit"))
    assert [row["full"] for row in rows] == pytest.approx([80 - math.log(2)] * len(rows))
    module.network.gain = 200.0
    with refused(SettingError, "scale logit", "6 of 12", "0 or 1", "Take probability"):
        explain(module, data, ["shap"], scale="logit")


@pytest.mark.parametrize("method", ["shap", "gradients"])
def test_sigterm_ends_an_inquiry(tiny_bert, method, monkeypatch):
    data, calls, inputs = Letters(), [], HiddenWords.inputs

    def noted(*args):
        calls.append(1)
        monkeypatch.setattr(stopping._Signal, "since", 0.0)
        return inputs(*args)

    monkeypatch.setattr(HiddenWords, "inputs", noted)
    with pytest.raises(stopping.Stopped, match="stopped by SIGTERM"):
        explain(reader(tiny_bert, data), data, [method])
    assert calls
