"""Encoder-decoders that write the label: T5, T5-v1.1, Flan-T5 and whatever AutoModelForSeq2SeqLM knows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from pytorch_lightning.utilities import rank_zero_info
from torch import Tensor
from torch.nn import functional as F
from transformers import (
    AutoModelForSeq2SeqLM,
    PretrainedConfig,
    PreTrainedTokenizerBase,
)
from transformers.modeling_outputs import BaseModelOutput

from lightning_modules.classifier import MOST_UNKNOWN, Classifier
from lightning_modules.pretrained.backbone_config import LEARNED, open_config, require_positions
from lightning_modules.pretrained.backbones import has_weights, load_weights, quiet, resolve
from lightning_modules.pretrained.labels import head_order, is_named, match_labels
from lightning_modules.pretrained.linear import faster_on_cpu
from lightning_modules.pretrained.vocabulary import open_tokenizer
from lightning_modules.processors.templates import TemplateProcessor
from records import CLASSIFICATION, NO_LABEL, HeedError, Prediction, Task, rename_parts

IGNORED = -100  # a target that is padding


class Seq2Seq(Classifier):
    """Any ``AutoModelForSeq2SeqLM`` as a classifier: it reads the parts in a template, and writes the label.

    The template and what stands for each label belong to the data. A model that was trained here keeps its own words on
    other data with the same labels.

    Args:
        backbone: Hub id, folder, or ``package:MODULE/FOLDER``.
        max_length: Most tokens of an input; the longest part is cut first, and the words of the template stay.
        score: The score of a label is the log-likelihood of its text: of all tokens together (sum), or of a token on
            average (mean). The end of the text is one of the tokens.
        decoding: "likelihood" answers with the label that has the highest score; "greedy" with what the model writes,
            one token after the other, and with no label where that is none. Probabilities are of the scores.
        learning_rate: Peak learning rate of AdamW.
        weight_decay: Decoupled weight decay; biases and normalisation weights have none.
        warmup: Share of all steps over which the learning rate rises.
        max_unknown: Largest share of the tokens of the data that the tokenizer may not know.
    """

    def __init__(
        self,
        backbone: str,
        max_length: int = 256,
        score: Literal["sum", "mean"] = "sum",
        decoding: Literal["likelihood", "greedy"] = "likelihood",
        learning_rate: float = 1e-4,
        weight_decay: float = 0.01,
        warmup: float = 0.1,
        max_unknown: float = MOST_UNKNOWN,
    ) -> None:
        super().__init__(learning_rate, weight_decay, warmup, max_unknown)
        self.save_hyperparameters(logger=False)
        self.backbone, self.max_length, self.score, self.decoding = backbone, max_length, score, decoding
        self.network: torch.nn.Module | None = None

    @property
    def description(self) -> str:
        return self.backbone

    def _open(self) -> tuple[PretrainedConfig, PreTrainedTokenizerBase]:
        """The config and the tokenizer of the backbone.

        Raises:
            HeedError: It writes no text, or reads less than ``max_length``.
        """
        self.folder = resolve(self.backbone)
        config = open_config(self.folder)
        if not config.is_encoder_decoder:
            raise HeedError(
                f"--model.backbone {self.backbone} writes no text ({config.model_type}): take it as an encoder, with "
                "--model lightning_modules.Encoder."
            )
        require_positions(config, self.max_length)
        return config, open_tokenizer(self.folder, config)

    def prepare(self, task: Task) -> None:
        if task.kind is not CLASSIFICATION:
            raise HeedError(
                f"--model {type(self).__name__} writes one of a few labels, and these data are of the kind {task.kind}."
            )
        self.task = task
        config, tokenizer = self._open()
        self.outputs = [config.id2label[i] for i in range(len(config.id2label))]
        self.answers = self.outputs if is_named(self.outputs) else None
        template, targets = self._wording(task, getattr(config, LEARNED, None))
        self.processor = TemplateProcessor(tokenizer, template, self.max_length, task.form)
        self._encode_targets(targets, config)
        config.id2label = dict(enumerate(task.labels))
        config.label2id = {label: i for i, label in config.id2label.items()}
        words = {"template": template, "parts": list(task.parts), "targets": list(targets)}
        setattr(config, LEARNED, words)
        self.config = config

    def _wording(self, task: Task, learned: dict[str, Any] | None) -> tuple[str, tuple[str, ...]]:
        """The template and the text of each label: those that the model was trained with here, else those of the data.

        Parts go by their order, labels by their names.
        """
        own = task.wording, task.targets
        whole = learned is not None and {"template", "parts", "targets"} <= learned.keys()
        order = match_labels(self.outputs, task.labels) if whole else None
        if order is None or len(learned["parts"]) != len(task.parts):
            return own
        template = rename_parts(learned["template"], dict(zip(learned["parts"], task.parts, strict=True)))
        known = template, tuple(learned["targets"][i] for i in order)
        if known != own:
            rank_zero_info(f"{self.backbone} was trained on {known[0]!r} with the answers {', '.join(known[1])}: kept.")
        return known

    def _encode_targets(self, targets: tuple[str, ...], config: PretrainedConfig) -> None:
        """What the decoder reads and writes for each label: int64 [labels, tokens]."""
        tokenizer = self.processor.tokenizer
        ids = [tokenizer(text_target=text)["input_ids"] for text in targets]
        if len(set(map(tuple, ids))) < len(ids):
            raise HeedError(f"The tokenizer of {self.backbone} cannot tell apart the texts {', '.join(targets)}.")
        written, read = teach(ids, tokenizer.pad_token_id, config.decoder_start_token_id)
        self.register_buffer("written", written, persistent=False)
        self.register_buffer("read", read, persistent=False)
        self._label_of = {self._text(row): label for row, label in zip(ids, self.task.labels, strict=True)}

    def require_head(self) -> None:
        """For a model that is not trained here.

        Raises:
            HeedError: It was trained to write other labels than those of the task.
        """
        if self.answers:
            head_order(self.outputs, self.task.labels, self.backbone)

    def require_weights(self) -> None:
        """For a model that no checkpoint will fill.

        Raises:
            HeedError: The backbone is a folder without weights.
        """
        if not has_weights(self.folder):
            raise HeedError(f"--model.backbone {self.backbone} has no weights beside its config.json.")

    def require_precision(self, precision: str) -> None:
        """For a model whose numbers not every format holds.

        Raises:
            HeedError: The model is a T5, and the precision is float16, in which its activations overflow.
        """
        if "t5" in self.config.model_type and precision in ("16", "16-mixed", "16-true", "transformer-engine-float16"):
            raise HeedError(
                f"--trainer.precision {precision}: activations of {self.backbone} overflow in float16; take bf16-mixed "
                "or 32-true."
            )

    def setup(self, stage: str) -> None:
        super().setup(stage)
        self.require_precision(str(self.trainer.precision))

    def configure_model(self) -> None:
        if self.network is not None or self.task is None:  # load_from_checkpoint calls this before it knows the task
            return
        auto = AutoModelForSeq2SeqLM
        if has_weights(self.folder):
            self.network = load_weights(auto.from_pretrained, self.folder, "kept", config=self.config)
            self._require_output_layer()
        else:  # the folder beside a checkpoint: the weights follow from there
            self.network = auto.from_config(self.config, dtype=torch.float32, trust_remote_code=False)
        faster_on_cpu(self.network).train()  # transformers loads models in eval mode

    def _require_output_layer(self) -> None:
        """An output layer that is not the table of embeddings must be in the file.

        The config of a T5 of version 1.1 says that it has one; transformers takes the table where the file lacks it.

        Raises:
            HeedError: It is not there.
        """
        said, _ = PretrainedConfig.get_config_dict(self.folder)
        outputs, inputs = self.network.get_output_embeddings(), self.network.get_input_embeddings()
        if said.get("tie_word_embeddings") is False and outputs.weight is inputs.weight:
            raise HeedError(
                f"The weights of {self.backbone} lack the output layer (lm_head.weight), which by its config.json is "
                "not the table of embeddings: take the config.json and the weights of one and the same model."
            )

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        self._untie(checkpoint["state_dict"])

    def _untie(self, weights: dict[str, Tensor]) -> None:
        """Give what is one tensor in the network and several in a checkpoint a tensor each.

        A T5 of version 1.1 has an output layer that is not its table of embeddings; transformers makes one of both
        where it has no weights to see the difference.
        """
        seen: dict[int, str] = {}
        for name, parameter in list(self.network.named_parameters(remove_duplicate=False)):
            first, second = (f"network.{n}" for n in (seen.setdefault(id(parameter), name), name))
            if {first, second} <= weights.keys() and not torch.equal(weights[first], weights[second]):
                owner, _, leaf = name.rpartition(".")
                setattr(self.network.get_submodule(owner), leaf, torch.nn.Parameter(parameter.detach().clone()))
                getattr(self.network, "all_tied_weights_keys", {}).pop(name, None)

    def _encoded(self, inputs: dict[str, Tensor]) -> Tensor:
        """What the encoder makes of a batch: [examples, tokens, width]."""
        return self.network.get_encoder()(**inputs).last_hidden_state

    def _scores(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Log-likelihood of each label: float32 [examples, labels], by one pass of the decoder over all of them."""
        labels, n = len(self.written), len(hidden)
        written = self.written.repeat(n, 1)
        logits = self.network(
            encoder_outputs=BaseModelOutput(last_hidden_state=hidden.repeat_interleave(labels, dim=0)),
            attention_mask=mask.repeat_interleave(labels, dim=0),
            decoder_input_ids=self.read.repeat(n, 1),
            use_cache=False,
        ).logits
        losses = F.cross_entropy(
            logits.float().flatten(0, 1), written.flatten(), ignore_index=IGNORED, reduction="none"
        )
        scores = -losses.view(n, labels, -1).sum(dim=-1)
        return scores / (self.written != IGNORED).sum(dim=-1) if self.score == "mean" else scores

    def logits(self, inputs: dict[str, Tensor]) -> Tensor:
        return self._scores(self._encoded(inputs), inputs["attention_mask"])

    def training_step(self, batch: dict[str, Any], batch_idx: int) -> Tensor:
        """The usual loss: cross-entropy of the tokens of the gold label's text, given those before."""
        written, read = self.written[batch["labels"]], self.read[batch["labels"]]
        logits = self.network(**batch["inputs"], decoder_input_ids=read, use_cache=False).logits
        loss = F.cross_entropy(logits.float().flatten(0, 1), written.flatten(), ignore_index=IGNORED)
        self.log("loss/train", loss, prog_bar=True, batch_size=len(written))
        return loss

    def predict(self, batch: dict[str, Any]) -> list[Prediction]:
        if self.decoding == "likelihood" or not batch["size"]:
            return super().predict(batch)
        mask = batch["inputs"]["attention_mask"]
        hidden = self._encoded(batch["inputs"])
        probs = self._scores(hidden, mask).softmax(dim=-1).cpu().numpy()
        answers = [self._label_of.get(text, NO_LABEL) for text in self._generated(hidden, mask)]
        return [Prediction(answer, row) for answer, row in zip(answers, probs, strict=True)]

    def _generated(self, hidden: Tensor, mask: Tensor, longest: int | None = None) -> list[str]:
        """What the model writes, token after token, at most so many; by default as far as a label can reach."""
        with quiet():
            ids = self.network.generate(
                encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
                attention_mask=mask,
                max_new_tokens=longest or self.written.shape[1],
                num_beams=1,
                do_sample=False,
            )
        return [self._text(row) for row in ids[:, 1:].tolist()]

    def _text(self, ids: list[int]) -> str:
        """What tokens say, up to the end of the text."""
        tokenizer = self.processor.tokenizer
        if tokenizer.eos_token_id in ids:
            ids = ids[: ids.index(tokenizer.eos_token_id)]
        return tokenizer.decode(ids).strip()

    def export(self, folder: str, weights: bool) -> None:
        self.config.architectures = [type(self.network).__name__]
        self.processor.tokenizer.save_pretrained(folder)
        if weights:
            with quiet():
                self.network.save_pretrained(folder)
        else:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.config.save_pretrained(folder)


def teach(ids: Sequence[Sequence[int]], pad: int, start: int | None) -> tuple[Tensor, Tensor]:
    """What a decoder is to write, and what it reads while it does: each int64 [texts, tokens].

    Args:
        ids: The tokens of each text, with the end of the text.
        pad: Id of the padding token.
        start: Id of the token that comes before the first one; that of padding if None.
    """
    rows = [torch.tensor(row) for row in ids]
    written = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=IGNORED)
    read = torch.full_like(written, pad if start is None else start)
    read[:, 1:] = written[:, :-1].masked_fill(written[:, :-1] == IGNORED, pad)
    return written, read
