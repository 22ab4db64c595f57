"""Models whose answers follow a rule, driven through the real engine."""

import numpy as np
from pytorch_lightning import Trainer

from callbacks import Accuracy, Engine
from lightning_modules import Classifier
from records import Prediction, Table


class Parts:
    """A processor that lets a model see the parts themselves."""

    truncated = unknown = 0

    def lengths(self, examples):
        return np.array([len(e.parts["hypothesis"]) for e in examples], dtype=np.int32)

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

    def predict(self, batch):
        answers = []
        for parts in batch["inputs"]["parts"] if batch["size"] else []:
            table = Table.decode(parts["premise"]) if parts.get("premise", "").startswith("[") else None
            answers.append(self.rule(table, parts["hypothesis"]))
        return [Prediction(a, np.float32([a == label for label in self.task.labels])) for a in answers]


def measure(model, data, *evaluations, only=None):
    """The engine after these evaluations of a model, or of an oracle with this rule."""
    engine = Engine(only=only)
    module = model if isinstance(model, Classifier) else Oracle(model)
    module.has_learned = True
    Trainer(
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        use_distributed_sampler=False,
        callbacks=[Accuracy(), *evaluations, engine],
    ).validate(module, data, verbose=False)
    return engine
