"""Tests of causal language models: shared prefixes do not change scores or generated texts."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from pytorch_lightning.plugins.precision import HalfPrecision
from torch.nn.utils.rnn import pad_sequence
from transformers import (
    AutoModelForCausalLM,
    DogeConfig,
    GPTNeoConfig,
    Lfm2Config,
    LlamaConfig,
    MistralConfig,
    Qwen2Config,
)

from heedful.lightning_modules import CausalLM
from heedful.lightning_modules.prompted.shared_prefix import NO_WINDOW, plain_scores, split_beginnings, width_limit
from heedful.records import SPAN, Example, Task
from heedful.records.prompts import Prompt, Wording

from causal import CONFIGS, EXAMPLES, TASK, prompt, save
from tiers import first_tier


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {kind: save(tmp_path_factory.mktemp(kind), kind) for kind in CONFIGS}


def model(folder, asked=None, **settings):
    module = CausalLM(str(folder), **settings)
    module.bind(TASK if asked is None else asked.task)
    module.prompt_with(prompt() if asked is None else asked)
    module.configure_model()
    return module


SHARING = [
    Example(f"s/{i}", {"premise": premise, "hypothesis": hypothesis}, None)
    for i, (premise, hypothesis) in enumerate(
        [
            ("Two dogs run over a wide green field.", "They run."),
            ("Nobody has seen the old woman since the feast, and her cat is gone.", "A cat is gone, they say."),
            ("Two dogs run over a wide green field.", "They sleep on a sofa, both of them."),
            ("It rains.", ""),
            ("Nobody has seen the old woman since the feast, and her cat is gone.", "Yes."),
            ("Two dogs run over a wide green field.", "Cats!"),
            ("Two dogs run over a wide green field.", "They run."),
        ]
    )
]


def by_hand(module, example):
    """Log-likelihood of each answer, from one forward pass per text and answer."""
    asked = module.prompt
    text = module.processor.text([example.parts[part] for part in asked.task.parts])
    before = module.tokenizer(text, add_special_tokens=False)["input_ids"]
    scores = []
    for answer in asked.answers:
        space = "" if module.tokenizer.chat_template and module.chat is not False else " "
        whole = module.tokenizer(f"{text}{space}{answer}", add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            logits = module.network(torch.tensor([whole])).logits[0].double().log_softmax(dim=-1)
        scores.append(sum(logits[k - 1, whole[k]].item() for k in range(len(before), len(whole))))
    return scores


@pytest.mark.parametrize("kind", first_tier(2, CONFIGS))
@pytest.mark.parametrize(
    ("demonstrations", "chat"), [pytest.param(0, True, marks=pytest.mark.slow), (2, True), (2, False)]
)
def test_scores_are_those_of_whole_texts(folders, kind, demonstrations, chat):
    module = model(folders[kind], prompt(demonstrations), chat=chat)
    with torch.no_grad():
        scores = module.logits(module.processor(EXAMPLES))
    expected = np.array([by_hand(module, example) for example in EXAMPLES])
    assert scores.numpy() == pytest.approx(expected, abs=2e-4)
    assert np.ptp(expected, axis=1).min() > 0.01  # otherwise, wrong scores would pass
    plain = model(folders[kind], prompt(demonstrations), chat=chat, share_prefix=False)
    with torch.no_grad():
        assert plain.logits(plain.processor(EXAMPLES)).numpy() == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("kind", first_tier(2, CONFIGS))
@pytest.mark.parametrize("demonstrations", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_premises_that_a_batch_shares_are_read_once(folders, kind, demonstrations, monkeypatch):
    module = model(folders[kind], prompt(demonstrations))
    order = np.argsort(-module.encode(SHARING).order, kind="stable")
    near = [SHARING[i] for i in order]
    assert [example.parts["premise"] for example in near] == sorted(
        (example.parts["premise"] for example in near), key=len, reverse=True
    )
    inputs = module.processor(near)
    beginnings, of = split_beginnings(inputs["rows"])
    assert [of.tolist().index(k) for k in of] == [0, 0, 2, 2, 2, 2, 6]  # one beginning per premise
    assert max(map(len, inputs["rows"])) < 2 * max(map(len, beginnings))
    with torch.no_grad():
        scores = module.logits(inputs)
    expected = np.array([by_hand(module, example) for example in near])
    assert scores.numpy() == pytest.approx(expected, abs=2e-4)
    plain = model(folders[kind], prompt(demonstrations), share_prefix=False)
    for asked in (module, plain):
        asked.prompt_with(prompt(demonstrations))
    assert written(module, inputs) == written(plain, inputs)


def written(module, inputs):
    with torch.no_grad():
        return module.generated(inputs, module.text_scores(inputs)[1])


@pytest.mark.parametrize("kind", first_tier(2, CONFIGS))
def test_what_is_written_is_what_generate_writes(folders, kind):
    module = model(folders[kind])
    network = AutoModelForCausalLM.from_pretrained(folders[kind]).eval()
    for text, example in zip(written(module, module.processor(EXAMPLES)), EXAMPLES, strict=True):
        whole = module.processor.text([example.parts[part] for part in TASK.parts])
        ids = torch.tensor([module.tokenizer(whole, add_special_tokens=False)["input_ids"]])
        expected = network.generate(ids, max_new_tokens=8, do_sample=False)[0, ids.shape[1] :]
        assert text == module.tokenizer.decode(expected, skip_special_tokens=True)


@pytest.mark.parametrize(("kind", "window"), [("mistral", "sliding_window"), ("gpt_neo", "window_size")])
@pytest.mark.parametrize("room", [1, 0, -200])
def test_prompts_are_read_whole_where_a_window_is_shorter(folders, kind, window, room, tmp_path):
    """Padding between prefix and suffix would push tokens out of the window."""
    module = model(folders[kind])
    inputs = module.processor(SHARING)
    with torch.no_grad():
        columns = module.text_scores(inputs)[1][0].ids.shape[1] + module.task_head.longest
    folder = shutil.copytree(folders[kind], tmp_path / kind)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {window: columns + room}))
    module, plain = model(folder), model(folder, share_prefix=False)
    with torch.no_grad():
        scores, read = module.text_scores(inputs)
        expected = np.array([by_hand(module, example) for example in SHARING])
    assert (read is not None) == (room == 1)
    assert scores.numpy() == pytest.approx(expected, abs=2e-4)
    assert written(module, inputs) == written(plain, inputs)


def test_a_model_without_positions_is_read_whole(tmp_path):
    module = model(save(tmp_path / "bloom", "bloom"))
    with torch.no_grad():
        scores, read = module.text_scores(module.processor(EXAMPLES))
    assert read is None
    assert scores.numpy() == pytest.approx(np.array([by_hand(module, example) for example in EXAMPLES]), abs=2e-4)


@pytest.mark.parametrize(
    ("config", "columns"),
    [
        (LlamaConfig(num_hidden_layers=2), NO_WINDOW),
        (MistralConfig(num_hidden_layers=2, sliding_window=77), 77),
        (Qwen2Config(num_hidden_layers=2, sliding_window=77, use_sliding_window=False), NO_WINDOW),
        (GPTNeoConfig(num_layers=2, attention_types=[[["global", "local"], 1]], window_size=77), 77),
        (DogeConfig(num_hidden_layers=2, keep_window_size=77), 77),
        (Lfm2Config(num_hidden_layers=2, layer_types=["conv", "full_attention"]), 0),
    ],
)
def test_states_that_are_not_attentions_are_not_shared(config, columns):
    network = SimpleNamespace(config=config, forward=lambda input_ids, position_ids: None)
    assert width_limit(network) == columns
    network.forward = lambda input_ids: None
    assert width_limit(network) == 0


def test_a_model_without_a_token_that_ends_a_text_writes_to_the_last(folders):
    texts = []
    for share in (True, False):
        module = model(folders["llama"], share_prefix=share)
        module.tokenizer.eos_token = module.network.generation_config.eos_token_id = None
        texts.append(written(module, module.processor(EXAMPLES)))
    assert texts[0] == texts[1]


def taught(module, texts):
    """Train the network until it generates these texts for EXAMPLES."""
    processor, end = module.processor, module.tokenizer.eos_token_id
    begins = processor.ids([processor.text([*e.parts.values()]) for e in EXAMPLES])
    written = [module.tokenizer(text)["input_ids"] + [end] for text in texts]
    rows = [torch.tensor(begin + text) for begin, text in zip(begins, written, strict=True)]
    targets = [torch.tensor([-100] * len(begin) + text) for begin, text in zip(begins, written, strict=True)]
    ids = pad_sequence(rows, batch_first=True)
    labels = pad_sequence(targets, batch_first=True, padding_value=-100)
    optimizer = torch.optim.Adam(module.network.requires_grad_(True).parameters(), lr=1e-2)
    for _ in range(40):  # padding follows the texts: a causal model needs no mask
        optimizer.zero_grad()
        module.network(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
    module.network.requires_grad_(False)


def test_answers_end_where_the_model_ends_them(folders):
    texts = ["Not entailment", "Maybe", "Neutral", "Neutral, so"]
    module, plain = (model(folders["llama"], prompt(0), share_prefix=share) for share in (True, False))
    taught(module, texts)
    plain.network.load_state_dict(module.network.state_dict())
    for asked in (module, plain):
        inputs = asked.processor(EXAMPLES)
        assert written(asked, inputs) == texts
        assert asked.answer(inputs).answers.tolist() == [2, -1, 1, 1]


def test_probabilities_by_setting(folders):
    """Default, without shared prefix, likelihood only, mean over tokens, and calibrated."""
    own, plain, likely, mean, calibrated = (
        model(folders["llama"], **settings)
        for settings in (
            {},
            {"share_prefix": False},
            {"decoding": "likelihood"},
            {"score": "mean"},
            {"calibrated": True},
        )
    )
    first, second, third = (module.answer(module.processor(EXAMPLES)) for module in (own, plain, likely))
    assert first.answers.tolist() == second.answers.tolist()
    assert first.probs.numpy() == pytest.approx(second.probs.numpy(), abs=1e-5)
    assert (third.answers, likely.capabilities.writes) == (None, False)
    assert third.probs.numpy() == pytest.approx(first.probs.numpy(), abs=1e-6)
    lengths = torch.tensor([len(answer) for answer in own.processor.answers])
    assert len(set(lengths.tolist())) > 1
    nothing = [Example(f"n/{i}", dict.fromkeys(TASK.parts, text), None) for i, text in enumerate(("N/A", "", "[MASK]"))]
    with torch.no_grad():
        scores, of_mean = (module.logits(module.processor(EXAMPLES)) for module in (own, mean))
        before = own.logits(own.processor(nothing)).softmax(dim=-1).mean(dim=0)
        after = calibrated.logits(calibrated.processor(EXAMPLES)).softmax(dim=-1)
    assert of_mean.numpy() == pytest.approx((scores / lengths).numpy(), abs=1e-5)
    expected = first.probs / before
    assert after.numpy() == pytest.approx((expected / expected.sum(dim=1, keepdim=True)).numpy(), abs=1e-4)


def test_a_label_of_many_tokens_can_be_written_whole(folders):
    long = "an answer of very many words indeed, which goes on and on"
    module = model(folders["llama"], prompt(0, Wording(prompt().wording.question, "", {"neutral": long})))
    assert module.task_head.longest == len(module.tokenizer(long)["input_ids"]) > 8
    assert model(folders["llama"], prompt(0)).task_head.longest >= 8


class Scripted(CausalLM):
    """A causal model that generates given texts."""

    texts = ()

    def generated(self, inputs, reused):
        return list(self.texts)


def scripted(folder, asked, texts, **settings):
    module = Scripted(str(folder), **settings)
    module.bind(asked.task)
    module.prompt_with(asked)
    module.configure_model()
    module.texts = texts
    return module


def test_what_written_texts_mean_and_a_network_that_breaks_down(folders):
    module = scripted(folders["llama"], prompt(), ("Entailment.", " neutral\n\nPremise", "", "Maybe"))
    assert module.answer(module.processor(EXAMPLES)).answers.tolist() == [0, 1, -1, -1]
    module.network.get_output_embeddings().weight.data.fill_(torch.nan)
    assert module.answer(module.processor(EXAMPLES)).answers.tolist() == [-2] * 4
    task = Task(SPAN, ("context", "question"), (), "")
    asked = Prompt(Wording("Text: {context}\nQuestion: {question}\nAnswer:", "Read."), task)
    module = scripted(folders["llama"], asked, ("red", "I don't know.", " blue\nmore"), longest_answer=5)
    examples = [Example(f"q/{i}", {"context": "It is red.", "question": "Color?"}, "[]") for i in range(3)]
    assert module.answer(module.processor(examples)).answers == ["red", "", "blue"]
    own = model(folders["llama"], asked, longest_answer=5)
    assert all(isinstance(text, str) for text in own.answer(own.processor(examples)).answers)


@pytest.mark.parametrize("kind", first_tier(2, CONFIGS))
def test_half_precision(folders, kind):
    """Lightning runs bf16-true with a default dtype, which also applies to new tensors."""
    module, half = model(folders[kind]), model(folders[kind])
    plugin = HalfPrecision("bf16-true")
    half.network = plugin.convert_module(half.network)
    expected = module.answer(module.processor(EXAMPLES))
    with plugin.forward_context():
        outputs = half.answer(half.processor(EXAMPLES))
    assert outputs.probs.dtype == torch.float32
    assert outputs.probs.numpy() == pytest.approx(expected.probs.numpy(), abs=0.05)


def test_several_prompts_one_after_the_other(folders):
    module, again = model(folders["llama"], prompt(2)), model(folders["llama"], prompt(0))
    with torch.no_grad():
        first = module.logits(module.processor(EXAMPLES))
        module.prompt_with(prompt(0))
        second = module.logits(module.processor(EXAMPLES))
        assert torch.equal(second, again.logits(again.processor(EXAMPLES)))
    assert not torch.allclose(first, second)


def test_scores_of_whole_texts_alone():
    """``plain_scores``, the reference of other tests, on a network that always predicts the next number."""

    class Next(torch.nn.Module):
        device = torch.device("cpu")

        def forward(self, input_ids, attention_mask, use_cache):
            logits = torch.zeros(*input_ids.shape, 5)
            return type("Outputs", (), {"logits": logits.scatter(2, ((input_ids + 1) % 5)[:, :, None], 10.0)})

    scores = plain_scores(Next(), [[0, 1], [2]], [[2, 3], [3]])
    sure, unsure = 10 - np.log(np.exp(10) + 4), -np.log(np.exp(10) + 4)
    assert scores.numpy() == pytest.approx(np.array([[2 * sure, unsure], [unsure + sure, sure]]), abs=1e-5)
