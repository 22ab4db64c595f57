"""Models that answer by a rule, and given examples, for the real engine."""

from dataclasses import replace

import numpy as np
import torch

from benchmarks.bare_runs import measured
from heedful.callbacks import Accuracy, Answers
from heedful.datamodules import PairedData
from heedful.lightning_modules import NO_LABEL_NUMBER, Classifier, Encoder, Outputs
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import Examples, Table

NLI = ("entailment", "neutral", "contradiction")
PARTS = ("premise", "hypothesis")


class Given(PairedData):
    """The data set "d" of given examples, or of those whose meta column "split" is in ``splits``."""

    def __init__(self, examples, labels=NLI, splits=(), **settings):
        self.examples, self.splits_given = list(examples), tuple(splits)
        super().__init__("d", PARTS, labels, **settings)

    @property
    def splits_evaluated(self):
        return self.splits_given if len(self.splits_given) > 1 else ()

    def load(self, split):
        kept = [e for e in self.examples if not self.splits_given or e.meta["split"] in self.splits_given]
        if not self.splits_evaluated:
            kept = [replace(e, meta={name: v for name, v in e.meta.items() if name != "split"}) for e in kept]
        return Examples.of(kept)


def sure_of(answers, labels):
    """Outputs with a probability of 1 for each answer; an answer that is no label has equal probabilities."""
    number = {label: i for i, label in enumerate(labels)}
    numbers = torch.tensor([number.get(answer, NO_LABEL_NUMBER) for answer in answers], dtype=torch.int64)
    sure = (numbers[:, None] == torch.arange(len(labels))).float()
    return Outputs(torch.where(numbers[:, None] < 0, 1 / len(labels), sure), numbers)


def hypothesis(parts):
    """The hypothesis, a part that may be called claim."""
    return parts["hypothesis" if "hypothesis" in parts else "claim"]


class Parts(Processor):
    """A processor that passes the parts to the model."""

    def lengths(self, examples):
        return np.array([sum(len(str(part)) for part in e.parts.values()) for e in examples], dtype=np.int32)

    def __call__(self, examples):
        texts = [{n: p.encode() if isinstance(p, Table) else p for n, p in e.parts.items()} for e in examples]
        return {"parts": texts}  # Lightning moves text


class Sizes(Encoder):
    """An encoder that records the number of examples and of tokens in each batch."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.shapes = []

    def answer(self, inputs):
        self.shapes.append(tuple(inputs["input_ids"].shape))
        return super().answer(inputs)


class Oracle(Classifier):
    """Answers ``rule(table, hypothesis)``; the table is None if there is none."""

    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def prepare(self, task):
        self.task, self.processor = task, Parts()

    def answer(self, inputs):
        answers = []
        for parts in inputs["parts"]:
            table = next((Table.decode(text) for text in parts.values() if text.startswith("[")), None)
            answers.append(self.rule(table, hypothesis(parts)))
        return sure_of(answers, self.task.labels)


class ByParts(Oracle):
    """Answers ``rule(**parts)``, a label or, for questions, a text."""

    def answer(self, inputs):
        answers = [self.rule(**parts) for parts in inputs["parts"]]
        return sure_of(answers, self.task.labels) if self.task.labels else Outputs(answers=answers)


def measure(model, data, *evaluations, **settings):
    """The measurements of a model, or of an oracle with a rule; the settings match ``measured``."""
    module = model if isinstance(model, Classifier) else Oracle(model)
    module.has_learned = True
    first = [] if any(isinstance(each, Answers) for each in evaluations) else [Accuracy()]
    return measured(module, data, [*first, *evaluations], accelerator="cpu", **settings)
