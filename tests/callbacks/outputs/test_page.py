"""The page of a run: its examples are what the model was asked about, before and after each change."""

import json

import pytest

from heedful.callbacks import Attentiveness, Challenge, NaivePartial, TableRows
from heedful.callbacks.outputs.page import MadeAgain
from heedful.datamodules import PairedData
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.records import Example, Examples, generator
from heedful.reports.page.contents import content_of
from heedful.reports.page.sample import sampled

import infobox
import oracles


class Boxes(PairedData):
    """Tables and claims about them."""

    def __init__(self):
        super().__init__(
            "t", ("premise", "hypothesis"), LABELS, default_label="neutral", swap=["premise", "hypothesis"]
        )

    def load(self, split):
        return infobox.make_pool()


def guess(table, hypothesis):
    """An answer that hangs on every word of both."""
    title, rows = ("", []) if table is None else (content_of(table)["title"], content_of(table)["rows"])
    return LABELS[int(3 * generator("test", json.dumps([title, [row[:2] for row in rows], hypothesis])).random())]


def answer_to(parts, side):
    """The same answer, from what the page shows of one side."""
    shown = {part["name"]: part[side if part["changed"] else "before"] for part in parts}
    table = shown["premise"] or {"title": "", "rows": []}
    hypothesis = shown["hypothesis"] or ""
    text = hypothesis if isinstance(hypothesis, str) else "".join(piece for piece, _ in hypothesis)
    rows = [row[:2] for row in table["rows"]]
    return LABELS[int(3 * generator("test", json.dumps([table["title"], rows, text])).random())]


class Splits(Boxes):
    """The same as two splits that are evaluated together, of which each has its own edits."""

    splits_evaluated = ("one", "two")

    def load(self, split):
        pool = infobox.make_pool()
        halves = [self.splits_evaluated[i % 2] for i in range(len(pool))]
        return Examples.of(
            Example(e.uid, dict(e.parts), e.label, e.groups, {**e.meta, "split": half})
            for e, half in zip(pool, halves, strict=True)
        )


@pytest.fixture(scope="module", params=[Boxes, Splits])
def made(request):
    data = request.param()
    evaluations = [Attentiveness(draws=2), NaivePartial(), TableRows(), Challenge()]
    engine = oracles.measure(guess, data, *evaluations, only=[evaluation.name for evaluation in evaluations])
    plans = {name: planned.plan for name, planned in engine.plans.planned.items()}
    entries = sampled(engine.rows, data.seed).rows
    return entries, MadeAgain(plans, data.seed, data.task.parts)(entries)


@pytest.mark.slow
def test_both_sides_are_what_the_model_has_answered(made):
    entries, contents = made
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


@pytest.mark.slow
def test_each_edit_is_marked_in_the_table(made):
    for entry, content in zip(*made, strict=True):
        marks = {row[2] for part in content.parts for row in _rows(part)}
        if entry["intervention"] == "delete":
            (gone,) = [row[0] for part in content.parts for row in _rows(part) if row[2] == "gone"]
            assert gone == entry["variant"]
        elif entry["intervention"] in ("insert", "permute"):
            assert {"insert": "new", "permute": "moved"}[entry["intervention"]] in marks


def _rows(part):
    sides = (part["before"], part["after"]) if part["changed"] else ()
    return [row for side in sides if isinstance(side, dict) for row in side["rows"]]
