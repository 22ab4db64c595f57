"""The base of all model families: training, prediction, optimisation."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities import rank_zero_info
from torch import Tensor
from torch.nn import functional as F

from heedful.lightning_modules.callbacks_of_lightning import (
    Schedule,
    build_early,
    expected_steps,
    weights_to_save,
)
from heedful.lightning_modules.lightning_internals import allow_clipping
from heedful.lightning_modules.outputs import Outputs, most_probable
from heedful.lightning_modules.pretrained.backbones import readable
from heedful.lightning_modules.pretrained.labels import meanings
from heedful.lightning_modules.pretrained.misfits import difference, misfits
from heedful.lightning_modules.pretrained.trained_on import TrainedOn
from heedful.lightning_modules.pretrained.weights import require_finite_weights
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import (
    KINDS,
    NO_LABEL,
    Example,
    ModelError,
    RunError,
    SettingError,
    TableForm,
    Task,
    generator,
    listing,
    percent,
    printable,
)
from heedful.records.arguments import RecordsArguments
from heedful.records.prompts.prompt import Prompt
from heedful.records.prompts.wording import Wording

COMMONEST, QUOTED = 3, 80  # texts that are no answers: how many are quoted, and so many characters of each
MOST_UNKNOWN = 0.2  # by default: a tokenizer that fits its texts knows nearly all of them


class Classifier(RecordsArguments, pl.LightningModule):
    """A classifier over paired inputs.

    A family overrides :meth:`prepare`, ``configure_model``, :meth:`logits` and :meth:`export`.

    Args:
        learning_rate: Peak learning rate of AdamW.
        weight_decay: Decoupled weight decay; biases and normalisation weights have none.
        warmup: Share of all steps over which the learning rate rises linearly; it then falls linearly to 0.
        max_unknown: Largest share of the tokens of the data that the tokenizer may not know.

    Attributes:
        answers: What the outputs of a head that was trained before are called, in their order; None without names.
        meanings: For each output of the head the number of the label that it means; None where outputs do not mean
            labels.
        output_names: What the outputs of the head are called, in their order; empty where they do not mean labels.
        keeps_head: Whether a head that was trained before stays, though several of its outputs mean one label: where
            nothing is trained.
        has_learned: Whether it was trained here, or took the weights of a model that was.
        learned_parts: The parts that it was trained on; None where nobody says.
        trained_on: The examples that it was trained on, and those of the models that it took its weights from; None
            where nobody says.
        architectures: Regular expressions of the architectures of models, as config.json names them, that the family
            opens where ``--model`` names a model and no family.
        model_types: Types of models that it opens there, whatever their architecture.
        stands_in: Name of a data module to that of the family in whose place it is taken there.
        reads_prompts: Whether it can be asked in context, with demonstrations.
        needs_prompt: Whether it cannot be asked otherwise.
        own_wording: The words in which it is asked with demonstrations, unless somebody names others; None for those of
            the data.
        given_wording: The words that somebody gave it, which win over those of the data; None for none.
        repeated: Of how many base inputs the null control asks again, where a server is asked; None for all others.
        has_probabilities: Whether it gives the probabilities of the labels.
        prompt: By which it is asked; None for a model that is not.
        at_work: Called now and then while a prediction takes long, for processes that wait for this one.
        writes: Whether its answers are written, so that one may be another label than the most probable, or none.
        from_memory: Whether the folder of its backbone is a copy, made for this call, of a model in memory.
    """

    architectures: Sequence[str] = ()
    model_types: Sequence[str] = ()
    stands_in: Mapping[str, str] = MappingProxyType({})
    processor: Processor
    answers: list[str] | None = None
    meanings: tuple[int, ...] | None = None
    output_names: Sequence[str] = ()
    keeps_head = False
    reads_prompts = False
    needs_prompt = False
    own_wording: Wording | None = None
    given_wording: Wording | None = None
    writes = False
    from_memory = False
    prompt: Prompt | None = None
    repeated: int | None = None
    has_probabilities: bool = True
    at_work: Callable[[], None] = staticmethod(lambda: None)
    learned_parts: Sequence[str] | None = None
    trained_on: TrainedOn | None = None

    def __init__(
        self,
        learning_rate: float = 5e-5,
        weight_decay: float = 0.01,
        warmup: float = 0.1,
        max_unknown: float = MOST_UNKNOWN,
    ) -> None:
        super().__init__()
        self.save_hyperparameters(logger=False)
        if not 0 < learning_rate < math.inf:
            raise SettingError(f"model.learning_rate {learning_rate} is not a positive number. Take one such as 5e-5.")
        if not 0 <= weight_decay < math.inf:
            raise SettingError(f"model.weight_decay {weight_decay} is not a number from 0 upwards.")
        if not 0 <= warmup <= 1:
            raise SettingError(f"model.warmup {warmup} is not a share of all steps, from 0 to 1.")
        if not 0 <= max_unknown <= 1:
            raise SettingError(f"model.max_unknown {max_unknown} is not a share, from 0 to 1.")
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.warmup = warmup
        self.max_unknown = max_unknown
        self.task: Task | None = None
        self._schedule: dict[str, float] = {}  # as configured, before callbacks can change it
        self.has_learned = False
        self.counted: Counter[tuple[str, str]] = Counter()  # (kind, text) to how many answers; of one evaluation

    @property
    def predicting(self) -> int:
        """How many processes predict, beginning with the first; the others get no example."""
        return self.trainer.world_size

    def bind(self, task: Task, trains: bool) -> None:
        """Fit the model to a task, before its network is built; a trained model in memory keeps its weights.

        Args:
            task: The task of the data.
            trains: Whether the model is trained on the task, or measured on it.

        Raises:
            HeedfulError: The model cannot read the parts or name the labels of the task, or its weights would be lost.
        """
        if self.task is not None and not self.needs_prompt:
            if trains and next(self.parameters(), None) is not None:
                raise SettingError(
                    "model has weights of an earlier call, and not those that its settings name. Make it once more "
                    "with load_model, or train on from a run with init_from RUN."
                )
            if not trains and self.has_learned:
                self.task = self._as_learned(task)
                return
        self.require_parts(task)
        self.keeps_head = not trains
        self.prepare(task)

    def _as_learned(self, task: Task) -> Task:
        """A task in the order of parts that a model in memory learned.

        Raises:
            ModelError: The model was trained on other parts or labels.
        """
        learned, here = self.task, self.in_learned_order(task)
        do = "Measure its run, with checkpoint RUN."
        for before, now in ((learned.labels, here.labels), (learned.parts, here.parts)):
            if before != now:
                raise ModelError(
                    f"model in memory was trained on {listing(before)}, and the data have {listing(now)}. {do}"
                )
        if replace(here, default_label=learned.default_label) != learned:
            raise ModelError(f"model in memory was trained on data of another kind. {do}")
        return here

    def prepare(self, task: Task) -> None:
        """Make the processor for a task; the network follows in ``configure_model``."""
        raise NotImplementedError

    def prompt_with(self, prompt: Prompt) -> None:
        """Be asked by this prompt from now on, where ``reads_prompts`` says that it can be."""
        raise NotImplementedError

    def understood(self, written: Sequence[str | None]) -> list[str | None]:
        """The answers that written texts mean by the prompt; what is no answer, or names several labels, is counted."""
        answers = [None if text is None else self.prompt.read(text) for text in written]
        pairs = [(text, answer) for text, answer in zip(written, answers, strict=True) if text is not None]
        self.count("no_answers", (text for text, answer in pairs if answer == NO_LABEL))
        if self.task.kind.has_labels and self.prompt.wording.read:
            labels_of_texts = (self.prompt.labels_named(text) for text, _ in pairs)
            self.count("several_labels", ("" for labels in labels_of_texts if len(set(labels)) > 1))
        return answers

    def count(self, kind: str, texts: Iterable[str]) -> None:
        """Count answers, of which the engine adds up those of all processes."""
        self.counted.update((kind, printable(text.strip())[:QUOTED]) for text in texts)

    def counts_of(self, counted: Mapping[tuple[str, str], int]) -> dict[str, Any]:
        """What results.json says of the answers that all processes have counted: of texts the commonest, else how many.

        Raises:
            HeedfulError: They cannot stand in one table.
        """
        counts: dict[str, Any] = {}
        texts = [[text, n] for (kind, text), n in counted.items() if kind == "no_answers"]
        if texts:
            counts["no_answers"] = sorted(texts, key=lambda pair: (-pair[1], pair[0]))[:COMMONEST]
        if several := counted.get(("several_labels", ""), 0):
            counts["several_labels"] = several
        return counts

    def sent(self, example: Example) -> dict[str, Any]:
        """An example as it is asked about by the prompt, word for word, for run.json; made by what asks.

        Returns:
            ``path`` and ``body`` of a request to a server; else ``text``, what the model reads, decoded from its token
            ids with special tokens, and of a chat ``messages``, the turns that the text was made of.
        """
        raise NotImplementedError

    def require_parts(self, task: Task) -> None:
        """It must be able to read the parts of a task.

        Raises:
            HeedfulError: There is a picture among them, and this model reads none.
        """
        if task.pictures:
            raise ModelError(
                f"model {type(self).__name__} reads texts alone, and {task.pictures[0]} is a picture. Take model "
                "timm, vilt or blip."
            )

    def require_head(self) -> None:
        """For a model that is not trained here: it must know the labels already."""

    def require_learned_parts(self, of_data: Sequence[str]) -> None:
        """For a model that is not trained here: it must have been trained on as many parts, and not on another one.

        Parts of other data may have other names; then they go by their order (:func:`~heedful.records.same_parts`).

        Args:
            of_data: All parts of the data, also those that the model is not given.

        Raises:
            HeedfulError: It was trained on more, on fewer, or on another part of the same data.
        """
        learned, given = self.learned_parts, self.task.parts
        if learned is None:
            return
        of_same_data = set(learned) <= set(of_data)
        if len(learned) != len(given) or (of_same_data and set(learned) != set(given)):
            remedy = f"Take data with {len(learned)} of them."
            if of_same_data:
                is_whole = set(learned) == set(of_data)
                remedy = "Give it all of them (partial null)." if is_whole else f"Add partial {'+'.join(learned)}."
            elif len(learned) == 1:
                remedy = "Name the one to read with partial PART."
            raise ModelError(
                f"The model was trained on {' and '.join(learned)}, and the data give {' and '.join(given)}. {remedy}"
            )

    def in_learned_order(self, task: Task) -> Task:
        """The task with its parts in the order in which the model learned to read them, whatever that of the data."""
        learned = self.learned_parts
        if learned is None or len(learned) != len(task.parts) or tuple(learned) == task.parts:
            return task
        ordered = task.in_order_of(learned)
        same = ordered.parts == tuple(learned)
        here = (
            "and does so here, though the data name them otherwise" if same else "here " + ", then ".join(ordered.parts)
        )
        rank_zero_info(f"{self.description} was trained to read {', then '.join(learned)}, {here}.")
        return ordered

    def require_weights(self) -> None:
        """For a model that no checkpoint will fill: it must have weights."""

    def require_precision(self, precision: str) -> None:
        """For a model whose numbers not every format holds: refuse a precision of the trainer."""

    def require_known(self, examples: str) -> None:
        """For examples of which the processor has just said how long they are: it must know their words.

        Args:
            examples: What they are called in the message.

        Raises:
            HeedfulError: More of their tokens are unknown than ``max_unknown`` allows; or some are cut short at another
                end than the tokenizer cuts.
        """
        tokenizer = getattr(self.processor, "tokenizer", None)
        if self.processor.truncated and getattr(tokenizer, "truncation_side", "right") != "right":
            raise ModelError(
                f"{self.processor.truncated:,} of {examples} are too long, and the tokenizer of {self.description} "
                "cuts off their beginning, not their end. Raise model.max_length, or set truncation_side to right in "
                "its tokenizer_config.json."
            )
        if self.processor.unknown > self.max_unknown:
            raise ModelError(
                f"{percent(self.processor.unknown)} of the tokens of {examples} are unknown to the tokenizer of "
                f"{self.description}, and model.max_unknown allows {percent(self.max_unknown)}. Take a model for such "
                "texts, or see whether its tokenizer is its own."
            )

    def logits(self, inputs: dict[str, Tensor]) -> Tensor:
        """Scores [examples, labels], in the order of ``task.labels``."""
        raise NotImplementedError

    def export(self, folder: str, weights: bool) -> None:
        """Write what is needed to load the network without a hub: config, tokenizer and, if asked, safetensors."""
        raise NotImplementedError

    @property
    def description(self) -> str:
        """The network by its public name."""
        return type(self).__name__

    def configure_callbacks(self) -> list[pl.Callback]:
        """Build the network: no later hook comes before ``setup`` of callbacks, in which some look for weights."""
        build_early(self.trainer, self)
        return []

    def setup(self, stage: str) -> None:
        self._schedule = {name: getattr(self, name) for name in ("learning_rate", "weight_decay", "warmup")}
        if self.task is None:
            self.bind(self.trainer.datamodule.task, trains=stage == "fit")
        data = self.trainer.datamodule
        if stage == "fit" and data.trained is not None:
            self.trained_on = TrainedOn.of(data.trained, data.full_task.parts, self.trained_on)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["task"] = self.task.as_dict()
        if self.trained_on is not None:
            checkpoint["trained_on"] = self.trained_on.state()
        if self.meanings is not None:
            checkpoint["outputs"] = list(self.output_names)
        if "callbacks" not in checkpoint:  # of weights alone, which Lightning shows to no callback
            checkpoint["state_dict"] = weights_to_save(self.trainer)

    def _require_same_outputs(self, saved: Any) -> None:
        """The outputs of a checkpoint must mean here the labels that they meant when it was trained."""
        if not isinstance(saved, list) or not all(isinstance(label, str) for label in saved):
            raise RunError("The checkpoint does not say what its outputs mean. Name a checkpoint that train.py wrote.")
        if len(saved) == len(self.meanings) and meanings(saved, self.task.labels) != self.meanings:
            raise ModelError(
                f"The outputs of the checkpoint are {listing(saved)}, and those of {self.description} here "
                f"{listing(self.output_names)}. Take the model and the labels that it was trained with."
            )

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        trained = _saved_task(checkpoint)
        if self.task is None:  # loaded outside a Trainer: the checkpoint says what the task was
            self.prepare(trained)
            self.configure_model()
        self._learn_order(trained.parts)
        if (before := TrainedOn.of_state(checkpoint.get("trained_on"))) is not None:
            self.trained_on = before.joined(self.trained_on)
        self.require_learned_parts(self.task.parts)
        if trained.form != self.task.form:
            rank_zero_info(
                f"The checkpoint was trained on tables as {trained.form}, and reads them as {self.task.form} here."
            )
        if self.meanings is not None and "outputs" in checkpoint:  # older ones do not say
            self._require_same_outputs(checkpoint["outputs"])

    def _learn_order(self, parts: Sequence[str]) -> None:
        """Read the parts in the order of a checkpoint; one that may read prompts has a template, which names them."""
        self.learned_parts = parts
        ordered = self.task if self.reads_prompts else self.in_learned_order(self.task)
        if ordered.parts != self.task.parts:
            pad_to = self.processor.pad_to
            self.prepare(ordered)
            self.processor.pad_to = pad_to

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """As in torch, which Lightning calls with what a checkpoint holds.

        Raises:
            HeedfulError: The weights are not those of this network, or not finite; the message names tensors.
        """
        own = self.state_dict()
        if strict and (told := _misfits(own, state_dict)):
            raise ModelError(
                f"The weights of the checkpoint do not fit {self.description}: they {told}. Name the model that it was "
                "trained with."
            )
        require_finite_weights(state_dict, "the checkpoint")
        loaded = super().load_state_dict(state_dict, strict, assign)
        self.has_learned = True
        return loaded

    def on_train_start(self) -> None:
        if not self.has_learned:
            self.require_weights()
        for name, began in self._schedule.items():
            if (now := getattr(self, name)) != began:
                raise SettingError(
                    f"A callback made model.{name} {now}, and the settings say {began}. Leave the callback out, and "
                    f"set model.{name} {now}."
                )
        self.learned_parts = self.task.parts

    def on_validation_start(self) -> None:
        """Refuse to measure what nobody trained, or trained on other parts, wherever it is called from."""
        if self.trainer.state.fn != "validate":
            return
        self.require_learned_parts(getattr(self.trainer.datamodule, "full_task", self.task).parts)
        if not self.has_learned:
            self.require_weights()
            self.require_head()

    def on_train_batch_start(self, batch: dict[str, Any], batch_idx: int) -> None:
        """Seed dropout by position, so that a resumed run draws what the uninterrupted one would have drawn."""
        key = (self.trainer.datamodule.seed, "dropout", self.current_epoch, batch_idx, self.global_rank)
        torch.manual_seed(int(generator(*key).integers(2**63)))
        self.has_learned = True

    def training_step(self, batch: dict[str, Any], batch_idx: int) -> Tensor:
        with readable(self.description):
            loss = self.loss(batch)
        self.log("loss/train", loss, batch_size=batch["size"])  # with prog_bar each step would wait for the value
        return loss

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropy; of soft labels the binary one, summed over labels, as ViLT was trained (Kim et al. 2021)."""
        scores = self.logits(batch["inputs"]).float()
        labels = batch["labels"]
        if self.task.kind.exclusive:
            return F.cross_entropy(scores, labels)
        return F.binary_cross_entropy_with_logits(scores, labels) * labels.shape[1]

    def validation_step(self, batch: dict[str, Any], batch_idx: int) -> Outputs | None:
        return self.predict(batch)

    def predict(self, batch: dict[str, Any]) -> Outputs | None:
        """Predict a batch, whose ``inputs`` come from the processor; None for a batch of no example."""
        with readable(self.description):
            return self.answer(batch["inputs"]) if batch["size"] else None

    def probabilities(self, batch: dict[str, Any]) -> Outputs | None:
        """As :meth:`predict`, without the answer: a model that would write it token by token writes nothing."""
        with readable(self.description):
            return Outputs(self.logits(batch["inputs"]).float().softmax(dim=-1)) if batch["size"] else None

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        """The predictions for the inputs of one example or more; nothing here waits for the device."""
        scores = self.logits(inputs).float()
        if self.task.kind.exclusive:
            return Outputs(probs=scores.softmax(dim=-1))
        return Outputs(answers=most_probable(scores))

    def configure_optimizers(self) -> dict[str, Any]:
        # weight decay is for matrices: biases and norms have one dimension
        decayed = [p for p in self.parameters() if p.requires_grad and p.ndim > 1]
        other = [p for p in self.parameters() if p.requires_grad and p.ndim <= 1]
        groups = [{"params": decayed, "weight_decay": self.weight_decay}, {"params": other, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, lr=self.learning_rate, fused=True)
        allow_clipping(optimizer)
        expected = expected_steps(self.trainer)
        if not math.isfinite(expected):
            raise SettingError("The learning rate falls over all steps, and they have no end. Set trainer.max_epochs.")
        steps = max(1, int(expected))
        if steps < self.trainer.max_steps:
            rank_zero_info(
                f"{self.trainer.max_epochs} epochs have {steps:,} steps, and training ends there, before the "
                f"{self.trainer.max_steps:,} of max_steps: with max_epochs -1 it would go on."
            )
        rising = max(1, round(self.warmup * steps))

        def factor(step: int) -> float:
            return min((step + 1) / rising, max(0.0, (steps - step) / max(1, steps - rising)))

        scheduler = Schedule(optimizer, factor)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def _saved_task(checkpoint: Mapping[str, Any]) -> Task:
    """The task that a checkpoint was trained on; it must hold weights as well."""
    saved = checkpoint.get("task")
    weights = checkpoint.get("state_dict")
    if not isinstance(weights, Mapping):
        raise RunError("The checkpoint holds no weights. Name a checkpoint that train.py wrote.")
    try:
        names = {key: tuple(saved[key]) for key in ("parts", "labels", "pictures") if key in saved}
        task = Task(**saved | names | {"kind": KINDS[saved["kind"]], "form": TableForm(**saved.get("form", {}))})
        if not all(isinstance(name, str) for name in (*task.parts, *task.labels, *task.pictures)) or not task.parts:
            raise TypeError
    except (KeyError, TypeError, AttributeError):
        raise RunError(
            "The checkpoint does not say which parts and labels it was trained on. Name a checkpoint that train.py "
            "wrote."
        ) from None
    return task


def _misfits(own: Mapping[str, Tensor], given: Mapping[str, Any]) -> str:
    """Say how weights do not fit a network, in words that follow "they"; nothing where they do."""
    if odd := [name for name, value in given.items() if not isinstance(value, Tensor)]:
        return f"hold {odd[0]}, which is not numbers"
    return misfits(*difference(own, given))
