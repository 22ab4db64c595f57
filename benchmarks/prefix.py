"""What sharing a prompt's beginning saves: Heedful, transformers without sharing, and transformers' DecisionPipeline.

python -m benchmarks.prefix --data DIR/mnli --tuples 3 --examples 32 --threads 1

heedful                            CausalLM: the beginning read once, every query once, all labels behind it.
heedful without its beginning      the same, where the beginning has been read before.
transformers                    for each label, whole prompts with it, in batches by length; only the logits that are
                                needed are computed.
transformers, Heedful's layers     the same on Heedful's network.
DecisionPipeline                transformers' own pipeline for choices: whole prompts one by one, one letter a label. It
                                asks in other words, so its probabilities are its own.
"""

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import pipeline

from benchmarks import harness
from benchmarks.harness import Spread, arguments, interleave, machine_line, parse, quiet, ratio, save, table, verdict
from heedful.assembly.config import load_model
from heedful.datamodules.base.sampler import evaluation_batches
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import CausalLM
from heedful.records import Composed

FASTER, EQUAL = 5.0, 1e-4


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a call takes, and what it returns."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


class Comparison:
    """The variants over one model, one prompt and the same examples.

    Args:
        module: A model that has been given the prompt.
        data: The data module, set up.
        batch_size: Prompts in a batch, of all variants.
    """

    def __init__(self, module: CausalLM, data: harness.PairedText, batch_size: int) -> None:
        self.module, self.data, self.batch_size = module, data, batch_size
        self.stock = harness.stock(copy.deepcopy(module.network)).eval()
        self.examples = Composed.whole(data.pool)
        tokens, parts = module.processor.tokens, data.task.parts
        columns = zip(*(data.pool.column(f"parts.{part}") for part in parts), strict=True)
        self.questions = [module.prompt.question(values) for values in columns]
        texts = [tokens.text(question) for question in self.questions]
        self.whole = module.tokenizer(texts, add_special_tokens=False)["input_ids"]
        self.decide = pipeline("decision", model=self.stock, tokenizer=module.tokenizer)

    def batches(self, lengths: np.ndarray) -> list[np.ndarray]:
        return evaluation_batches(lengths, np.arange(len(lengths)), self.batch_size)

    def heedful(self, warm: bool = False) -> tuple[float, Tensor]:
        if not warm:
            self.module.prompt_with(self.module.prompt)
        return timed(self._scores)

    @torch.inference_mode()
    def _scores(self) -> Tensor:
        processor = self.module.processor
        batches = self.batches(processor.lengths(self.examples))
        scores = torch.empty(len(self.whole), len(self.data.task.labels))
        for batch, inputs in zip(batches, processor.batches(self.examples, batches), strict=True):
            scores[batch] = self.module.logits(inputs)
        return scores

    def plain(self, network: nn.Module) -> tuple[float, Tensor]:
        return timed(lambda: self._plain(network))

    @torch.inference_mode()
    def _plain(self, network: nn.Module) -> Tensor:
        answers = self.module.processor.tokens.answers
        scores = torch.empty(len(self.whole), len(answers))
        for label, answer in enumerate(answers):
            rows = [[*text, *answer] for text in self.whole]
            for batch in self.batches(np.array([len(row) for row in rows])):
                width = max(len(rows[i]) for i in batch)
                mask = torch.tensor([[0] * (width - len(rows[i])) + [1] * len(rows[i]) for i in batch])
                ids = torch.tensor([[0] * (width - len(rows[i])) + rows[i] for i in batch])
                positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
                given = {"input_ids": ids, "attention_mask": mask, "position_ids": positions, "use_cache": False}
                logits = network(**given, logits_to_keep=len(answer) + 1).logits[:, :-1].log_softmax(dim=-1)
                scores[batch, label] = logits.gather(2, torch.tensor(answer).expand(len(batch), -1)[:, :, None]).sum(
                    dim=(1, 2)
                )
        return scores

    def pipeline(self) -> tuple[float, None]:
        prompt = self.module.prompt
        shown = "\n\n".join(f"{asked} {answer}" for asked, answer in prompt.shown)
        choice = {"type": "choice", "instructions": f"{prompt.wording.instruction}\n\n{shown}"}
        choice["criteria"] = dict.fromkeys(prompt.answers)
        requests = [{"state": question, "questions": {"answer": choice}} for question in self.questions]
        return timed(lambda: [self.decide(request) for request in requests])[0], None


def summary(runs: Mapping[str, Sequence[tuple[float, Tensor | None]]]) -> dict[str, Any]:
    """What is reported: seconds of every variant, ratios to Heedful, and how far probabilities lie apart."""
    seconds = {name: [clock for clock, _ in each] for name, each in runs.items()}
    own = runs["heedful"][-1][1].softmax(dim=-1)
    apart = {
        name: float((each[-1][1].softmax(dim=-1) - own).abs().max())
        for name, each in runs.items()
        if each[-1][1] is not None and name != "heedful"
    }
    ratios = {name: ratio(each, seconds["heedful"]) for name, each in seconds.items() if name != "heedful"}
    return {"seconds": {name: Spread.of(each) for name, each in seconds.items()}, "ratios": ratios, "apart": apart}


def report(measured: Mapping[str, Any]) -> None:
    """Print the tables and the targets."""
    rows = [
        [name, spread.text(1), measured["ratios"][name].text() if name in measured["ratios"] else ""]
        for name, spread in measured["seconds"].items()
    ]
    print(table("Labels of all examples scored", [["", "seconds [min, max]", "over heedful, in a repeat"], *rows]))
    for name in ("transformers", "transformers, Heedful's layers", "DecisionPipeline"):
        print(verdict(f"{name} over heedful", measured["ratios"][name].median, FASTER))
    for name, largest in measured["apart"].items():
        print(f"{name}: probabilities differ by at most {largest:.1e} ({'met' if largest <= EQUAL else 'NOT met'})")


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = arguments(__doc__.splitlines()[0], examples=32, repeats=3)
    parser.add_argument("--tuples", type=int, default=3, help="of demonstrations")
    parser.add_argument("--batch-size", type=int, default=8, help="of prompts")
    options = parse(parser, argv)
    with quiet():
        data = harness.mnli(options.data, max_validation=options.examples)
        data.setup("validate")
        module = load_model(options.model or "smollm2", decoding="likelihood")
        module.prepare(data.task)
        module.prompt_with(Prompting(tuples=options.tuples).prompts(data)[0])
        module.configure_model()
        comparison = Comparison(module, data, options.batch_size)
        comparison.heedful()  # warms up
        variants = {
            "heedful": comparison.heedful,
            "heedful without its beginning": lambda: comparison.heedful(warm=True),
            "transformers": lambda: comparison.plain(comparison.stock),
            "transformers, Heedful's layers": lambda: comparison.plain(module.network),
            "DecisionPipeline": comparison.pipeline,
        }
        measured = summary(interleave(variants, options.repeats))
    tokens = len(module.processor.tokens.prefix), float(module.processor.lengths(comparison.examples).mean())
    print(machine_line())
    print(f"{len(data.pool)} prompts; {tokens[0]:,} tokens shared, {tokens[1]:.0f} of each; fp32.\n")
    report(measured)
    return save(options, measured | {"n": len(data.pool), "shared": tokens[0], "own": tokens[1]})


if __name__ == "__main__":
    main()
