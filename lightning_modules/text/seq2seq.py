"""Encoder-decoders that generate the label: T5, T5-v1.1, Flan-T5 and all others that AutoModelForSeq2SeqLM loads."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import AutoModelForSeq2SeqLM
from transformers.modeling_outputs import MoEModelOutput

from heedful.lightning_modules.heads import LABEL_TOKENS, LabelTexts
from heedful.lightning_modules.learned import LabelMap
from heedful.lightning_modules.predictor import Capabilities
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.lightning_modules.processors.templates import TemplateProcessor, in_one_text
from heedful.records import CLASSIFICATION, Example, ModelError, SettingError, Task
from heedful.records.prompts import Prompt, Wording
from heedful.records.storage.schema import ENTRY

PADDING_STARTS = ("t5", "longt5", "switch_transformers")  # types of models whose decoder begins with the padding token


class EncoderDecoder(PretrainedClassifier):
    """Any ``AutoModelForSeq2SeqLM``, which reads the parts in a template and writes the answer.

    The data define the template and the texts of the labels. On data with the same labels, a trained model keeps the
    template and the texts of its training. A prompt precedes the example in the same text, since an encoder is
    bidirectional; each demonstration is a filled template with its answer.
    """

    auto = AutoModelForSeq2SeqLM
    capabilities = Capabilities(prompts="optional", trains=True)
    task_head: LabelTexts
    longest_answer = LABEL_TOKENS  # generated tokens of an answer to a prompt

    def require_architecture(self) -> None:
        config = self.config
        if not config.is_encoder_decoder:
            raise ModelError(
                f"model.backbone {self.backbone} does not write text: it is a {config.model_type}. Take it as an "
                "encoder, with model Encoder."
            )
        if getattr(config, "decoder_start_token_id", None) is None:
            if config.model_type not in PADDING_STARTS:
                raise ModelError(
                    f"The config.json of {self.backbone} has no decoder_start_token_id. Add the id of the token with "
                    "which the decoder begins."
                )
            config.decoder_start_token_id = config.pad_token_id

    def is_trained(self, task: Task) -> bool:
        return len(getattr(self.config, ENTRY, {}).get("targets", ())) == len(self.config.id2label)

    def make_processor(self, task: Task) -> TemplateProcessor:
        self.task_head.template = task.wording
        return TemplateProcessor(self.tokenizer, task.wording, self.max_length, task.form)

    def set_texts(self, texts: Sequence[str], label_map: LabelMap, longest: int = 0) -> None:
        """Prepare the head for texts, which the model writes; generated texts have ``longest`` tokens or more."""
        ids = [self.tokenizer(text_target=text)["input_ids"] for text in texts]
        self.task_head.prepare_texts(label_map, texts, ids, self.tokenizer, self.config.decoder_start_token_id, longest)

    def prompt_with(self, prompt: Prompt) -> None:
        """Set the prompt of later predictions.

        Raises:
            HeedfulError: The prompt leaves no room for the example.
        """
        self.prompt = prompt
        prefix, template = in_one_text(prompt)
        before = self.processor
        self.processor = type(before)(self.tokenizer, template, self.max_length, self.task.form, prefix)
        self.processor.pad_to = before.pad_to
        self.set_texts(prompt.answers, LabelMap.identity(self.task.labels), self.longest_answer)

    def sent(self, example: Example) -> dict[str, Any]:
        inputs = self.processor([example])
        ids = inputs["input_ids"][0][inputs["attention_mask"][0].bool()].tolist()
        return {"text": self.tokenizer.decode(ids, clean_up_tokenization_spaces=False)}

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

    def encoded(self, inputs: dict[str, Any]) -> Tensor:
        """Compute the states of the encoder: [examples, tokens, width]."""
        rows = {name: values for name, values in inputs.items() if name != "written"}
        return self.network.get_encoder()(**rows).last_hidden_state

    def decoded(self, states: Tensor, mask: Tensor, read: Tensor) -> Tensor:
        """Compute the decoder's scores of the token after each token in ``read``: [texts, tokens, vocabulary]."""
        encoder_outputs = MoEModelOutput(last_hidden_state=states)
        return self.network(
            encoder_outputs=encoder_outputs, attention_mask=mask, decoder_input_ids=read, use_cache=False
        ).logits


class Seq2Seq(EncoderDecoder):
    """Any ``AutoModelForSeq2SeqLM`` as a classifier, with the texts and prompts of :class:`EncoderDecoder`.

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

    def __init__(
        self,
        backbone: str,
        max_length: int = 256,
        score: Literal["sum", "mean"] = "sum",
        decoding: Literal["likelihood", "greedy"] = "likelihood",
        learning_rate: float = 1e-4,
        **kwargs: Any,
    ) -> None:
        super().__init__(backbone, max_length, learning_rate=learning_rate, **kwargs)
        self.score = score
        self.decoding = decoding
        self.capabilities = replace(self.capabilities, writes=decoding == "greedy")
        self.task_head = LabelTexts(mean=score == "mean", writes=decoding == "greedy")

    def prepare(self, task: Task) -> None:
        super().prepare(task)
        self.task_head.texts = self.fit.texts
        self.set_texts(self.fit.texts, self.fit.label_map)
        answers = dict(zip(task.labels, task.targets, strict=True))
        # with two texts per label, the answer of a demonstration would be ambiguous
        self.own_wording = None if self.fit.head == "merged" else Wording(task.wording, answers=answers)
