"""Natural logic on models with known causal effects."""

import numpy as np
import pytest
import torch

from heedful.callbacks import NaturalLogic, Setting
from heedful.datamodules import PairedText, Planted
from heedful.lightning_modules import NO_LABEL_NUMBER, Outputs
from heedful.lightning_modules.predictor import Capabilities
from heedful.records import NO_LABEL, DataError
from heedful.records.rows import select

import oracles
from refusals import refused

LABELS = ("entailment", "neutral", "contradiction")
UP, DOWN, P, Q = 3, 4, 5, 2  # numbers of upward and downward contexts, of pairs of relation leq and of unrelated pairs


@pytest.fixture
def nlixy(tmp_path, write_nlixy):
    contexts = [(f"up{i} saw a x .", "up") for i in range(UP)] + [(f"down{i} saw no x .", "down") for i in range(DOWN)]
    contexts.append(("Most people saw the x .", "neither"))
    pairs = [(f"small{i}", f"big{i}", "leq") for i in range(P)] + [(f"this{i}", f"that{i}", "none") for i in range(Q)]
    return write_nlixy(tmp_path / "nlixy" / "test", contexts, pairs).parent


def variables(premise, hypothesis):
    """(monotonicity, relation) of a composed example."""
    monotonicity = "up" if premise.startswith("up") else "down" if premise.startswith("down") else "neither"
    first = next(w for w in premise.split() if w.rstrip("0123456789") in ("small", "big", "this", "that"))
    return monotonicity, {"small": "leq", "big": "geq"}.get(first.rstrip("0123456789"), "none")


class Oracle(oracles.Oracle):
    """Entailment if ``rule(monotonicity, relation)``, with probability 1 or (0.4, 0.3, 0.3); else contradiction."""

    def __init__(self, rule, sure=True):
        super().__init__(rule)
        self.sure, self.seen = sure, []

    def answer(self, inputs):
        probs = []
        for premise, hypothesis in (parts.values() for parts in inputs["parts"]):
            self.seen.append((premise, hypothesis))
            planted = not any(w.rstrip("0123456789") in ("small", "big", "this", "that") for w in premise.split())
            entails = not planted and self.rule(*variables(premise, hypothesis))
            probs.append([1, 0, 0] if self.sure and entails else [0.4, 0.3, 0.3] if entails else [0, 0.25, 0.75])
        return Outputs(torch.tensor(probs, dtype=torch.float32))


def measure(rule, path, sure=True, **settings):
    data = Planted(n_validation=8, eval_batch_size=16)
    module = Oracle(rule, sure)
    return oracles.measure(module, data, NaturalLogic(str(path), **settings)), module


def effects(engine):
    names = [(part, effect) for part in ("context", "insertion") for effect in ("tce", "dce")]
    return tuple(engine[f"natural_logic/nlixy/{part}/{effect}"].value for part, effect in names)


def perfect(monotonicity, relation):
    return (monotonicity, relation) in (("up", "leq"), ("down", "geq"))


def test_a_perfect_model_has_total_effects_of_1_and_direct_effects_of_0(nlixy):
    engine, _ = measure(perfect, nlixy)
    assert effects(engine) == (1, 0, 1, 0)
    found = engine
    for part in ("context", "insertion"):
        name = f"natural_logic/nlixy/{part}"
        assert found[f"{name}/delta"].value == 1
        assert found[f"{name}/ratio"].value is None
        assert found[f"{name}/tce/towards_gold"].value == found[f"{name}/tce/signed"].value == 1
        assert found[f"{name}/dce/absolute"].value == found[f"{name}/dce/total_variation"].value == 0
    # no example with a context that is neither upward nor downward monotone is entailment
    assert found["natural_logic/nlixy/accuracy"].value == 1


def test_a_model_that_reads_only_monotonicity(nlixy):
    engine, _ = measure(lambda monotonicity, relation: monotonicity == "up", nlixy)
    assert effects(engine) == (1, 0, 0, 0)
    # both predictions of a pair are right for the relation leq, and none for geq
    assert engine["natural_logic/nlixy/context/tce/towards_gold"].value == 0.5


