"""The contract of all models: bind, encode, predict, train, save, export and load."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from families import CASES, FAMILIES, LABELLED, assert_alike, predicted
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from heedful.lightning_modules import CausalLM, Endpoint
from heedful.lightning_modules.function import Function
from heedful.lightning_modules.predictor_module import module_of, predictor_of
from heedful.lightning_modules.prompted.endpoint import BatchEndpoint
from heedful.lightning_modules.registry import TABLE
from heedful.lightning_modules.transformers_pair import TransformersPair
from heedful.records import Composed, Example, ModelError, Picture
from heedful.records.prompts import Prompt, Wording

from causal import save
from fake_server import FakeServer, question_of, share_of, written
from refusals import refused
from tiers import first_tier

BATCHES = [[2, 0], [5], [1, 4], [3]]


@pytest.mark.parametrize("name", CASES)
def test_predictions_depend_on_the_example_alone(zoo, name):
    """Neither the rest of the batch nor random numbers change a prediction."""
    model, pool = zoo.model(name), zoo.pool(name)
    state = torch.get_rng_state()
    together = predicted(model, pool)
    assert torch.equal(state, torch.get_rng_state())
    assert_alike(together, predicted(model, pool))
    assert_alike(together, predicted(model, pool, BATCHES), 1e-5)
    assert_alike(together[:1], together[5:], 1e-6)
    if isinstance(together[0], torch.Tensor) and together[0].ndim:
        assert {(len(p), p.dtype) for p in together} == {(len(model.task.labels), torch.float32)}
        torch.testing.assert_close(torch.stack(together).sum(dim=1), torch.ones(6))
        assert len({tuple(p.tolist()) for p in together}) > 1 or "ranked" in name
    assert model.predict({"inputs": model.processor([]), "size": 0}) is None


@pytest.mark.parametrize("name", CASES)
def test_encodings_have_lengths_and_fingerprints(zoo, name):
    encoded = zoo.model(name).encode(zoo.pool(name))
    assert encoded.lengths.dtype == np.int32
    assert (encoded.lengths > 0).all()
    assert encoded.statistics.truncated == 0
    keys = encoded.fingerprints.tolist()
    assert (len(set(keys)), keys[0]) == (5, keys[5])


@pytest.mark.parametrize("name", CASES)
def test_an_export_answers_as_the_model_did(zoo, name, tmp_path):
    model, pool, task = zoo.model(name), zoo.pool(name), zoo.task(name)
    expected = predicted(model, pool)
    for folder in ("whole", "bare"):
        model.export(str(tmp_path / folder), weights=folder == "whole")
    assert [path.parent.name for path in tmp_path.glob("*/*.safetensors")] == ["whole"]
    again = zoo.model(name, tmp_path / "whole", trains=False)
    again.require_head()
    assert_alike(expected, predicted(again, pool))
    bare = zoo.model(name, tmp_path / "bare")
    with refused(ModelError, tmp_path / "bare"):
        bare.require_weights()
    checkpoint = {"state_dict": model.state_dict()}
    model.on_save_checkpoint(checkpoint)
    bare.on_load_checkpoint(checkpoint)
    bare.load_state_dict(checkpoint["state_dict"])
    assert bare.has_learned
    assert_alike(expected, predicted(bare.eval(), pool))
    if task.kind.exclusive and task.labels and "ranked" not in name:
        rolled = replace(task, labels=(*task.labels[1:], task.labels[0]))
        other = zoo.model(name, tmp_path / "whole", rolled, trains=False)
        assert_alike([p.roll(-1) for p in expected], predicted(other, pool), 1e-6)
    if type(model.network).__module__.startswith("transformers."):
        loaded = type(model.network).from_pretrained(tmp_path / "whole").state_dict()
        assert all(torch.equal(loaded[key], value) for key, value in model.network.state_dict().items())


def test_every_registered_family_is_tested_here():
    tested = {family.kind.__name__ for family in CASES.values()} | {"CausalLM"}
    assert {entry.family for entry in TABLE} == tested


def ordered(task, parts=1, labels=1):
    """The task with its parts and its labels in the same order (1) or the reverse (-1)."""
    return replace(task, parts=task.parts[::parts], labels=task.labels[::labels])


def other_task(task):
    """A task of the same kind with other labels and another template, and parts in another order."""
    names = ("v", "w", "x", "y") if task.labels else ()
    return replace(ordered(task, -1), labels=names, default_label=None, template=None, verbalisers={"v": "one word"})


@pytest.mark.parametrize("name", CASES)
def test_a_model_that_is_bound_twice_is_the_same_as_a_model_that_is_bound_once(zoo, name):
    pool, task, once = zoo.pool(name), zoo.task(name), zoo.model(name)
    twice = zoo.unbuilt(name)
    earlier = other_task(task)
    twice.bind(earlier)
    twice.configure_model()
    if twice.capabilities.prompts:
        twice.prompt_with(Prompt(Wording(" ".join(f"{{{part}}}" for part in earlier.parts), "Answer."), earlier))
    torch.manual_seed(0)
    assert twice.bind(task) == zoo.unbuilt(name).bind(task)
    twice.configure_model()
    assert twice.prompt is None
    assert (twice.task, twice.learned, twice.own_wording) == (once.task, once.learned, once.own_wording)
    assert_alike(predicted(once, pool), predicted(twice.eval(), pool))
    assert twice.encode(pool).lengths.tolist() == once.encode(pool).lengths.tolist()


@pytest.mark.parametrize("source", first_tier(1, ["memory", "export", "checkpoint"]))
@pytest.mark.parametrize("name", first_tier(2, FAMILIES))
def test_a_trained_model_reads_parts_and_labels_in_the_order_of_its_training(zoo, name, source):
    """Whatever their order in the data, and whatever template the data have."""
    model, folder, _ = zoo.trained(name)
    pool, task = zoo.pool(name), zoo.task(name)
    expected = predicted(model, pool)
    for parts, labels in ((-1, 1), (1, -1), (-1, -1)):
        given = ordered(task, parts, labels)
        template = None if task.pictures else " ".join(f"{{{part}}}" for part in given.parts)
        if source == "memory":
            again = model
            fit = again.bind(replace(given, template=template))
        else:
            again = zoo.unbuilt(name, folder / "backbone" if source == "export" else None)
            fit = again.bind(replace(given, template=template))
            again.configure_model()
            if source == "checkpoint":
                checkpoint = torch.load(folder / "best.ckpt", weights_only=True)
                again.on_load_checkpoint(checkpoint)
                again.load_state_dict(checkpoint["state_dict"])
                fit = again.fit
        assert fit.is_kept
        assert (again.task.parts, again.task.labels) == (task.parts, given.labels)
        found = predicted(again.eval(), pool)
        if task.kind.exclusive:
            found = [probs[torch.arange(len(probs)).flip(0)] if labels < 0 else probs for probs in found]
        assert_alike(expected, found, 1e-6)
    for wrong in (replace(task, labels=("x", "y", *task.labels[2:]), default_label=None),) if task.labels else ():
        with refused(ModelError, ", ".join(task.labels), ", ".join(wrong.labels)):
            model.bind(wrong)
    assert model.bind(task).is_kept


def exported(model, folder):
    model.export(str(folder), weights=True)
    return folder


def test_a_prompt_outlives_a_checkpoint_and_is_not_exported(zoo, tmp_path):
    """Lightning loads a checkpoint after the prompt was set."""
    name = "Seq2Seq"
    model, folder, _ = zoo.trained(name)
    again, task = zoo.unbuilt(name, max_length=400), zoo.task(name)
    again.bind(task)
    again.configure_model()
    answers = dict(zip(task.labels, ("yes", "maybe", "no"), strict=True))
    prompt = Prompt(Wording("{premise} {hypothesis}", "Answer.", answers), task)
    again.prompt_with(prompt)
    asked = again.processor(zoo.pool(name))["input_ids"]
    checkpoint = torch.load(folder / "best.ckpt", weights_only=True)
    again.on_load_checkpoint(checkpoint)
    again.load_state_dict(checkpoint["state_dict"])
    assert again.prompt == prompt
    assert torch.equal(again.processor(zoo.pool(name))["input_ids"], asked)
    fresh = zoo.unbuilt(name, exported(again, tmp_path / "m"))
    fresh.bind(task)
    assert fresh.fit.texts == model.fit.texts == task.labels


def test_a_checkpoint_with_labels_in_another_order_is_exported_with_its_names(zoo, tmp_path):
    model, folder, _ = zoo.trained("Encoder")
    task, pool = zoo.task("Encoder"), zoo.pool("Encoder")
    again = zoo.unbuilt("Encoder")
    again.bind(ordered(task, labels=-1), trains=True)
    again.configure_model()
    checkpoint = torch.load(folder / "best.ckpt", weights_only=True)
    again.on_load_checkpoint(checkpoint)
    again.load_state_dict(checkpoint["state_dict"])
    fresh = zoo.model("Encoder", exported(again, tmp_path / "m"), trains=False)
    assert_alike(predicted(model, pool), predicted(fresh, pool), 1e-6)


def test_the_record_of_another_kind_of_model_is_not_read(zoo, tmp_path):
    """Label texts of a T5 are no texts of a Writer or of an encoder, and the reverse."""
    labels, spans = (
        exported(zoo.model("Seq2Seq"), tmp_path / "labels"),
        exported(zoo.model("Writer"), tmp_path / "spans"),
    )
    writer = zoo.unbuilt("Writer", labels)
    assert writer.bind(zoo.task("Writer"), trains=True).head == "new"
    assert writer.task_head.texts == ("unanswerable",)
    scorer = zoo.unbuilt("Seq2Seq", spans)
    assert scorer.bind(zoo.task("Seq2Seq")).head == "new"
    scorer.require_head()
    stale = exported(zoo.model("Encoder"), tmp_path / "stale")
    config = json.loads((stale / "config.json").read_text())
    config["heedful"] |= {"template": "{premise}", "targets": list(zoo.task("Encoder").labels)}
    (stale / "config.json").write_text(json.dumps(config))
    encoder = zoo.model("Encoder", stale, ordered(zoo.task("Encoder"), labels=-1), trains=False)
    assert encoder.fit.label_map.column == (2, 1, 0)
    assert "targets" not in json.loads((exported(encoder, tmp_path / "again") / "config.json").read_text())["heedful"]


def test_labels_with_numbered_names_are_names_after_a_training(zoo, tmp_path):
    task = replace(zoo.task("Encoder"), labels=("LABEL_0", "LABEL_1", "LABEL_2"), default_label=None)
    folder = exported(zoo.model("Encoder", task=task), tmp_path / "m")
    again = zoo.unbuilt("Encoder", folder)
    assert again.bind(ordered(task, labels=-1)).label_map.column == (2, 1, 0)
    again.require_head()


EMPTY = {"image": Picture(), "question": ""}


@pytest.mark.parametrize("part", EMPTY)
@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.data == "questions"])
def test_a_part_that_the_data_lack_is_read_as_an_empty_part(zoo, name, part):
    task = replace(zoo.task(name), parts=(part,), pictures=("image",) if part == "image" else ())
    alone = [Example(e.uid, {part: e.parts[part]}) for e in zoo.pool(name)]
    emptied = [Example(e.uid, EMPTY | e.parts) for e in alone]
    assert_alike(predicted(zoo.model(name, task=task), alone), predicted(zoo.model(name), emptied), 1e-6)


@pytest.mark.parametrize("name", LABELLED)
def test_other_labels_get_a_new_head_on_the_same_body(zoo, name):
    folder, task = zoo.exported(name), zoo.task(name)
    before = load_file(folder / "model.safetensors")
    for labels in (("x", "y", "z"), ("v", "w")):
        other = replace(task, labels=labels, default_label=None)
        model = zoo.model(name, folder, other)
        state = model.network.state_dict()
        is_head = {key: key.startswith(FAMILIES[name].head) for key in before}
        assert all(torch.equal(before[key], state[key]) for key in before if not is_head[key])
        weights = [key for key in before if is_head[key] and before[key].ndim > 1]
        assert weights
        assert not any(torch.equal(before[key], state[key]) for key in weights)
        with refused(ModelError, ", ".join(task.labels), ", ".join(labels)):
            model.require_head()


FORMER = {"labels": None, "collapse": None, "score": "sum", "decoding": "likelihood"}


@pytest.mark.parametrize("name", first_tier(2, [*FAMILIES, "Seq2Seq, untied", "Seq2Seq, BART"]))
def test_a_training_is_kept_in_checkpoint_and_export(zoo, name, tmp_path):
    """A checkpoint loads with the exported config of its backbone; older ones name settings of base classes."""
    model, folder, during = zoo.trained(name)
    pool = zoo.pool(name)
    expected = predicted(model, pool)
    fresh = zoo.model(name).state_dict()
    moved = [key for key, value in model.state_dict().items() if not torch.equal(value, fresh[key])]
    assert any(CASES[name].head not in key or not CASES[name].head for key in moved)
    assert all(value.isfinite().all() for value in model.state_dict().values())
    content = torch.load(folder / "best.ckpt", weights_only=True)
    content["hyper_parameters"] |= FORMER if name == "Writer" else {"labels": None}
    torch.save(content, tmp_path / "former.ckpt")
    for path, settings in ((folder / "best.ckpt", {"backbone": str(folder / "bare")}), (tmp_path / "former.ckpt", {})):
        loaded = type(model).load_from_checkpoint(path, weights_only=True, map_location="cpu", **settings)
        assert (loaded.task.parts, loaded.task.labels) == (zoo.task(name).parts, zoo.task(name).labels)
        assert (loaded.task.wording, loaded.task.targets) == (zoo.task(name).wording, zoo.task(name).targets)
        assert loaded.max_length == model.max_length
        assert_alike(expected, predicted(loaded.eval(), pool))
    exported = zoo.measured(name, zoo.unbuilt(name, folder / "backbone"))
    resumed = zoo.measured(name, zoo.unbuilt(name), ckpt_path=str(folder / "best.ckpt"))
    for after in (exported, resumed):
        assert {key: value for key, value in after.numbers.items() if key in during.numbers} == during.numbers
    assert exported[f"null/{zoo.data(name).name}/flips"].value == 0


@pytest.mark.parametrize("name", ["Reader", *LABELLED])
def test_a_head_that_was_never_trained_is_not_measured(zoo, name):
    with refused(ModelError, zoo.backbone(name)):
        zoo.measured(name, zoo.unbuilt(name))


@pytest.mark.parametrize("name", FAMILIES)
def test_training_starts_in_float32_with_dropout(zoo, name, tmp_path):
    """Although the weights are in half precision, and transformers loads models in eval mode."""
    folder = tmp_path / "half"
    folder.mkdir()
    for file in zoo.exported(name).iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    weights = load_file(folder / "model.safetensors")
    halved = {key: value.bfloat16() if value.is_floating_point() else value for key, value in weights.items()}
    save_file(halved, folder / "model.safetensors", {"format": "pt"})
    model = zoo.unbuilt(name, folder)
    model.bind(zoo.task(name), trains=True)
    model.configure_model()
    network = model.network
    model.configure_model()
    assert model.network is network
    assert all(module.training for module in network.modules())
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_new_network_starts_from_the_same_weights_on_each_device(zoo, name):
    """Lightning configures models in the context of the Trainer's device, whose generator draws other numbers."""
    model = zoo.unbuilt(name)
    model.bind(zoo.task(name), trains=True)
    with torch.device("meta"):
        model.configure_model()
    expected = zoo.model(name).network.state_dict()
    weights = model.network.state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[key], expected[key]) for key in weights)


