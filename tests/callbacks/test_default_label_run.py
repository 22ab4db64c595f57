"""Predictions of the default label, on models with known answers through the real engine."""

import pytest

from heedful.callbacks import DefaultLabel, Nothing, Setting
from heedful.records import Example

from oracles import NLI, ByParts, Given, measure

SIGNS = dict(zip("+0-", NLI, strict=True))
ONLY = ["accuracy", "default_label"]


def data_of(**settings):
    """Six premises, each with a hypothesis of every label, which is the sign of the hypothesis."""
    signs = [(premise, *item) for premise in "abcdef" for item in SIGNS.items()]
    examples = [Example(f"d/v/{p}{sign}", {"premise": p, "hypothesis": p + sign}, label) for p, sign, label in signs]
    return Given(examples, **{"default_label": "neutral"} | settings)


def perfect(premise, hypothesis):
    return SIGNS[hypothesis[1]] if premise == hypothesis[0] else "neutral"


def hypothesis_only(premise, hypothesis):
    return SIGNS[hypothesis[1]]


def premise_only(premise, hypothesis):
    return "neutral" if premise in "abc" else "entailment"


def run(rule, **settings):
    engine = measure(ByParts(rule), data_of(**settings), DefaultLabel(draws=3), only=ONLY)
    prefix = "default_label/d/"
    return engine, {name.removeprefix(prefix): m for name, m in engine.items() if name.startswith(prefix)}


@pytest.mark.parametrize("rule", [perfect, hypothesis_only])
def test_a_model_of_hypotheses_follows_every_sibling(rule):
    engine, found = run(rule)
    for name in ("premise", "premise/siblings", "premise/siblings_gold"):
        assert found[name].value == 1
    assert found["premise/siblings"].n == 6
    assert found["premise/total_variation"].value == found["null_total_variation"].value == 0
    assert found["eligible"].value == pytest.approx(1 / 3)
    rows, metadata = engine.rows["default_label"]
    assert metadata["counts"] | {"no_label": 0} == metadata["counts"]
    counts = metadata["counts"] | {k.removeprefix("default_label/"): n for k, n in engine.content["counts"].items()}
    assert counts["premise/sibling"] == counts["premise/swap"] == 6
    assert counts["premise/with_sibling"] == 18
    siblings = [r for r in rows.to_pylist() if r["intervention"] == "sibling"]
    assert {(r["uid"][:-1], r["partner"][:-1], r["gold2"]) for r in siblings} == {
        (f"d/v/{p}", f"d/v/{p}", label) for p in "abcdef" for label in ("entailment", "contradiction")
    }


def test_a_model_of_premises_follows_no_sibling():
    _, found = run(premise_only)
    assert found["premise/siblings"].value == found["premise/siblings_gold"].value == 0
    stays = found["premise"].value
    assert 0 < stays < 1
    assert found["premise/total_variation"].value == pytest.approx(1 - stays)
    assert found["premise/default_probability"].value == pytest.approx(1 - stays)
    assert found["null_total_variation"].value == 0


def test_siblings_that_were_not_predicted_are_left_out():
    data = data_of(eval_batch_size=1)
    engine = measure(ByParts(perfect), data, DefaultLabel(draws=3), only=ONLY, limit_val_batches=9)
    rows = engine.rows["default_label"][0].to_pylist()
    predicted = {r["uid"] for r in rows if r["intervention"] == "base"}
    assert len(predicted) == 9
    pairs = {(r["uid"], r["partner"]) for r in rows if r["intervention"] == "sibling"}
    expected = {(u, u[:-1] + sign) for u in predicted if u.endswith("0") for sign in "+-" if u[:-1] + sign in predicted}
    assert pairs == expected


def test_there_is_nothing_to_do_without_a_default_label_or_another_part():
    for settings in ({"default_label": None}, {"partial": "premise"}):
        data = data_of(**settings)
        data.setup("validate")
        assert isinstance(DefaultLabel().plan(Setting(data)), Nothing)
