"""Encoder-decoders that write the label: T5, T5-v1.1, Flan-T5 and whatever AutoModelForSeq2SeqLM knows."""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import AutoModelForSeq2SeqLM, LogitsProcessor, PretrainedConfig
from transformers.modeling_outputs import BaseModelOutput

from heedful.lightning_modules.outputs import NO_LABEL_NUMBER, NOT_FINITE, Outputs, label_numbers
from heedful.lightning_modules.predictor import Capabilities, LabelMap
from heedful.lightning_modules.pretrained.backbone_config import LEARNED
from heedful.lightning_modules.pretrained.backbones import quiet
from heedful.lightning_modules.pretrained.labels import is_named, meanings, require_head_for
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier, drop
from heedful.lightning_modules.processors.targets import IGNORED, log_likelihoods, teach, writing_loss
from heedful.lightning_modules.processors.templates import TemplateProcessor, in_one_text
from heedful.lightning_modules.processors.token_store import mark_error, mark_in
from heedful.records import CLASSIFICATION, Example, ModelError, SettingError, Task, inform, rename_parts
from heedful.records.prompts.prompt import Prompt
from heedful.records.prompts.wording import Wording

LONGEST = 8  # tokens that it writes in answer to a prompt, if no label is longer (CAT, §4.2)


class _Watched(LogitsProcessor):
    """Leaves the scores of the next tokens as they are, and notes for which texts they were not finite."""

    def __init__(self) -> None:
        self.is_broken = torch.tensor(False)  # [texts], or of all texts; one value of the host is not copied

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        self.is_broken = self.is_broken | ~scores.amax(dim=-1).isfinite()
        return scores