# models without Lightning


def function_of(request, tmp_path):
    return Function(lambda rows: ["neutral" if len(row["premise"]) % 2 else "entailment" for row in rows])


def pair_of(request, tmp_path):
    folder = request.getfixturevalue("tiny_bert")
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=3).eval()
    labels = ["entailment", "neutral", "contradiction"]
    return TransformersPair(model, AutoTokenizer.from_pretrained(folder), labels=labels)


def causal_of(request, tmp_path):
    return CausalLM(str(save(tmp_path / "llama")), decoding="likelihood")


def answer(body, n=0):
    return ("entailment", "neutral", "contradiction")[int(3 * share_of(question_of(body)))]


def endpoint_of(request, tmp_path):
    fake = FakeServer(answer).__enter__()
    request.addfinalizer(lambda: fake.__exit__())
    request.getfixturevalue("monkeypatch").setenv("OPENAI_BASE_URL", fake.url)
    return Endpoint("tiny", cache=str(tmp_path / "answers.sqlite"))


def batch_of(request, tmp_path):
    return BatchEndpoint(lambda asked: (written(answer(asked.body), asked.body), "line 1"), name="tiny")


@pytest.mark.parametrize("make", [function_of, pair_of, causal_of, endpoint_of, batch_of])
def test_a_model_without_lightning_binds_encodes_and_predicts(zoo, make, request, tmp_path):
    model, pool, task = make(request, tmp_path), zoo.pool("Encoder"), zoo.task("Encoder")
    assert model.bind(task).label_map.labels == task.labels
    if model.capabilities.prompts:
        model.prompt_with(Prompt(Wording.plain(task.parts, task.labels), task))
    model.configure_model()
    model.start(Composed.whole(pool), SimpleNamespace(keep_waiting_alive=lambda: None))
    keys = model.encode(pool).fingerprints
    assert keys is None or (keys[0] == keys[5] and len(set(keys.tolist())) == 5)
    together = predicted(model, pool)
    assert len({str(value) for value in together}) > 1
    assert_alike(together, predicted(model, pool, BATCHES), 1e-4)
    assert_alike(together[:1], together[5:], 1e-6)
    module = module_of(model)
    assert predictor_of(module) is model
    with refused(ModelError, model.description, "evaluate.py"):
        module.configure_optimizers()
    with refused(ModelError, type(model).__name__, "image"):
        model.require_parts(zoo.task("Vilt"))