def test_a_model_that_reads_only_the_relation(nlixy):
    engine, _ = measure(lambda monotonicity, relation: relation == "leq", nlixy, seeds=1000)
    # a pair of I1 has leq and another relation in upward contexts, geq and another relation in downward contexts
    every = 2 * P * (P + 2 * Q)
    expected = (UP * every + DOWN * 2 * P * P) / ((UP + DOWN) * every)
    assert effects(engine) == (0, 0, pytest.approx(expected), 0)
    towards = UP * every / ((UP + DOWN) * every)
    assert engine["natural_logic/nlixy/insertion/tce/towards_gold"].value == pytest.approx(towards)


def test_the_sizes_of_the_sets(nlixy):
    engine, _ = measure(perfect, nlixy, seeds=1000)
    counts, n = engine.content["counts"], (UP + DOWN) * 2 * (P + Q)
    sizes = {name: counts[f"natural_logic/{name}"]["pairs"] for name in ("I0", "I1", "I2", "I3")}
    assert sizes == {
        "I0": 2 * P * 2 * UP * DOWN,
        "I1": (UP + DOWN) * 2 * P * (P + 2 * Q),
        "I2": 2 * (P + Q) * (UP * (UP - 1) + DOWN * (DOWN - 1)),
        "I3": (UP + DOWN) * (2 * P * (P - 1) + 2 * Q * (2 * Q - 1)),
    }
    assert {counts[f"natural_logic/{name}"]["seeds"] for name in sizes} == {n}
    assert counts["natural_logic/I0"]["seeds_without_match"] == (UP + DOWN) * 2 * Q
    assert counts["natural_logic/I2"]["seeds_without_match"] == 0
    assert counts["natural_logic/neither"] == 2 * (P + Q)
    assert counts["natural_logic/examples"] == n, "examples of other contexts are not predicted"
    assert counts["natural_logic/rules_disagree"] == 0


def test_an_example_of_many_pairs_is_predicted_once(nlixy):
    engine, module = measure(perfect, nlixy, seeds=1000)
    composed = [pair for pair in module.seen if "saw" in pair[0]]
    assert len(composed) == len(set(composed)) == engine.content["counts"]["natural_logic/examples"]
    rows, _ = engine.rows["natural_logic"]
    base = select(rows, intervention="base")
    answer = dict(
        zip(base["uid"].to_pylist(), zip(base["y"].to_pylist(), base["p"].to_pylist(), strict=True), strict=True)
    )
    pairs = rows.filter(~np.isin(rows["intervention"].to_numpy(), ["base"]))
    for row in pairs.slice(0, 300).to_pylist():
        assert (row["y"], row["p"]) == answer[row["uid"]]
        assert (row["y2"], row["p2"]) == answer[row["partner"]]


class Silent(Oracle):
    """Answers no label for some contexts."""

    def answer(self, inputs):
        outputs = super().answer(inputs)
        is_silent = torch.tensor([parts["premise"].startswith("up0") for parts in inputs["parts"]])
        return Outputs(outputs.probs, torch.where(is_silent, NO_LABEL_NUMBER, outputs.probs.argmax(dim=1)))


def test_answers_without_a_label_are_counted(nlixy):
    data = Planted(n_validation=8, eval_batch_size=16)
    rows, metadata = oracles.measure(Silent(perfect), data, NaturalLogic(str(nlixy))).rows["natural_logic"]
    answers = [row["y" if row["intervention"] == "base" else "y2"] for row in rows.to_pylist()]
    assert (
        metadata["counts"]["no_label"] == answers.count(NO_LABEL) > len(select(rows, intervention="base", y=NO_LABEL))
    )


def test_sum_and_argmax_differ_if_entailment_has_less_than_half(nlixy):
    engine, _ = measure(perfect, nlixy, sure=False)
    assert effects(engine) == (0, 0, 0, 0)
    assert engine["natural_logic/nlixy/context/tce/argmax"].value == 1
    assert engine.content["counts"]["natural_logic/rules_disagree"] == UP * P + DOWN * P


@pytest.mark.parametrize(
    ("setting", "facts"),
    [
        (
            Setting(PairedText("d", {"premise": "p", "hypothesis": "h"}, {"yes": [], "no": []})),
            ["entailment", "yes, no"],
        ),
        (Setting(Planted(), capabilities=Capabilities(probabilities=False)), ["read first_token"]),
    ],
)
def test_labels_without_entailment_and_models_without_probabilities_are_refused(nlixy, setting, facts):
    with refused(DataError, f"path {nlixy}", *facts):
        NaturalLogic(str(nlixy)).plan(setting)
