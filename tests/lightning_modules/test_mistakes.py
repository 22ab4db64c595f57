"""Tests that models and settings that do not fit are refused; the message names the setting or the part."""

import json
import shutil
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import pytest
from families import FAMILIES
from noise import ONE, TWO
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

from benchmarks.bare_runs import fitted
from heedful.lightning_modules import BlipAnswers, CausalLM, Endpoint, LateFusion, Reader, Seq2Seq, Vilt
from heedful.lightning_modules.processors.processor import Statistics
from heedful.lightning_modules.prompted.endpoint import BatchEndpoint
from heedful.lightning_modules.prompted.requests.replies import WAYS
from heedful.lightning_modules.transformers_pair import TransformersPair
from heedful.records import CLASSIFICATION, SOFT, SPAN, DataError, ModelError, SettingError, Task

from causal import EXAMPLES, TASK, prompt, save
from refusals import refused

TEXTS = Task(CLASSIFICATION, ("a", "b"), ("x", "y"))
THREE = Task(CLASSIFICATION, ("a", "b", "c", "t"), ("x", "y"), pictures=("a", "b", "c"))


def changed(zoo, name, folder, **config):
    """Copy a backbone, and change its config."""
    copy = Path(shutil.copytree(zoo.backbone(name), folder / "copy"))
    (copy / "config.json").write_text(json.dumps(json.loads((copy / "config.json").read_text()) | config))
    return copy


def without_images(zoo, folder):
    copy = changed(zoo, "Blip", folder)
    (copy / "preprocessor_config.json").unlink()
    return zoo.model("Blip", copy)


def causal(folder, has_chat=True, task=TASK, **settings):
    model = CausalLM(str(save(folder / "llama", chat=has_chat)), **settings)
    model.bind(task)
    model.prompt_with(prompt())
    model.configure_model()


def batch_with(response):
    endpoint = BatchEndpoint(lambda request: (response, "line 3"), name="tiny")
    endpoint.bind(TASK)
    endpoint.prompt_with(prompt())
    endpoint.answer(endpoint.processor(EXAMPLES))


def pair():
    sizes = {"hidden_size": 8, "num_attention_heads": 1, "num_hidden_layers": 1, "intermediate_size": 8}
    return TransformersPair(BertForSequenceClassification(BertConfig(**sizes)), BertTokenizer())


def unknown(zoo, share):
    zoo.model("Encoder").require_known(Statistics(unknown=share), "them")


