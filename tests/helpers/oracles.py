"""Models whose answers follow a rule, driven through the real engine."""

import numpy as np
import torch

from benchmarks.bare_runs import measured
from heedful.callbacks import Accuracy
from heedful.lightning_modules import NO_LABEL_NUMBER, Classifier, Outputs
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import Table


def sure_of(answers, labels):
    """The outputs of a model that is sure of its answers, among which something else than a label may be."""
    number = {label: i for i, label in enumerate(labels)}
    numbers = torch.tensor([number.get(answer, NO_LABEL_NUMBER) for answer in answers], dtype=torch.int64)
    sure = (numbers[:, None] == torch.arange(len(labels))).float()
    return Outputs(torch.where(numbers[:, None] < 0, 1 / len(labels), sure), numbers)


def hypothesis(parts):
    """The hypothesis, which may be called a claim."""
    return parts["hypothesis" if "hypothesis" in parts else "claim"]


class Parts(Processor):
    """A processor that lets a model see the parts themselves."""

    def lengths(self, examples):
        return np.array([sum(len(str(part)) for part in e.parts.values()) for e in examples], dtype=np.int32)

    def __call__(self, examples):
        texts = [{n: p.encode() if isinstance(p, Table) else p for n, p in e.parts.items()} for e in examples]
        return {"parts": texts}  # Lightning moves text


class Oracle(Classifier):
    """Answers as ``rule`` says of the table (None where there is none) and the hypothesis."""

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
    """Answers as ``rule`` says of the parts by name, with a label or, for questions, with a text."""

    def answer(self, inputs):
        answers = [self.rule(**parts) for parts in inputs["parts"]]
        return sure_of(answers, self.task.labels) if self.task.labels else Outputs(answers=answers)


def measure(model, data, *evaluations, **settings):
    """The engine after these evaluations of a model, or of an oracle with this rule; settings as ``measured`` has."""
    module = model if isinstance(model, Classifier) else Oracle(model)
    module.has_learned = True
    return measured(module, data, [Accuracy(), *evaluations], accelerator="cpu", **settings)
