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
from heedful.lightning_modules.outputs import Outputs, most_probable
from heedful.lightning_modules.predictor import LabelMap, Provenance
from heedful.lightning_modules.pretrained.backbone_config import (
    LEARNED,
    open_config,
    require_positions,
)
from heedful.lightning_modules.pretrained.backbones import (
    Head,
    has_weights,
    load_weights,
    quiet,
    resolve,
    revision_of,
)
from heedful.lightning_modules.pretrained.labels import (
    inform_merged,
    is_named,
    labels_of_outputs,
    require_head_for,
    require_one_of_several,
)
from heedful.lightning_modules.pretrained.trained_on import TrainedOn
from heedful.lightning_modules.pretrained.vocabulary import open_tokenizer
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

PAD_TO = 16  # tokens: multiples of 16 suit a GPU, and few widths mean few compilations


class PretrainedClassifier(Classifier, ABC):
    """A classifier that is initialised from a published model.

    A model family sets ``auto`` and overrides :meth:`scores` and :meth:`prepare`. The latter calls
    :meth:`open_backbone`, makes the processor and, for a head with one output per label, calls :meth:`match_head`.

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
        head_name: Prefix of the head's weights; by default, all weights outside the ``base_model`` are the head.
        config: Config of the backbone and of the network.
        trained: Whether the backbone has a trained head for this kind of task.
        outputs: Names of the outputs of the backbone.
        head: "kept" if the outputs of the backbone mean the labels of the task, "replaced" if not, or "new" if the
            backbone has no head.
    """

    names_outputs = True
    kinds: tuple[TaskKind, ...] = (CLASSIFICATION, SOFT)
    auto: Any
    head_name: str | None = None
    config: PretrainedConfig
    trained: bool
    outputs: list[str]
    head: Head

    def __init__(
        self,
        backbone: str,
        max_length: int = 256,
        labels: list[str] | None = None,
        collapse: Literal["sum", "argmax"] | None = None,
        compiled: bool = False,
        **kwargs: Any,
    ) -> None:
        if "sha256" in kwargs:  # in checkpoints of earlier versions; jsonargparse would take kwargs.pop() for a setting
            del kwargs["sha256"]
        backbone = fspath(backbone)
        super().__init__(**kwargs)
        self.backbone = backbone
        self.max_length = max_length
        self.labels = labels
        self.collapse = collapse
        self.compiled = compiled
        self.network: nn.Module | None = None

    @property
    def description(self) -> str:
        return self.backbone

    @abstractmethod
    def prepare(self, task: Task) -> None:
        """Open the backbone, and make the processor for a task."""

    def require_architecture(self) -> None:
        """Raise ModelError for a backbone of another model family; by default, accept every backbone."""

    def open_backbone(self, task: Task) -> PreTrainedTokenizerBase:
        """Read the config, reorder the parts of the task as in training, and return the tokenizer.

        Raises:
            HeedfulError: The model does not support the task, or reads fewer than ``max_length`` tokens.
        """
        if task.kind not in self.kinds:
            kinds = " or ".join(map(str, self.kinds))
            raise ModelError(
                f"model {type(self).__name__} is for data of the kind {kinds}, and the data have the kind "
                f"{task.kind}. Take model {'Reader or Writer' if task.kind == SPAN else 'Encoder'}."
            )
        self.folder = resolve(self.backbone)
        self.config = open_config(self.folder)
        self.provenance = self._read_provenance()
        self.task = self.in_learned_order(task)
        self.require_architecture()
        require_positions(self.config, self.max_length)
        architectures = self.config.architectures or []
        self.trained = any(self.auto.__name__.removeprefix("AutoModel") in name for name in architectures)
        self.outputs = self.labels or list(self.config.id2label.values())
        tokenizer = open_tokenizer(self.folder, self.config)
        if tokenizer.model_max_length < self.max_length:
            inform(
                f"The tokenizer of {self.backbone} would cut inputs at {tokenizer.model_max_length} tokens "
                f"(model_max_length). They are cut at {self.max_length} here (model.max_length)."
            )
        return tokenizer

    def _read_provenance(self) -> Provenance:
        """Return the hub commit of the backbone, and the part names and example hashes of its training, if known."""
        parts, trained_on = self.provenance.parts, self.provenance.trained_on
        if parts is None and (learned := getattr(self.config, LEARNED, {}).get("parts")) is not None:
            parts = tuple(learned)
        revision = self.provenance.revision or revision_of(self.folder)
        return Provenance(parts, trained_on or TrainedOn.read(self.folder), revision)

    def match_head(self, task: Task) -> None:
        """Match the outputs of the backbone's head with the labels of the task by name, and decide whether to keep
        the head.
        """
        outputs = self.outputs
        count = len(self.config.id2label)
        if self.trained and len(outputs) != count:
            raise SettingError(
                f"model.labels has {len(outputs)} names, and {self.backbone} {count} outputs. Name each output, in "
                "their order."
            )
        self._say_renamed()
        self.known_labels = outputs if self.trained and is_named(outputs) else None
        column = labels_of_outputs(outputs, task.labels, self.merging) if self.known_labels else None
        self.head = "replaced" if self.trained else "new"
        label_map = LabelMap.identity(task.labels)
        if column is not None:
            self.head = "kept"
            label_map = LabelMap(tuple(outputs), task.labels, column, self.collapse or "sum")
        self.name_outputs(label_map.outputs)
        self.keep_label_map(label_map)

    def _say_renamed(self) -> None:
        """Log the outputs that the user renamed."""
        pairs = zip(self.labels or (), self.config.id2label.values(), strict=False)
        renamed = [
            (new, old) for new, old in pairs if is_named([old]) and normalised_label(new) != normalised_label(old)
        ]
        if self.trained and renamed:
            changes = ", ".join(f"{new} for {old}" for new, old in renamed)
            inform(f"{self.backbone}: model.labels overrides the names of outputs in config.json: {changes}.")

    def keep_label_map(self, label_map: LabelMap) -> None:
        """Store the label map as an attribute, and as buffers, which move to the device with the network.

        The buffer ``apart``, [outputs, labels], is -inf where an output does not mean the label.
        """
        self.label_map = label_map
        label_of_output = torch.tensor(label_map.column)
        means = label_of_output[:, None] == torch.arange(len(label_map.labels) if label_map.merges else 0)
        for name, values in (
            ("label_of_output", label_of_output),
            ("output_of_label", label_of_output.argsort()),
            ("apart", torch.zeros(means.shape).masked_fill(~means, -torch.inf)),
        ):
            self.register_buffer(name, values, persistent=False)  # moved to the device, but not saved in checkpoints

    @property
    def merging(self) -> bool:
        """Whether several outputs of the head may mean one label, such as neutral and contradiction."""
        return self.keeps_head or self.collapse is not None

    @property
    def merges(self) -> bool:
        """Whether, for the current task, several outputs of the head mean one label."""
        return self.label_map is not None and self.label_map.merges

    def name_outputs(self, labels: Sequence[str]) -> None:
        """Write the labels of the outputs to the config of the network."""
        self.config.id2label = dict(enumerate(labels))
        self.config.label2id = {label: i for i, label in enumerate(labels)}

    def scores(self, inputs: dict[str, Any]) -> Tensor:
        """Compute the scores of the outputs of the head: [examples, outputs]."""
        raise NotImplementedError

    def logits(self, inputs: dict[str, Any]) -> Tensor:
        return self.of_labels(self.scores(inputs))

    def of_labels(self, scores: Tensor) -> Tensor:
        """Convert the scores of the outputs to scores of the labels: float [examples, labels].

        The score of a label with several outputs is the logsumexp of their scores, so that probabilities add up.
        """
        if self.merges:
            return (scores.float()[:, :, None] + self.apart).logsumexp(dim=1)
        return scores if self.label_map is None or self.label_map.is_in_order else scores[:, self.output_of_label]

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        if not self.merges or self.collapse != "argmax":
            return super().answer(inputs)
        scores = self.scores(inputs).float()
        probs = self.of_labels(scores).softmax(dim=-1) if self.task.kind.exclusive else None
        best = most_probable(scores)
        return Outputs(probs, self.label_of_output[best].where(best >= 0, best))

    def require_head(self) -> None:
        """Raise an error if the backbone has no trained head (output layer) for the labels of the task.

        Raises:
            HeedfulError: The backbone has no such head.
        """
        if self.task.kind.exclusive:
            require_one_of_several(self.config, self.backbone)
        if self.config.is_encoder_decoder and not self.trained:
            raise ModelError(
                f"The model {self.backbone} has no trained classification head. If it is to write the label, as a T5 "
                "does, add model Seq2Seq."
            )
        if not self.trained:
            raise ModelError(
                f"The model {self.backbone} has no trained classification head. Name a run with checkpoint RUN, or a "
                "trained model with model FOLDER."
            )
        require_head_for(self.outputs, self.task.labels, self.backbone, self.merging)

    def require_weights(self) -> None:
        """Raise an error for a backbone without weights; called unless a checkpoint provides them.

        Raises:
            HeedfulError: The backbone is a folder without weights.
        """
        if not has_weights(self.folder):
            raise ModelError(
                f"model.backbone {self.backbone} has a config.json and no weights. Name the folder of a whole model."
            )

    def configure_model(self) -> None:
        if self.network is None and self.task is not None:  # load_from_checkpoint calls this hook before prepare
            with torch.device("cpu"):  # Lightning would draw the weights of a new head with the generator of the GPU
                self.network = self.build().train()  # transformers loads models in eval mode
            if self.label_map is not None:
                inform_merged(self.label_map, self.backbone)
            if self.compiled:
                self.processor.pad_to = PAD_TO
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

    def build(self) -> nn.Module:
        """Build the network with the weights of the backbone. If the backbone has no weights, a checkpoint must
        provide them.
        """
        return self.load_network() if has_weights(self.folder) else self.empty_network()

    def empty_network(self) -> nn.Module:
        """Build the network with random weights, which a checkpoint will replace."""
        return self.auto.from_config(self.config, dtype=torch.float32, trust_remote_code=False)

    def load_network(self) -> nn.Module:
        """Build the network with the weights of the backbone, and with a new head unless ``head`` is "kept"."""
        network = load_weights(self.auto.from_pretrained, self.folder, self.head, self.head_name, config=self.config)
        if self.head != "kept":
            self.reset_head(network)
        if self.head == "replaced":
            outputs = listing(self.outputs)
            labels = listing(self.task.labels)
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

    def name_parts(self, *configs: PretrainedConfig) -> None:
        """Write the names of the parts of the training data to the configs."""
        for config in configs:
            setattr(config, LEARNED, getattr(config, LEARNED, {}) | {"parts": list(self.task.parts)})

    def export(self, folder: str, weights: bool) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.config.architectures = [type(self.network).__name__]
        self.name_parts(self.config, self.network.config)
        self.config.save_pretrained(folder)
        self.processor.tokenizer.save_pretrained(folder)
        if weights:
            with quiet():
                self.network.save_pretrained(folder)


def drop_settings(settings: dict[str, Any], *names: str) -> None:
    """Remove settings from the keyword arguments of a constructor, because the model family fixes them.

    Lightning passes all settings of a checkpoint to a constructor with ``**kwargs``, including the fixed ones.
    """
    for name in names:
        settings.pop(name, None)
