"""The examples of a run's page are the inputs of the model, before and after each change."""

import json
from dataclasses import replace

import pytest

from heedful.callbacks import Attentiveness, Challenge, NaivePartial, TableRows
from heedful.callbacks.engine.evaluation import Plan
from heedful.callbacks.outputs.page import RecomputedContents
from heedful.interventions import Swap
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.records import generator
from heedful.reports.page.contents import content_of
from heedful.reports.page.sample import sampled

import infobox
import oracles


def answer(table, hypothesis):
    """An answer that depends on every word, given the table as the page shows it."""
    rows = [row[:2] for row in table["rows"]]
    return LABELS[int(3 * generator("test", json.dumps([table["title"], rows, hypothesis])).random())]


EMPTY = {"title": "", "rows": []}


def guess(table, hypothesis):
    return answer(EMPTY if table is None else content_of(table), hypothesis)


def answer_to(parts, side):
    """The answer to one side of an example on the page."""
    shown = {part["name"]: part[side if part["changed"] else "before"] for part in parts}
    hypothesis = shown["hypothesis"] or ""
    text = hypothesis if isinstance(hypothesis, str) else "".join(piece for piece, _ in hypothesis)
    return answer(shown["premise"] or EMPTY, text)


@pytest.mark.slow
@pytest.mark.parametrize("splits", [(), ("one", "two")])
def test_both_sides_of_each_example_lead_to_the_answers_of_the_model(splits):
    pool = [replace(e, meta={**e.meta, "split": ("one", "two")[i % 2]}) for i, e in enumerate(infobox.make_pool())]
    data = oracles.Given(pool, splits=splits, default_label="neutral", swap=["premise", "hypothesis"])
    evaluations = [Attentiveness(draws=2), NaivePartial(), TableRows(), Challenge()]
    engine = oracles.measure(guess, data, *evaluations, only=[evaluation.name for evaluation in evaluations])
    plans = {name: planned.plan for name, planned in engine.plans.planned.items()}
    entries = sampled(engine.rows, data.seed).rows
    contents = RecomputedContents(plans, data.seed, data.task.parts)(entries)
    seen = set()
    for entry, content in zip(entries, contents, strict=True):
        assert not content.missing
        assert [part["name"] for part in content.parts] == ["premise", "hypothesis"]
        assert answer_to(content.parts, "before") == entry["y"]
        if entry["y2"] is not None:
            assert answer_to(content.parts, "after") == entry["y2"]
            assert any(part["changed"] for part in content.parts)
            seen.add(entry["intervention"].partition("/")[0])
    assert {"swap", "keep", "delete", "insert", "update", "permute", "perturb"} <= seen


def test_a_swap_by_the_most_probable_label_alone_is_shown():
    """A model that writes swaps an example by either answer; the metric may not count the swap."""
    pool = infobox.make_pool()
    contents = RecomputedContents({"attentiveness": Plan(pool, [Swap("premise", "neutral")])}, 0, pool[0].parts)
    entry = {"evaluation": "attentiveness", "intervention": "swap", "part": "premise", "variant": "", "draw": 0}
    for answers in (("neutral", "entailment"), ("entailment", "neutral"), ("entailment", "entailment")):
        (found,) = contents([entry | {"uid": pool.uid(0), **dict(zip(("y", "most_probable"), answers, strict=True))}])
        assert not found.missing
        assert [part["changed"] for part in found.parts] == [True, False]
