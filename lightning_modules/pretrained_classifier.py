"""Base class of model families whose network, tokenizer and weights come from transformers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import fspath
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedTokenizerBase

from heedful.lightning_modules.classifier import Classifier
from heedful.lightning_modules.learned import Learned, TrainedOn, is_named
from heedful.lightning_modules.pretrained import (
    has_weights,
    open_config,
    open_network,
    open_tokenizer,
    quiet,
    require_positions,
    resolve,
    revision_of,
)
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import (
    CLASSIFICATION,
    SOFT,
    SPAN,
    ModelError,
    SettingError,
    Task,
    TaskKind,
    inform,
    listing,
    normalised_label,
)
from heedful.records.storage.schema import ENTRY

RECORDED = ("parts", "template", "targets", "no_answer")  # entries of a config that describe a training
FORMER = {"sha256", "score", "decoding"}  # settings in checkpoints of earlier versions
PAD_TO = 16  # tokens: multiples of 16 suit a GPU, and few widths mean few compilations


class PretrainedClassifier(Classifier, ABC):
    """A classifier that is initialised from a published model.

    A model family sets ``auto`` and overrides :meth:`make_processor`; if its network does not take
    the batches of the processor as arguments, also :meth:`scores`.

    Args:
        backbone: Hub id, folder, or ``package:MODULE/FOLDER``.
        max_length: Largest number of tokens of an input; the longest part is truncated first.
        labels: Names of the head's outputs in their order, for published classifiers that only call them LABEL_0, ...
        collapse: How a head with three labels answers in two classes, entailment or not: by the "sum" of the
            probabilities of neutral and contradiction, or by "argmax", the most probable of the three labels. By
            default, evaluation uses the sum, and training starts with a new head for two labels.
        compiled: Whether the network runs compiled (``torch.compile``), in training and in prediction. Inputs are then
            padded to multiples of 16 tokens.
        **kwargs: As for :class:`Classifier`.

    Attributes:
        kinds: Supported kinds of tasks.
        auto: Class of transformers that builds the network.
        head_prefix: Prefix of the head's weights; by default, all weights outside the ``base_model`` are the head.
        folder: Folder or hub id of the backbone.
        config: Config of the backbone and of the network.
        tokenizer: Tokenizer of the backbone.
    """

    kinds: tuple[TaskKind, ...] = (CLASSIFICATION, SOFT)
    auto: Any
    head_prefix: str | None = None
    folder: str
    config: PretrainedConfig
    tokenizer: PreTrainedTokenizerBase

    def __init__(
        self,
        backbone: str,
        max_length: int = 256,
        labels: list[str] | None = None,
        collapse: Literal["sum", "argmax"] | None = None,
        compiled: bool = False,
        **kwargs: Any,
    ) -> None:
        for name in FORMER & kwargs.keys():  # jsonargparse would take kwargs.pop() for a setting
            del kwargs[name]
        backbone = fspath(backbone)
        super().__init__(**kwargs)
        self.backbone, self.max_length, self.compiled = backbone, max_length, compiled
        self.labels, self.collapse = labels, collapse
        self.network: nn.Module | None = None

    @property
    def description(self) -> str:
        return self.backbone

    @abstractmethod
    def make_processor(self, task: Task) -> Processor:
        """Return the processor for a task, whose parts are in the order of the training."""

    # binding

    def open(self, task: Task) -> None:
        """Read config, tokenizer and record of training of the backbone, unless the network in memory was trained.

        Raises:
            HeedfulError: The model does not support the task, or reads fewer than ``max_length`` tokens.
        """
        if task.kind not in self.kinds:
            kinds = " or ".join(map(str, self.kinds))
            raise ModelError(
                f"model {type(self).__name__} is for data of the kind {kinds}, and the data have the kind "
                f"{task.kind}. Take model {'Reader or Writer' if task.kind == SPAN else 'Encoder'}."
            )
        if self.has_learned and self.network is not None:
            return
        if self.task is not None and self.task_head.has_weights and not self.fit.is_kept:
            self.network = None  # of an earlier call, with a new head for its task
        self.folder = resolve(self.backbone)
        self.config = open_config(self.folder)
        self.require_architecture()
        require_positions(self.config, self.max_length)
        self.tokenizer = open_tokenizer(self.folder, self.config)
        if self.tokenizer.model_max_length < self.max_length:
            inform(
                f"The tokenizer of {self.backbone} would cut inputs at {self.tokenizer.model_max_length} tokens "
                f"(model_max_length). They are cut at {self.max_length} here (model.max_length)."
            )
        entry, labels = getattr(self.config, ENTRY, {}), self.outputs(task) if self.is_trained(task) else None
        if labels is None or self.task_head.has_weights:  # texts of another kind of model
            entry = {name: value for name, value in entry.items() if name == "parts"}
        learned = Learned(revision=revision_of(self.folder), trained_on=TrainedOn.read(self.folder))
        self.learned = learned.updated(entry, labels=labels)

    def require_architecture(self) -> None:
        """Raise ModelError for a backbone of another model family; by default, accept every backbone."""

    def is_trained(self, task: Task) -> bool:
        """Whether the backbone has a trained head for this kind of task: here, by the architecture in its config."""
        head = self.auto.__name__.removeprefix("AutoModel")
        return any(head in name for name in self.config.architectures or [])

    def outputs(self, task: Task) -> tuple[str, ...]:
        """Return the names of the outputs of the backbone's head, in their order: its setting, or its config."""
        names = tuple(self.config.id2label.values())
        if self.labels is None:
            return names
        if len(self.labels) != len(names):
            raise SettingError(
                f"model.labels has {len(self.labels)} names, and {self.backbone} {len(names)} outputs. Name each "
                "output, in their order."
            )
        pairs = [(a, b) for a, b in zip(self.labels, names, strict=False) if is_named([b])]
        if renamed := [f"{a} for {b}" for a, b in pairs if normalised_label(a) != normalised_label(b)]:
            changes = ", ".join(renamed)
            inform(f"{self.backbone}: model.labels overrides the names of outputs in config.json: {changes}.")
        return tuple(self.labels)

    def prepare(self, task: Task) -> None:
        self.name_outputs(self.config)
        self.processor = self.make_processor(task)
        if self.compiled:
            self.processor.pad_to = PAD_TO

    def name_outputs(self, config: PretrainedConfig) -> None:
        """Write the names of the outputs to a config."""
        if names := self.fit.label_map.outputs:
            config.id2label = dict(enumerate(names))
            config.label2id = {name: i for i, name in enumerate(names)}

    def require_head(self) -> None:
        if self.task.kind.exclusive:
            require_one_of_several(self.config, self.backbone)
        self.task_head.require(self.learned, self.fit)

    def require_weights(self) -> None:
        """Raise ModelError for a backbone without weights; called unless a checkpoint provides them."""
        if not has_weights(self.folder):
            raise ModelError(
                f"model.backbone {self.backbone} has a config.json and no weights. Name the folder of a whole model."
            )

    # the network

    def configure_model(self) -> None:
        if self.network is None and self.task is not None:  # load_from_checkpoint calls this hook before prepare
            with torch.device("cpu"):  # Lightning would draw the weights of a new head with the generator of the GPU
                self.network = self.build().train()  # transformers loads models in eval mode
            self.fit.label_map.inform_merged(self.backbone)
            if self.compiled:
                for module in self.modules_to_compile():
                    module.compile(dynamic=True)  # in place, so that the names of weights do not change

    @property
    def embeddings(self) -> nn.Module:
        """The embedding layer of token ids."""
        reader = self.network.get_encoder() if self.config.is_encoder_decoder else self.network
        return reader.get_input_embeddings()

    def modules_to_compile(self) -> Sequence[nn.Module]:
        """The modules that ``torch.compile`` compiles after the network was built."""
        return (self.network,)

    def build(self, **settings: Any) -> nn.Module:
        """Build the network with the weights of the backbone, and with a new head unless the head is kept.

        A backbone without weights gives random weights, which a checkpoint must replace.
        """
        settings = {"config": self.config, "head_prefix": self.head_prefix} | settings
        head = self.fit.head if self.task_head.has_weights else "kept"
        network = open_network(self.auto, self.folder, head, **settings)
        if has_weights(self.folder) and head in ("new", "replaced"):
            self.reset_head(network)
            if head == "replaced":
                outputs, labels = listing(self.learned.labels), listing(self.task.labels)
                inform(f"{self.backbone}: its head ({outputs}) gives way to a new one ({labels}).")
        return network

    def reset_head(self, network: nn.Module) -> None:
        """Initialise the linear layers of the head anew, for the labels of the task."""
        body = set(network.base_model.modules())
        for module in network.modules():
            if module not in body and isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=getattr(self.config, "initializer_range", 0.02))
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def scores(self, inputs: dict[str, Any]) -> Tensor:
        return self.network(**inputs).logits

    def note_learned(self, *configs: PretrainedConfig) -> None:
        """Write the record of the training to configs, for :meth:`open`."""
        for config in configs:
            entry = {name: value for name, value in getattr(config, ENTRY, {}).items() if name not in RECORDED}
            setattr(config, ENTRY, entry | self.learned_here().entry())
            self.name_outputs(config)

    def export(self, folder: str, weights: bool) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.config.architectures = [type(self.network).__name__]
        self.note_learned(self.config, self.network.config)
        self.config.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        if weights:
            with quiet():
                self.network.save_pretrained(folder)


def require_one_of_several(config: Any, backbone: str) -> None:
    """Raise ModelError for a head that was not trained to choose one label: its config has another ``problem_type``."""
    problem = getattr(config, "problem_type", None)
    if problem not in (None, "single_label_classification"):
        raise ModelError(
            f"The head of {backbone} is for the problem {problem}, and these data have one right label. Take a "
            "model that was trained to choose one label."
        )
