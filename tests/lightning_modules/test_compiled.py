"""Compiled networks, and half precision: the same function of the same weights, and few widths."""

import hashlib
from functools import partial
from pathlib import Path

import pytest
import torch
from PIL import Image
from pytorch_lightning.plugins.precision import HalfPrecision, MixedPrecision, Precision

from heedful.lightning_modules import Blip, BlipAnswers, Encoder, LateFusion, Reader, Seq2Seq, Vilt, Writer
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.records import CLASSIFICATION, SPAN, Example, Picture, Task

from tiers import first_tier

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:DeprecationWarning")  # torch's compiler's

PAIRS = Task(CLASSIFICATION, ("premise", "hypothesis"), ("yes", "no"))
QUESTIONS = Task(CLASSIFICATION, ("image", "question"), ("yes", "no"), pictures=("image",))
PASSAGES = Task(SPAN, ("context", "question"), ())
FULL, NOTHING = Precision(), Picture()
HALVES = {"bf16-true": HalfPrecision("bf16-true"), "bf16-mixed": MixedPrecision("bf16-mixed", "cpu")}
FAMILIES = {
    Encoder: ("tiny_bert", PAIRS, {}),
    Reader: ("tiny_bert", PASSAGES, {"overlap": 8, "longest_answer": 8}),
    Seq2Seq: ("tiny_t5", PAIRS, {}),
    Writer: ("tiny_t5", PASSAGES, {"longest_answer": 3}),
    LateFusion: ("tiny_bert", QUESTIONS, {"image_size": [32, 32], "hidden": 32}),
    Vilt: ("tiny_vilt", QUESTIONS, {}),
    Blip: ("tiny_blip", QUESTIONS, {}),
    BlipAnswers: ("tiny_blip", QUESTIONS, {}),
}


def examples_of(task: Task, words: int, n: int = 3, picture: Picture = NOTHING) -> list[Example]:
    """Examples of which each text has so many words."""
    parts = {part: picture if part in task.pictures else " ".join(["the"] * words) for part in task.parts}
    return [Example(f"e{i}", parts) for i in range(n)]


def model_of(family: type[PretrainedClassifier], backbone: Path, task: Task, **settings) -> PretrainedClassifier:
    torch.manual_seed(0)
    model = family(str(backbone), max_length=40, **settings)
    model.prepare(task)
    model.configure_model()
    return model.eval()


def outputs(model: PretrainedClassifier, examples: list[Example], plugin: Precision = FULL) -> torch.Tensor | list[str]:
    batch = {"inputs": model.processor(examples), "size": len(examples)}
    with torch.inference_mode(), plugin.forward_context():
        outputs = model.predict(plugin.convert_input(batch))
    return outputs.answers if outputs.probs is None else outputs.probs


@pytest.mark.slow
def test_one_graph_serves_all_batches(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = []

    def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]):
        graphs.append(graph)
        return graph.forward

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend))
    plain, compiled = model_of(Encoder, tiny_bert, PAIRS), model_of(Encoder, tiny_bert, PAIRS, compiled=True)
    for words, n in ((2, 3), (9, 3), (9, 5), (30, 2)):
        examples = examples_of(PAIRS, words, n)
        torch.testing.assert_close(outputs(compiled, examples), outputs(plain, examples), rtol=0, atol=1e-6)
    assert len(graphs) == 1
    for model in (plain, compiled):
        model.train()
        torch.manual_seed(0)
        inputs = model.processor(examples_of(PAIRS, 9))
        model.loss({"inputs": inputs, "labels": torch.tensor([0, 1, 0])}).backward()
    assert len(graphs) == 2, "one more for training"
    assert all(p.grad is not None for p in compiled.parameters())


@pytest.mark.parametrize("family", first_tier(1, FAMILIES))
def test_each_family_predicts_with_what_is_compiled(
    family: type[PretrainedClassifier], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def compile_(call, **settings):
        def called(*args, **kwargs):
            calls.append(call)
            return call(*args, **kwargs)

        return called

    monkeypatch.setattr(torch, "compile", compile_)
    fixture, task, settings = FAMILIES[family]
    backbone, examples = request.getfixturevalue(fixture), examples_of(task, 3)
    plain = model_of(family, backbone, task, **settings)
    expected = outputs(plain, examples)
    assert not calls
    compiled = model_of(family, backbone, task, compiled=True, **settings)
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(outputs(compiled, examples), expected, rtol=0, atol=1e-6)
    else:
        assert outputs(compiled, examples) == expected
    assert len(calls) == len(compiled.modules_to_compile())
    assert compiled.state_dict().keys() == plain.state_dict().keys()


@pytest.mark.parametrize("precision", HALVES)
@pytest.mark.parametrize("family", first_tier(3, FAMILIES))
def test_each_family_predicts_in_half_precision(
    family: type[PretrainedClassifier], precision: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path = tmp_path / "red.png"
    Image.new("RGB", (40, 32), "red").save(path)
    picture = Picture(hashlib.sha256(path.read_bytes()).hexdigest(), str(path), 0, path.stat().st_size, "row 0")
    (fixture, task, settings), plugin = FAMILIES[family], HALVES[precision]
    model = model_of(family, request.getfixturevalue(fixture), task, **settings)
    examples = examples_of(task, 3, picture=picture)
    expected = outputs(model, examples)
    found = outputs(plugin.convert_module(model), examples, plugin)
    if isinstance(expected, torch.Tensor):
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, expected, rtol=0, atol=0.02)
    else:
        assert len(found) == len(expected)


@pytest.mark.slow
def test_widths_are_multiples_of_sixteen_and_no_more_than_the_model_reads(tiny_bert: Path, tiny_blip: Path) -> None:
    plain, compiled = model_of(Encoder, tiny_bert, PAIRS), model_of(Encoder, tiny_bert, PAIRS, compiled=True)
    reads = [model.processor(examples_of(PAIRS, 5)) for model in (plain, compiled)]
    assert [inputs["input_ids"].shape[1] for inputs in reads] == [13, 16]
    for name, values in reads[0].items():
        assert torch.equal(reads[1][name][:, :13], values)
        assert not reads[1][name][:, 13:].any(), "the padding of a BERT is zeros"
    assert compiled.processor(examples_of(PAIRS, 8))["input_ids"].shape[1] == 32
    assert compiled.processor(examples_of(PAIRS, 30))["input_ids"].shape[1] == 40
    assert compiled.processor([])["input_ids"].shape == (0, 0)
    pictures = model_of(Blip, tiny_blip, QUESTIONS, compiled=True)
    assert pictures.processor(examples_of(QUESTIONS, 5))["input_ids"].shape[1] == 16


@pytest.mark.slow
def test_an_export_is_that_of_a_plain_model(tiny_bert: Path, tmp_path: Path) -> None:
    for name, settings in (("plain", {}), ("compiled", {"compiled": True})):
        model_of(Encoder, tiny_bert, PAIRS, **settings).export(str(tmp_path / name), weights=True)
    files = sorted(path.name for path in (tmp_path / "plain").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "compiled").iterdir())
    assert all((tmp_path / "plain" / f).read_bytes() == (tmp_path / "compiled" / f).read_bytes() for f in files)
