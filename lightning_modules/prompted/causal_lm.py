"""Causal language models that answer prompts: all models that AutoModelForCausalLM loads."""

from itertools import takewhile
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, Cache, PretrainedConfig

from heedful.lightning_modules.learned import Learned
from heedful.lightning_modules.outputs import Outputs, label_numbers
from heedful.lightning_modules.predictor import MOST_UNKNOWN, Batch, Capabilities, Predictor
from heedful.lightning_modules.pretrained import open_config, open_network, open_tokenizer, resolve, revision_of
from heedful.lightning_modules.prompted.prompt_processor import PromptProcessor
from heedful.lightning_modules.prompted.shared_prefix import (
    PromptStates,
    pad,
    plain_scores,
    read_answers,
    read_prefix,
    read_prompts,
    width_limit,
)
from heedful.records import CLASSIFICATION, SPAN, Composed, Example, ModelError, SettingError, Task
from heedful.records.prompts import Prompt

EMPTY = ("N/A", "", "[MASK]")  # content-free inputs (Zhao et al. 2021)
LABEL_TOKENS = 8  # largest number of generated tokens for a label, if no label is longer
LONGEST_PROMPT = 4096  # default max_length of a model without a limit


class CausalLM(Predictor):
    """A causal language model that answers prompts, by generation or by the likelihoods of the answers.

    The prefix of all prompts, instruction and demonstrations, is read once. The model is not trained.

    Args:
        backbone: Hub id, folder, or ``package:MODULE/FOLDER``.
        gguf_file: File of quantised weights in the folder; they are converted to floating point.
        adapter: Folder of a LoRA adapter, whose weights are added.
        max_length: Largest number of tokens of a prompt with its answer; by default the limit of the model.
        chat: Whether to apply the tokenizer's chat template; by default, if it has one.
        decoding: "greedy" answers with the label that the generated text begins with, or with no label if there is
            none; "likelihood" answers with the most likely label. Probabilities are always normalised likelihoods.
        score: The score of a label is the log-likelihood of its text: of all tokens together (sum), or of a token on
            average (mean).
        calibrated: Divide the probabilities by the probabilities for content-free inputs (Zhao et al. 2021, "Calibrate
            before use").
        longest_answer: Largest number of tokens of a free-text answer; for labels, the limit is 8 or the length of the
            longest label.
        share_prefix: Read the prefix of all prompts once. Otherwise, and if the model has no suitable cache or a window
            of attention shorter than a prompt, whole prompts are read, once per label.
        max_unknown: Largest share of the tokens of the data that may be out of vocabulary.

    Attributes:
        network: The network, in eval mode; None before :meth:`configure_model`.
    """

    config: PretrainedConfig

    def __init__(
        self,
        backbone: str,
        gguf_file: str | None = None,
        adapter: str | None = None,
        max_length: int | None = None,
        chat: bool | None = None,
        decoding: Literal["greedy", "likelihood"] = "greedy",
        score: Literal["sum", "mean"] = "sum",
        calibrated: bool = False,
        longest_answer: int = 32,
        share_prefix: bool = True,
        max_unknown: float = MOST_UNKNOWN,
    ) -> None:
        super().__init__(max_unknown)
        self.backbone = backbone
        self.gguf_file = gguf_file
        self.adapter = adapter
        self.max_length = max_length
        self.chat = chat
        self.decoding = decoding
        self.capabilities = Capabilities(writes=decoding == "greedy", prompts="needed")
        self.score = score
        self.calibrated = calibrated
        self.longest_answer = longest_answer
        self.share_prefix = share_prefix
        self.network: nn.Module | None = None
        self._begin_anew()

    @property
    def description(self) -> str:
        return self.backbone

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return self.network.device

    @property
    def _gguf(self) -> dict[str, str]:
        return {} if self.gguf_file is None else {"gguf_file": self.gguf_file}

    def open(self, task: Task) -> None:
        if not hasattr(self, "tokenizer"):
            self.folder = resolve(self.backbone, self.gguf_file or "model.safetensors")
            self.config = open_config(self.folder, **self._gguf)
            self.learned = Learned(revision=revision_of(self.folder))
            self.tokenizer = open_tokenizer(self.folder, self.config, **self._gguf)

    def prepare(self, task: Task) -> None:
        if task.kind not in (CLASSIFICATION, SPAN):
            raise ModelError(
                f"model {type(self).__name__} answers with one label or a text, and the data are {task.kind}."
            )
        if self.config.is_encoder_decoder:
            raise ModelError(
                f"model.backbone {self.backbone} has an encoder and a decoder: it is a {self.config.model_type}. Take "
                "model Seq2Seq."
            )
        if self.chat and not self.tokenizer.chat_template:
            raise SettingError(f"model.chat: the tokenizer of {self.backbone} has no chat template. Leave it out.")

    def prompt_with(self, prompt: Prompt) -> None:
        """Set the prompt of later predictions.

        Raises:
            HeedfulError: The prompt is longer than the model reads, or the tokenizer cannot tell its answers apart.
        """
        chat = bool(self.tokenizer.chat_template) if self.chat is None else self.chat
        most = getattr(self.config.get_text_config(), "max_position_embeddings", None) or LONGEST_PROMPT
        if self.max_length is not None and self.max_length > most:
            raise SettingError(f"model.max_length {self.max_length} is more than the {most} positions of the model.")
        by_kind = self.longest_answer if prompt.task.kind is SPAN else LABEL_TOKENS
        self.longest = max(by_kind, *(len(self.tokenizer(answer)["input_ids"]) for answer in prompt.answers))
        self.prompt = prompt
        length = self.max_length or most
        self.processor = PromptProcessor(self.tokenizer, prompt, chat, length, self.longest)
        self._begin_anew()

    def sent(self, example: Example) -> dict[str, Any]:
        return self.processor.sent(example)

    def _begin_anew(self) -> None:
        self._prefix: Cache | None = None
        self._answers: list[Tensor] | None = None
        self._prior: Tensor | None = None

    def configure_model(self) -> None:
        if self.network is not None or self.task is None:
            return
        network = open_network(AutoModelForCausalLM, self.folder, adapter=self.adapter, **self._gguf)
        self.network = network.eval().requires_grad_(False)

    def start(self, examples: Composed, processes: Any) -> None:
        """Begin an evaluation: reset the counts of answers, and load the network unless a Trainer has loaded it."""
        super().start(examples, processes)
        self.configure_model()

    def probabilities(self, batch: Batch) -> Outputs | None:
        with torch.no_grad():
            return Outputs(self.logits(batch["inputs"]).float().softmax(dim=-1)) if batch["size"] else None

    def logits(self, inputs: dict[str, Tensor]) -> Tensor:
        """Compute the scores of all labels: [examples, labels], in the order of ``task.labels``."""
        return self._label_scores(self._score_answers(inputs)[0])

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        with torch.no_grad():
            likelihoods, read = self._score_answers(inputs)
            probs = None if self.task.kind is SPAN else self._label_scores(likelihoods).softmax(dim=-1)
            if probs is not None and not self.capabilities.writes:
                return Outputs(probs)
            answers = self.understood(self._generated_answers(inputs, read))
        finite = likelihoods.isfinite().all(dim=-1).tolist()
        answers = [answer if is_finite else None for answer, is_finite in zip(answers, finite, strict=True)]
        if probs is None:
            return Outputs(answers=answers)
        return Outputs(probs, torch.from_numpy(label_numbers(answers, self.task.labels)).to(probs.device))

    def _score_answers(self, inputs: dict[str, Any]) -> tuple[Tensor, tuple[PromptStates, Tensor] | None]:
        """Compute the log-likelihoods of the answers after the prompts.

        Returns:
            float32 [examples, answers]; and, for :meth:`_generated_answers`, the states after the prompts and whether
            greedy decoding generates each answer, bool [examples, answers], or None if no states were shared.
        """
        tokens = self.processor.tokens
        if self._answers is None:
            self._answers = [torch.tensor(answer, device=self.device) for answer in tokens.answers]
            self._lengths = torch.tensor([len(answer) for answer in tokens.answers], device=self.device)
            self._stops = torch.tensor(self._ends, device=self.device) if self.capabilities.writes else None
            self._limit = width_limit(self.network) - self.longest - 1 if self.share_prefix else 0
        if self._prefix is None and self._limit > 0:
            self._prefix = read_prefix(self.network, tokens.prefix)
        states = None
        if self._prefix is not None:
            states = read_prompts(self.network, self._prefix, tokens.prefix, inputs["rows"], self._limit)
        if states is None:
            return plain_scores(self.network, self._whole(inputs), tokens.answers), None
        scores, generated = read_answers(self.network, states, self._answers, self._stops)
        return scores, (states, generated)

    def _whole(self, inputs: dict[str, Any]) -> list[list[int]]:
        """Return the token ids of the prompts, with the prefix of all."""
        return [[*self.processor.tokens.prefix, *row.tolist()] for row in inputs["rows"]]

    def _label_scores(self, scores: Tensor) -> Tensor:
        """Convert log-likelihoods of answers to scores of labels, by the settings ``score`` and ``calibrated``."""
        if self.score == "mean":
            scores = scores / self._lengths
        return scores - self._content_free_log_probs() if self.calibrated else scores

    def _content_free_log_probs(self) -> Tensor:
        """Return the log of each label's mean probability for content-free inputs such as "N/A": float32 [labels]."""
        if self._prior is None:
            questions = [self.prompt.question([content] * len(self.task.parts)) for content in EMPTY]
            tokens = self.processor.tokens
            scores = plain_scores(self.network, tokens.ids([tokens.text(q) for q in questions]), tokens.answers)
            scores = scores / self._lengths if self.score == "mean" else scores
            self._prior = scores.softmax(dim=-1).mean(dim=0).log()
        return self._prior

    def _generated_answers(self, inputs: dict[str, Any], read: tuple[PromptStates, Tensor] | None) -> list[str]:
        """Return the generated answers as texts; ``read`` is the second result of :meth:`_score_answers`."""
        if read is None:  # without a shared prefix: whole prompts with padding on the left
            return self._generated(*pad(self._whole(inputs), self.device), None)
        states, is_generated = read
        answer_of = [row.index(True) if True in row else -1 for row in is_generated.tolist()]
        answers = self.tokenizer.batch_decode(self.processor.tokens.answers, skip_special_tokens=True)
        texts = [answers[k] if k >= 0 else "" for k in answer_of]
        if unfinished := [i for i, answer in enumerate(answer_of) if answer < 0]:
            rows = is_generated.any(dim=1).logical_not().nonzero()[:, 0]
            states.cache.batch_select_indices(rows)
            states.cache.crop(-1)  # generate() reads the last token again
            further = self._generated(states.ids[rows], states.mask[rows], states.cache)
            for i, text in zip(unfinished, further, strict=True):
                texts[i] = text
        return texts

    def _generated(self, ids: Tensor, mask: Tensor, cache: Cache | None) -> list[str]:
        settings = {"max_new_tokens": self.longest, "past_key_values": cache}
        settings |= {"eos_token_id": self._ends or None, "pad_token_id": self.tokenizer.pad_token_id or 0}
        written = self.network.generate(ids, attention_mask=mask, **settings)[:, ids.shape[1] :].tolist()
        up_to_end = [list(takewhile(lambda token: token not in self._ends, row)) for row in written]
        return self.tokenizer.batch_decode(up_to_end, skip_special_tokens=True)

    @property
    def _ends(self) -> list[int]:
        """Ids of the tokens that end a generated answer."""
        of_config = self.network.generation_config.eos_token_id
        several = of_config if isinstance(of_config, list) else [of_config]
        return sorted({token for token in (*several, self.tokenizer.eos_token_id) if token is not None})
