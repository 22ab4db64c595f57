"""Causal language models that answer prompts: all models that AutoModelForCausalLM loads."""

from itertools import takewhile
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, Cache, PretrainedConfig

from heedful.lightning_modules.heads import LABEL_TOKENS, TextHead
from heedful.lightning_modules.learned import LabelMap, Learned
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor import MOST_UNKNOWN, Batch, Capabilities, Predictor
from heedful.lightning_modules.pretrained import open_config, open_network, open_tokenizer, resolve, revision_of
from heedful.lightning_modules.prompted.prompt_processor import PromptProcessor
from heedful.lightning_modules.prompted.shared_prefix import PromptStates, SharedPrefix, pad, plain_scores
from heedful.records import CLASSIFICATION, CONTAINED, SPAN, Composed, Example, ModelError, SettingError, Task
from heedful.records.prompts import Prompt

EMPTY = ("N/A", "", "[MASK]")  # content-free inputs (Zhao et al. 2021)
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
        self.backbone, self.gguf_file, self.adapter = backbone, gguf_file, adapter
        self.max_length, self.longest_answer, self.share_prefix = max_length, longest_answer, share_prefix
        self.chat, self.decoding, self.score, self.calibrated = chat, decoding, score, calibrated
        self.capabilities = Capabilities(writes=decoding == "greedy", prompts="needed")
        self.network: nn.Module | None = None
        self._gguf = {} if gguf_file is None else {"gguf_file": gguf_file}

    @property
    def description(self) -> str:
        return self.backbone

    def open(self, task: Task) -> None:
        if not hasattr(self, "tokenizer"):
            self.folder = resolve(self.backbone, self.gguf_file or "model.safetensors")
            self.config = open_config(self.folder, **self._gguf)
            self.learned = Learned(revision=revision_of(self.folder))
            self.tokenizer = open_tokenizer(self.folder, self.config, **self._gguf)

    def prepare(self, task: Task) -> None:
        if task.kind not in (CLASSIFICATION, SPAN, CONTAINED):
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
        self.task_head = TextHead(self.score == "mean", self.capabilities.writes or task.kind.has_spans)

    def prompt_with(self, prompt: Prompt) -> None:
        """Set the prompt of later predictions.

        Raises:
            HeedfulError: The prompt is longer than the model reads, or the tokenizer cannot tell its answers apart.
        """
        chat = bool(self.tokenizer.chat_template) if self.chat is None else self.chat
        most = getattr(self.config.get_text_config(), "max_position_embeddings", None) or LONGEST_PROMPT
        if self.max_length is not None and self.max_length > most:
            raise SettingError(f"model.max_length {self.max_length} is more than the {most} positions of the model.")
        longest = self.longest_answer if prompt.task.kind.has_spans else LABEL_TOKENS
        self.processor = PromptProcessor(self.tokenizer, prompt, chat, self.max_length or most, longest)
        labels, ids = LabelMap.identity(prompt.task.labels), self.processor.answers
        self.task_head.prepare_texts(labels, prompt.answers, ids, self.tokenizer, longest=self.processor.longest)
        self.prompt = prompt
        self._ends: list[int] | None = None  # ids of the tokens that end a generated answer, from the first batch on

    def sent(self, example: Example) -> dict[str, Any]:
        return self.processor.sent(example)

    def configure_model(self) -> None:
        if self.network is None and self.task is not None:
            network = open_network(AutoModelForCausalLM, self.folder, adapter=self.adapter, **self._gguf)
            self.network = network.eval().requires_grad_(False)

    def start(self, examples: Composed, processes: Any) -> None:
        """Begin an evaluation: reset the counts of answers, and load the network unless a Trainer has loaded it."""
        super().start(examples, processes)
        self.configure_model()

    def probabilities(self, batch: Batch) -> Outputs | None:
        with torch.no_grad():
            return Outputs(self.logits(batch["inputs"]).float().softmax(dim=-1)) if batch["size"] else None

    def logits(self, inputs: dict[str, Any]) -> Tensor:
        """Compute the scores of all labels: [examples, labels], in the order of ``task.labels``."""
        return self.task_head.scores(self, inputs)

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        with torch.no_grad():
            return self.task_head.answer(self, inputs)

    def text_scores(self, inputs: dict[str, Any]) -> tuple[Tensor, tuple[PromptStates, Tensor] | None]:
        """Compute the log-likelihoods of the answers after the prompts: float32 [examples, answers].

        The second result is for :meth:`generated`: the states after the prompts, and whether greedy decoding generates
        each answer, bool [examples, answers]; None if no states were shared.
        """
        answers = self.processor.answers
        if self._ends is None:
            self._begin()
        states = None if self._shared is None else self._shared.read(inputs["rows"])
        if states is None:
            return plain_scores(self.network, self._whole(inputs), answers), None
        ids = [row[: len(answer)] for row, answer in zip(self.task_head.written, answers, strict=True)]
        scores, is_generated = self._shared.score(states, ids, self._stops)
        return scores, (states, is_generated)

    def _begin(self) -> None:
        """Read the prefix of all prompts, and the content-free inputs."""
        of_config, processor = self.network.generation_config.eos_token_id, self.processor
        several = of_config if isinstance(of_config, list) else [of_config]
        self._ends = sorted({end for end in (*several, self.tokenizer.eos_token_id) if end is not None})
        self._stops = torch.tensor(self._ends, device=self.network.device) if self.task_head.writes else None
        self.task_head.to(self.network.device)
        args = self.network, processor.prefix, self.task_head.longest
        self._shared = SharedPrefix(*args) if self.share_prefix else None
        if self.calibrated:
            texts = processor.ids([processor.text([content] * len(self.task.parts)) for content in EMPTY])
            scores = self.task_head.output_scores(plain_scores(self.network, texts, processor.answers))
            self.task_head.prior = scores.softmax(dim=-1).mean(dim=0).log()

    def generated(self, inputs: dict[str, Any], reused: tuple[PromptStates, Tensor] | None) -> list[str]:
        """Return the generated answers as texts; ``reused`` is the second result of :meth:`text_scores`."""
        if reused is None:  # whole prompts with padding on the left
            return self._generated(*pad(self._whole(inputs), self.network.device), None)
        states, is_generated = reused
        answers = self.tokenizer.batch_decode(self.processor.answers, skip_special_tokens=True)
        texts = [answers[row.index(True)] if True in row else None for row in is_generated.tolist()]
        if None not in texts:
            return texts
        rows = is_generated.any(dim=1).logical_not().nonzero()[:, 0]
        states.cache.batch_select_indices(rows)
        states.cache.crop(-1)  # generate() reads the last token again
        further = iter(self._generated(states.ids[rows], states.mask[rows], states.cache))
        return [next(further) if text is None else text for text in texts]

    def _whole(self, inputs: dict[str, Any]) -> list[list[int]]:
        """Return the token ids of the prompts, with the prefix of all."""
        return [[*self.processor.prefix, *row.tolist()] for row in inputs["rows"]]

    def _generated(self, ids: Tensor, mask: Tensor, cache: Cache | None) -> list[str]:
        settings = {"eos_token_id": self._ends or None, "pad_token_id": self.tokenizer.pad_token_id or 0}
        settings |= {"attention_mask": mask, "past_key_values": cache, "max_new_tokens": self.task_head.longest}
        written = self.network.generate(ids, **settings)[:, ids.shape[1] :].tolist()
        up_to_end = [list(takewhile(lambda token: token not in self._ends, row)) for row in written]
        return self.tokenizer.batch_decode(up_to_end, skip_special_tokens=True)