class Seq2Seq(PretrainedClassifier):
    """Any ``AutoModelForSeq2SeqLM`` as a classifier: it reads the parts in a template, and writes the label.

    The template and what stands for each label belong to the data. A model that was trained here keeps its own words on
    other data with the same labels. A prompt stands before the example in the same text, for an encoder reads both
    ways; each demonstration is a filled template with its answer.

    Args:
        max_length: Most tokens of an input; the longest part is cut first, and the words of the template stay.
        score: The score of a label is the log-likelihood of its text: of all tokens together (sum), or of a token on
            average (mean). The end of the text is one of the tokens.
        decoding: "likelihood" answers with the label that has the highest score; "greedy" with what the model writes,
            one token after the other, and with no label where that is none. Probabilities are of the scores. Asked by a
            prompt, it answers with the label whose text begins what it writes.
        **kwargs: As for :class:`PretrainedClassifier`.
    """

    kinds = (CLASSIFICATION,)
    auto = AutoModelForSeq2SeqLM
    head = "kept"  # its decoder is asked for texts, whatever they mean
    reads_prompts = True
    prompt: Prompt | None = None

    def __init__(
        self,
        backbone: str,
        max_length: int = 256,
        score: Literal["sum", "mean"] = "sum",
        decoding: Literal["likelihood", "greedy"] = "likelihood",
        learning_rate: float = 1e-4,
        **kwargs: Any,
    ) -> None:
        drop(kwargs, "labels")
        super().__init__(backbone, max_length, labels=None, learning_rate=learning_rate, **kwargs)
        self.score = score
        self.decoding = decoding
        self.capabilities = Capabilities(writes=decoding == "greedy")

    def require_architecture(self) -> None:
        if not self.config.is_encoder_decoder:
            raise ModelError(
                f"model.backbone {self.backbone} does not write text: it is a {self.config.model_type}. Take it as an "
                "encoder, with model Encoder."
            )

    def prepare(self, task: Task) -> None:
        tokenizer = self.open_backbone(task)
        self.known_labels = self.outputs if is_named(self.outputs) else None
        template, targets = self._wording(task, getattr(self.config, LEARNED, None))
        self.processor = TemplateProcessor(tokenizer, template, self.max_length, task.form)
        self._encode_targets(targets)
        if not self.merges:  # of two texts for one label none is the answer of a demonstration
            self.own_wording = Wording(template, answers=dict(zip(task.labels, targets, strict=True)))
        self.name_outputs(self.label_map.outputs if self.merges else task.labels)
        setattr(self.config, LEARNED, {"template": template, "parts": list(task.parts), "targets": list(targets)})

    def prompt_with(self, prompt: Prompt) -> None:
        self.prompt = prompt
        self.label_map = None  # a text for each label
        self._read_prompt(prompt)
        self._encode_targets(prompt.answers)

    def sent(self, example: Example) -> dict[str, Any]:
        inputs = self.processor([example])
        ids = inputs["input_ids"][0][inputs["attention_mask"][0].bool()].tolist()
        return {"text": self.processor.tokenizer.decode(ids, clean_up_tokenization_spaces=False)}

    def _read_prompt(self, prompt: Prompt) -> None:
        """Make the processor for a prompt.

        Raises:
            HeedfulError: It leaves no room for the example.
        """
        before = self.processor
        for example in prompt.demonstrations:
            texts = before.texts([example.parts[part] for part in before.parts])
            if mark := mark_in(before.tokenizer, " ".join(texts)):
                raise mark_error(example.uid, mark)
        prefix, template = in_one_text(prompt)
        self.processor = type(before)(before.tokenizer, template, self.max_length, self.task.form, prefix)
        self.processor.pad_to = before.pad_to

    def _wording(self, task: Task, learned: dict[str, Any] | None) -> tuple[str, tuple[str, ...]]:
        """The template and the text of each label: those that the model was trained with here, else those of the data.

        Parts go by their order, labels by their names. Where several of its texts mean one label, all are returned.
        """
        own = task.wording, task.targets
        whole = learned is not None and {"template", "parts", "targets"} <= learned.keys()
        meant = meanings(self.outputs, task.labels, self.merging) if whole else None
        if meant is None or len(learned["parts"]) != len(task.parts):
            return own
        template = rename_parts(learned["template"], dict(zip(learned["parts"], task.parts, strict=True)))
        targets = tuple(learned["targets"])
        if len(meant) > len(task.labels):
            self.keep_label_map(LabelMap(tuple(self.outputs), task.labels, meant, self.collapse or "sum"))
        else:
            targets = tuple(targets[meant.index(number)] for number in range(len(task.labels)))
        trained = template, targets
        if trained != own:
            inform(f"{self.backbone} was trained on {trained[0]!r} with the answers {', '.join(trained[1])}: kept.")
        return trained

    def _encode_targets(self, targets: tuple[str, ...]) -> None:
        """Keep what the decoder reads and writes for each label: int64 [labels, tokens]."""
        tokenizer = self.processor.tokenizer
        ids = [tokenizer(text_target=text)["input_ids"] for text in targets]
        if len(set(map(tuple, ids))) < len(ids):
            raise ModelError(
                f"The tokenizer of {self.backbone} cannot tell the answers {', '.join(targets)} apart. Give the labels "
                "other answers with data.prompts or data.verbalisers."
            )
        written, read = teach(ids, tokenizer.pad_token_id, self.config.decoder_start_token_id)
        self.register_buffer("written", written, persistent=False)
        self.register_buffer("read", read, persistent=False)
        labels = self.label_map.column if self.merges else range(len(ids))
        self._number_of = {self._text(row): number for number, row in zip(labels, ids, strict=True)}

    @property
    def merging(self) -> bool:
        """Only where nothing is trained: there is one text to learn for a label."""
        return self.keeps_head

    def require_head(self) -> None:
        if self.known_labels:  # else it was not trained to write certain ones
            require_head_for(self.outputs, self.task.labels, self.backbone, self.merging, renaming=False)

    def require_precision(self, precision: str) -> None:
        """Refuse float16 for a T5, whose activations overflow in it."""
        if "t5" in self.config.model_type and precision in ("16", "16-mixed", "16-true", "transformer-engine-float16"):
            raise SettingError(
                f"trainer.precision {precision}: the numbers within {self.backbone} are too large for float16. Take "
                "bf16-mixed or 32-true."
            )

    def setup(self, stage: str) -> None:
        super().setup(stage)
        self.require_precision(str(self.trainer.precision))

    def load_network(self) -> nn.Module:
        """The network with the weights of the backbone.

        An output layer that is not the table of embeddings must be in the file. The config of a T5 of version 1.1 says
        that it has one; transformers takes the table where the file lacks it.

        Raises:
            HeedfulError: It is not there.
        """
        network = super().load_network()
        said, _ = PretrainedConfig.get_config_dict(self.folder)
        outputs = network.get_output_embeddings()
        inputs = network.get_input_embeddings()
        if said.get("tie_word_embeddings") is False and outputs.weight is inputs.weight:
            raise ModelError(
                f"The weights of {self.backbone} lack lm_head.weight or the table of words, which its config.json "
                "keeps apart (tie_word_embeddings). Take all files of one model."
            )
        return network

    def modules_to_compile(self) -> Sequence[nn.Module]:
        return (self.network.get_encoder(),)  # the decoder meets a new length with each token that it writes

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
            first = f"network.{seen.setdefault(id(parameter), name)}"
            second = f"network.{name}"
            if {first, second} <= weights.keys() and not torch.equal(weights[first], weights[second]):
                owner, _, leaf = name.rpartition(".")
                setattr(self.network.get_submodule(owner), leaf, torch.nn.Parameter(parameter.detach().clone()))
                getattr(self.network, "all_tied_weights_keys", {}).pop(name, None)

    def _encoded(self, inputs: dict[str, Tensor]) -> Tensor:
        """The encoder's states for a batch: [examples, tokens, width]."""
        return self.network.get_encoder()(**inputs).last_hidden_state

    def _scores(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Log-likelihood of each label: float32 [examples, labels], by one pass of the decoder over all of them."""
        labels = len(self.written)
        n = len(hidden)
        written = self.written.repeat(n, 1)
        logits = self.network(
            encoder_outputs=BaseModelOutput(last_hidden_state=hidden.repeat_interleave(labels, dim=0)),
            attention_mask=mask.repeat_interleave(labels, dim=0),
            decoder_input_ids=self.read.repeat(n, 1),
            use_cache=False,
        ).logits
        scores = log_likelihoods(logits, written).view(n, labels)
        return scores / (self.written != IGNORED).sum(dim=-1) if self.score == "mean" else scores

    def scores(self, inputs: dict[str, Tensor]) -> Tensor:
        return self._scores(self._encoded(inputs), inputs["attention_mask"])

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """The usual loss: cross-entropy of the tokens of the gold label's text, given those before."""
        return self._writing_loss(batch["inputs"], self.written[batch["labels"]], self.read[batch["labels"]])

    def _writing_loss(self, inputs: dict[str, Tensor], written: Tensor, read: Tensor) -> Tensor:
        return writing_loss(self.network(**inputs, decoder_input_ids=read, use_cache=False).logits, written)

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        if self.decoding == "likelihood":
            return super().answer(inputs)
        hidden = self._encoded(inputs)
        mask = inputs["attention_mask"]
        probs = self.of_labels(self._scores(hidden, mask)).softmax(dim=-1)
        longest = None if self.prompt is None else max(LONGEST, self.written.shape[1])
        texts = self._generated(hidden, mask, longest)
        if self.prompt is not None:
            return Outputs(probs, label_numbers(self.understood(texts), self.task.labels).to(probs.device))
        number_of = {None: NOT_FINITE, **self._number_of}
        self.count("no_answers", (text for text in texts if text not in number_of))
        answers = [number_of.get(text, NO_LABEL_NUMBER) for text in texts]
        return Outputs(probs, torch.tensor(answers, device=probs.device))

    def _generated(self, hidden: Tensor, mask: Tensor, longest: int | None = None) -> list[str | None]:
        """Texts that the model writes, token after token, at most so many; by default as far as a label can reach.

        A text is None where the scores of one of its tokens are not finite.
        """
        watched = _Watched()
        with quiet():
            ids = self.network.generate(
                encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
                attention_mask=mask,
                max_new_tokens=longest or self.written.shape[1],
                num_beams=1,
                do_sample=False,
                logits_processor=[watched],
            )
        is_broken = watched.is_broken.expand(len(ids)).tolist()
        # ids[:, 0] is the token that a decoder begins with
        return [None if broken else self._text(row) for row, broken in zip(ids[:, 1:].tolist(), is_broken, strict=True)]

    def _text(self, ids: list[int]) -> str:
        """The text of tokens, up to its end."""
        tokenizer = self.processor.tokenizer
        if tokenizer.eos_token_id in ids:
            ids = ids[: ids.index(tokenizer.eos_token_id)]
        return tokenizer.decode(ids).strip()