MISTAKES = {  # call with a zoo and a folder; error and facts in the message
    "labels": (
        lambda z, f: z.model("Encoder", z.exported("Encoder"), labels=["a", "b"]),
        (SettingError, "labels", "2 names", "3 outputs"),
    ),
    "outputs of one name": (
        lambda z, f: z.model("Encoder", z.exported("Encoder"), trains=False, labels=["a", "b", "b"]).require_head(),
        (ModelError, "a, b, b"),
    ),
    "a T5 in an encoder": (
        lambda z, f: z.model("Encoder", z.backbone("Seq2Seq"), trains=False).require_head(),
        (ModelError, "model Seq2Seq"),
    ),
    "a BERT that writes": (
        lambda z, f: z.model("Seq2Seq", z.backbone("Encoder")),
        (ModelError, "bert", "model Encoder"),
    ),
    "answers that look alike": (
        lambda z, f: z.model("Seq2Seq", task=Task(CLASSIFICATION, ("a", "b"), ("狗", "猫"))),
        (ModelError, "狗, 猫"),
    ),
    "no room": (lambda z, f: z.model("Encoder", max_length=4), (ModelError, "max_length 4")),
    "unknown tokens": (lambda z, f: unknown(z, 0.21), (ModelError, "21 % of the tokens of them", "20 %")),
    "no end of a training": (
        lambda z, f: fitted(z.unbuilt("Encoder"), z.data("Encoder"), [], accelerator="cpu", max_epochs=-1),
        (SettingError, "max_epochs"),
    ),
    "no weights to train": (
        lambda z, f: fitted(
            z.unbuilt("Encoder", z.trained("Encoder").folder / "bare"), z.data("Encoder"), [], accelerator="cpu"
        ),
        (ModelError, "bare"),
    ),
    "no weights to measure": (
        lambda z, f: z.measured("Encoder", z.unbuilt("Encoder", z.trained("Encoder").folder / "bare")),
        (ModelError, "bare"),
    ),
    "no answer": (lambda z, f: Reader("x", overlap=8, longest_answer=0), (SettingError, "longest_answer 0")),
    "a long answer": (lambda z, f: Reader("x", overlap=8, longest_answer=9), (SettingError, "overlap 8")),
    "overlap": (lambda z, f: z.model("Reader", overlap=20), (SettingError, "overlap 20", 24)),
    "a third part": (
        lambda z, f: z.model("Reader", task=Task(SPAN, ("context", "question", "more"), ())),
        (ModelError, "model Reader", "more", "model t5"),
    ),
    "vision": (lambda z, f: z.model("LateFusion", vision="no_such_net"), (SettingError, "vision no_such_net")),
    "image_size": (lambda z, f: z.model("LateFusion", image_size=[224]), (SettingError, "image_size [224]")),
    "pictures for texts": (
        lambda z, f: z.model("Encoder", task=TWO),
        (ModelError, "model Encoder", "left", "model timm"),
    ),
    "texts for pictures": (lambda z, f: z.model("LateFusion", task=TEXTS), (ModelError, "model LateFusion", "a, b")),
    "two texts": (
        lambda z, f: Vilt("x").require_parts(Task(CLASSIFICATION, ("i", "a", "b"), ("x",), pictures=("i",))),
        (ModelError, "model Vilt", "a, b"),
    ),
    "three pictures": (lambda z, f: z.model("Blip", task=THREE), (ModelError, "model Blip", "at most 2", "a, b, c")),
    "two pictures": (
        lambda z, f: z.model("BlipAnswers", task=TWO),
        (ModelError, "model BlipAnswers", "at most 1", "left, right"),
    ),
    "pictures that were not learned": (
        lambda z, f: z.model("Blip", z.exported("Blip"), replace(TWO, labels=ONE.labels, default_label=None)),
        (ModelError, "1 picture,", "have 2"),
    ),
    "a BERT that sees": (lambda z, f: z.model("Blip", z.backbone("Encoder")), (ModelError, "bert", "model Blip")),
    "no image processor": (without_images, (ModelError, "copy")),
    "positions of a ViLT": (lambda z, f: z.model("Vilt", max_length=41), (ModelError, "40 positions", 41)),
    "positions of a BLIP": (lambda z, f: z.model("Blip", max_length=129), (ModelError, "128 positions", 129)),
    "no decoder": (lambda z, f: z.model("BlipAnswers", z.exported("Blip")), (ModelError, "(text_decoder.")),
    "a long label": (
        lambda z, f: z.model("BlipAnswers", task=replace(ONE, labels=("red " * 200, "no"), default_label=None)),
        (ModelError, "201 tokens"),
    ),
    "rank": (lambda z, f: BlipAnswers("x", rank=0), (SettingError, "rank 0")),
    "positions of a llama": (lambda z, f: causal(f, max_length=4000), (SettingError, "max_length 4000", "2048")),
    "no such file": (lambda z, f: causal(f, gguf_file="nothing.gguf"), (ModelError, "nothing.gguf")),
    "no chat template": (lambda z, f: causal(f, has_chat=False, chat=True), (SettingError, "chat", "llama")),
    "several right labels": (lambda z, f: causal(f, task=replace(TASK, kind=SOFT)), (ModelError, "CausalLM", "soft")),
    "a T5 in context": (
        lambda z, f: CausalLM(z.backbone("Seq2Seq")).bind(TASK),
        (ModelError, "Seq2Seq"),
    ),
    "an endpoint without a name": (lambda z, f: Endpoint().bind(TASK), (SettingError, "name")),
    "an endpoint without labels": (
        lambda z, f: Endpoint("tiny").bind(replace(TASK, labels=(), default_label=None)),
        (ModelError, "Endpoint", "labels"),
    ),
    "read": (lambda z, f: Endpoint("tiny", read="wrtten"), (SettingError, "wrtten", "written")),
    "a key of an endpoint": (
        lambda z, f: Endpoint("tiny", extra={"password": "x"}),
        (SettingError, "password"),
    ),
    "a batch without an answer": (lambda z, f: batch_with({}), (DataError, "line 3", "0 choices")),
    "a pair without labels": (lambda z, f: pair().bind(z.task("Reader")), (ModelError, "(model, tokenizer)", SPAN)),
    "first tokens of texts": (
        lambda z, f: WAYS["first_token"]({}, True).require(prompt(), Task(SPAN, TASK.parts, ())),
        (ModelError, "read first_token", "read written"),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_refused(zoo, name, tmp_path):
    call, (kind, *facts) = MISTAKES[name]
    with refused(kind, *facts):
        call(zoo, tmp_path)


NUMBERS = {
    "learning_rate": (0.0, -1e-5, nan, inf),
    "weight_decay": (-0.1, nan, inf),
    "warmup": (-0.1, 1.1, nan),
    "max_unknown": (-0.1, 1.5, nan),
}
OF_ENDPOINTS = {"concurrency": (0,), "max_tokens": (0,), "max_requests": (-1,), "temperature": (-1.0, nan)}
OF_ENDPOINTS |= {"timeout": (0.0,), "prices": ([1.0], [-1.0, 2.0])}


@pytest.mark.parametrize("setting", [*NUMBERS, *OF_ENDPOINTS])
def test_numbers_out_of_range_are_refused(setting):
    kinds = (Seq2Seq, LateFusion) if setting in NUMBERS else (Endpoint,)
    for value in (NUMBERS | OF_ENDPOINTS)[setting]:
        for kind in kinds:
            with refused(SettingError, f"{setting} {value}"):
                kind("x", **{setting: value})


@pytest.mark.parametrize("entry", ["model", "messages", "prompt", "stream", "api_key", "extra_headers", "AUTH_TOKEN"])
def test_what_is_asked_and_keys_are_no_further_entries_of_a_request(entry):
    for given in ({entry: "x-123"}, {entry: None}):
        with refused(SettingError, f"extra has the entry {entry}") as caught:
            Endpoint("tiny", extra=given)
        assert "x-123" not in str(caught.value)
    Endpoint("tiny", extra={"max_tokens": 3, "stop_token_ids": [1], "chat_template_kwargs": {"model": "x"}})


@pytest.mark.parametrize("name", FAMILIES)
def test_data_of_another_kind_are_refused_before_the_backbone_is_read(zoo, name):
    task = zoo.task(name)
    other = replace(task, kind=CLASSIFICATION if task.kind is SPAN else SPAN, default_label=None)
    with refused(ModelError, f"model {FAMILIES[name].kind.__name__}", task.kind, other.kind):
        zoo.unbuilt(name, "nowhere").bind(other)
