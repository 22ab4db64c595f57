"""Upper bounds of the inputs that evaluations send to a model."""

import numpy as np

from heedful.callbacks import Accuracy, Attentiveness, NaivePartial
from heedful.callbacks.engine.evaluation import Plans, Setting
from heedful.callbacks.engine.forecast import Amount, forecast
from heedful.datamodules import Planted
from heedful.lightning_modules.prompted.endpoint import QuestionProcessor
from heedful.records.prompts import Prompt, Wording


def setting_of(n=20, **settings):
    data = Planted(n_validation=n, swap=["premise", "hypothesis"], eval_batch_size=4, **settings)
    data.setup("validate")
    return data, QuestionProcessor(Prompt(Wording.plain(data.task.parts, data.task.labels), data.task))


def amounts(data, processor, *evaluations, limit=None):
    names = [evaluation.name for evaluation in evaluations]
    return forecast(data, Plans.of(evaluations, Setting(data), names), processor, limit)


def test_the_bound_counts_changes_of_all_examples():
    data, processor = setting_of()
    lengths = processor.lengths(list(data.pool))
    found = amounts(data, processor, Accuracy(), Attentiveness(draws=3))
    assert found["base"] == found["null"] == Amount(20, int(lengths.sum()))
    assert found["changed"].inputs == 20 * 3 * 2
    swapped = 0  # by brute force
    for swap in Attentiveness(draws=3).plan(Setting(data)).interventions:
        changes = swap.changes(data.pool, np.arange(len(data.pool)), data.seed)
        for i, lender in zip(changes.positions.tolist(), changes.lenders[swap.part].tolist(), strict=True):
            parts = dict(data.pool[i].parts) | {swap.part: data.pool[lender].parts[swap.part]}
            swapped += len(processor.prompt.text(processor.prompt.question(list(parts.values()))))
    assert found["changed"].length == swapped


def test_a_limit_lowers_the_bound():
    data, processor = setting_of()
    found = amounts(data, processor, Accuracy(), limit=2)
    assert (found["base"].inputs, found["null"].inputs, found["changed"].inputs) == (8, 8, 0)
    assert amounts(data, processor)["base"].inputs == 20
    assert amounts(data, processor, NaivePartial())["changed"].inputs == 40


def test_a_precision_has_two_stages():
    data, processor = setting_of(320)
    found = amounts(data, processor, Attentiveness(draws=2, precision=0.02))
    whole = amounts(data, processor, Attentiveness(draws=2))
    assert (found["changed"].inputs, found["second"].inputs) == (300 * 2 * 2, 20 * 2 * 2)
    together = Amount(*(a + b for a, b in zip(found["changed"], found["second"], strict=True)))
    assert together == whole["changed"]
    assert "second" not in whole
