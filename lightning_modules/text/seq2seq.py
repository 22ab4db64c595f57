"""Encoder-decoders that generate the label: T5, T5-v1.1, Flan-T5 and all others that AutoModelForSeq2SeqLM loads."""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import AutoModelForSeq2SeqLM, PreTrainedTokenizerBase
from transformers.modeling_outputs import MoEModelOutput

from heedful.lightning_modules.label_scorer import ScoresLabels
from heedful.lightning_modules.outputs import Outputs, label_numbers
from heedful.lightning_modules.predictor import Capabilities
from heedful.lightning_modules.pretrained.backbone_config import LEARNED
from heedful.lightning_modules.pretrained.backbones import quiet
from heedful.lightning_modules.pretrained_classifier import drop_settings
from heedful.lightning_modules.processors.templates import TemplateProcessor, in_one_text
from heedful.records import CLASSIFICATION, NO_LABEL, Example, ModelError, SettingError, Task
from heedful.records.prompts import Prompt, Wording

PADDING_STARTS = ("t5", "longt5", "switch_transformers")  # types of models whose decoder begins with the padding token
LONGEST = 8  # generated tokens of an answer to a prompt, if no label is longer (CAT, section 4.2)


class Seq2Seq(ScoresLabels):
    """Any ``AutoModelForSeq2SeqLM`` as a classifier: it reads the parts in a template, and generates the label.

    The data define the template and the label texts. On data with the same labels, a trained model keeps the template
    and the label texts of its training. A prompt precedes the example in the same text, since an encoder is
    bidirectional; each demonstration is a filled template with its answer.

    Args:
        max_length: Most tokens of an input; the longest part is cut first, and the words of the template stay.
        score: The score of a label is the log-likelihood of its text: of all tokens together (sum), or of a token on
            average (mean). The end of the text is one of the tokens.
        decoding: "likelihood" answers with the label of the highest score; "greedy" with the generated text, or with no
            label if the text does not match a label. With a prompt, the generated text only has to begin with the text
            of the label. Probabilities are always normalised scores.
        **kwargs: As for :class:`PretrainedClassifier`.
    """

    kinds = (CLASSIFICATION,)
    auto = AutoModelForSeq2SeqLM
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
        drop_settings(kwargs, "labels")
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

    def open_backbone(self, task: Task) -> PreTrainedTokenizerBase:
        tokenizer = super().open_backbone(task)
        if getattr(self.config, "decoder_start_token_id", None) is None:
            if self.config.model_type not in PADDING_STARTS:
                raise ModelError(
                    f"The config.json of {self.backbone} has no decoder_start_token_id. Add the id of the token with "
                    "which the decoder begins."
                )
            self.config.decoder_start_token_id = self.config.pad_token_id
        return tokenizer

    def prepare(self, task: Task) -> None:
        tokenizer = self.open_backbone(task)
        template, targets = self.learned_words(task)
        self.processor = TemplateProcessor(tokenizer, template, self.max_length, task.form)
        self._set_label_texts(targets)
        if not self.merges:  # with two texts per label, the answer of a demonstration would be ambiguous
            self.own_wording = Wording(template, answers=dict(zip(task.labels, targets, strict=True)))
        setattr(self.config, LEARNED, {"template": template, "parts": list(task.parts), "targets": list(targets)})

    def prompt_with(self, prompt: Prompt) -> None:
        self.prompt = prompt
        self.label_map = None  # a prompt has one text per label
        self._make_prompt_processor(prompt)
        self._set_label_texts(prompt.answers)
        self.longest = max(LONGEST, self.longest)

    def sent(self, example: Example) -> dict[str, Any]:
        inputs = self.processor([example])
        ids = inputs["input_ids"][0][inputs["attention_mask"][0].bool()].tolist()
        return {"text": self.processor.tokenizer.decode(ids, clean_up_tokenization_spaces=False)}

    def _make_prompt_processor(self, prompt: Prompt) -> None:
        """Make the processor for a prompt.

        Raises:
            HeedfulError: The prompt leaves no room for the example.
        """
        before = self.processor
        prefix, template = in_one_text(prompt)
        self.processor = type(before)(before.tokenizer, template, self.max_length, self.task.form, prefix)
        self.processor.pad_to = before.pad_to

    def _set_label_texts(self, targets: Sequence[str]) -> None:
        """Encode the label texts ``targets`` for the scorer; for greedy decoding, map generated texts to labels."""
        ids = [self.processor.tokenizer(text_target=text)["input_ids"] for text in targets]
        self.score_texts(targets, ids, self.config.decoder_start_token_id, mean=self.score == "mean")
        self.longest = max(self.scorer.lengths)
        numbers = self.label_map.column if self.merges else range(len(ids))
        self._label_of = {self._text(row): self.task.labels[k] for k, row in zip(numbers, ids, strict=True)}

    def require_precision(self, precision: str) -> None:
        """Raise SettingError for T5 in float16, in which its activations overflow."""
        if "t5" in self.config.model_type and precision in ("16", "16-mixed", "16-true", "transformer-engine-float16"):
            raise SettingError(
                f"trainer.precision {precision}: the numbers within {self.backbone} are too large for float16. Take "
                "bf16-mixed or 32-true."
            )

    def setup(self, stage: str) -> None:
        super().setup(stage)
        self.require_precision(str(self.trainer.precision))

    def modules_to_compile(self) -> Sequence[nn.Module]:
        return (self.network.get_encoder(),)  # the length of the decoder's input changes with each generated token

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        head, table = (checkpoint["state_dict"].get(f"network.{name}.weight") for name in ("lm_head", "shared"))
        outputs = self.network.get_output_embeddings()
        is_shared = outputs.weight is self.network.get_input_embeddings().weight
        # T5 1.1 has a separate output layer, which transformers ties to the embeddings in a network without weights
        if is_shared and head is not None and table is not None and not torch.equal(head, table):
            outputs.weight = nn.Parameter(outputs.weight.detach().clone())
            self.network.all_tied_weights_keys.pop("lm_head.weight", None)

    def _encoded(self, inputs: dict[str, Any]) -> Tensor:
        return self.network.get_encoder()(**inputs).last_hidden_state

    def _decoded(self, states: Tensor, mask: Tensor, read: Tensor) -> Tensor:
        encoder_outputs = MoEModelOutput(last_hidden_state=states)
        return self.network(
            encoder_outputs=encoder_outputs, attention_mask=mask, decoder_input_ids=read, use_cache=False
        ).logits

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        if self.decoding == "likelihood":
            return super().answer(inputs)
        states = self._encoded(inputs)
        mask = inputs["attention_mask"]
        probs = self.of_labels(self.scorer(self._decoded, states, mask)).softmax(dim=-1)
        answers = self._answers(self._written(states, mask))
        return Outputs(probs, torch.from_numpy(label_numbers(answers, self.task.labels)).to(probs.device))

    def _answers(self, texts: Sequence[str | None]) -> list[str | None]:
        """Convert generated texts to answers, and count the texts that are no answer.

        With a prompt, the rules of the prompt find the answer in the text. Without a prompt, the whole text must be the
        text of a label, and the answer is this label. A text that is no answer gives NO_LABEL; None stays None.
        """
        if self.prompt is not None:
            return self.understood(texts)
        answers = [text if text is None else self._meant(text) for text in texts]
        self.count("no_answers", (text for text, answer in zip(texts, answers, strict=True) if answer == NO_LABEL))
        return answers

    def _meant(self, text: str) -> str:
        return self._label_of.get(text, NO_LABEL)

    def _written(self, states: Tensor, mask: Tensor) -> list[str | None]:
        """Generate a text of at most ``longest`` tokens per example; None if the scores of a token are not finite.

        Args:
            states: Encoder states: [examples, tokens, width].
            mask: Mask of the encoder states.
        """
        is_broken = [torch.tensor(False)]  # grows to bool [texts] on the device

        def watch(ids: Tensor, scores: Tensor) -> Tensor:
            is_broken[0] = is_broken[0] | ~scores.amax(dim=-1).isfinite()
            return scores

        with quiet():
            ids = self.network.generate(
                encoder_outputs=MoEModelOutput(last_hidden_state=states),
                attention_mask=mask,
                decoder_start_token_id=self.config.decoder_start_token_id,
                max_new_tokens=self.longest,
                num_beams=1,
                do_sample=False,
                logits_processor=[watch],
            )
        # ids[:, 0] is the start token of the decoder
        written = zip(ids[:, 1:].tolist(), is_broken[0].expand(len(ids)).tolist(), strict=True)
        return [None if broken else self._text(row) for row, broken in written]

    def _text(self, ids: list[int]) -> str:
        """Decode tokens up to the end token."""
        tokenizer = self.processor.tokenizer
        if tokenizer.eos_token_id in ids:
            ids = ids[: ids.index(tokenizer.eos_token_id)]
        return tokenizer.decode(ids).strip()
