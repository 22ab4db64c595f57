"""Tests of compiled networks and half precision: predictions stay the same, and inputs have few widths."""

import pytest
import torch
from families import CASES, FAMILIES, assert_alike, predicted
from pytorch_lightning.plugins.precision import HalfPrecision, MixedPrecision

from heedful.records import Example

from tiers import first_tier

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:DeprecationWarning")  # by torch.compile
HALVES = {"bf16-true": HalfPrecision("bf16-true"), "bf16-mixed": MixedPrecision("bf16-mixed", "cpu")}


def of_words(model, words, n=3):
    """Examples with so many words per text."""
    return [Example(f"e{i}", dict.fromkeys(model.task.parts, " ".join(["the"] * words))) for i in range(n)]


@pytest.mark.parametrize("name", first_tier(1, FAMILIES))
def test_each_family_predicts_and_exports_what_is_compiled(zoo, name, monkeypatch, tmp_path):
    calls = []

    def compile_(call, **settings):
        def called(*args, **kwargs):
            calls.append(call)
            return call(*args, **kwargs)

        return called

    monkeypatch.setattr(torch, "compile", compile_)
    plain, compiled = zoo.model(name), zoo.model(name, compiled=True)
    expected = predicted(plain, zoo.pool(name))
    assert not calls
    assert_alike(predicted(compiled, zoo.pool(name)), expected, 1e-6)
    assert len(calls) == len(compiled.modules_to_compile())
    for folder, model in (("plain", plain), ("compiled", compiled)):
        model.export(str(tmp_path / folder), weights=True)
    files = [{path.name: path.read_bytes() for path in (tmp_path / f).iterdir()} for f in ("plain", "compiled")]
    assert files[0] == files[1]


@pytest.mark.parametrize("precision", HALVES)
@pytest.mark.parametrize("name", first_tier(3, CASES))
def test_each_family_predicts_in_half_precision(zoo, name, precision):
    model, plugin = zoo.model(name), HALVES[precision]
    examples = list(zoo.pool(name))
    batch = {"inputs": model.processor(examples), "size": len(examples)}
    with torch.inference_mode():
        expected = model.predict(batch)
        plugin.convert_module(model)
        with plugin.forward_context():
            found = model.predict(plugin.convert_input(batch))
    if expected.probs is None:
        assert len(found.answers) == len(expected.answers)
    else:
        assert found.probs.dtype == torch.float32
        torch.testing.assert_close(found.probs, expected.probs, rtol=0, atol=0.05)


def test_widths_are_multiples_of_sixteen_and_no_more_than_the_model_reads(zoo, monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda call, **settings: call)
    plain, compiled = (zoo.model("Encoder", max_length=40, compiled=is_compiled) for is_compiled in (False, True))
    reads = [model.processor(of_words(model, 5)) for model in (plain, compiled)]
    assert [inputs["input_ids"].shape[1] for inputs in reads] == [13, 16]
    for name, values in reads[0].items():
        assert torch.equal(reads[1][name][:, :13], values)
        assert not reads[1][name][:, 13:].any(), "the padding of a BERT is zeros"
    assert [compiled.processor(of_words(compiled, n))["input_ids"].shape[1] for n in (8, 30)] == [32, 40]
    assert compiled.processor([])["input_ids"].shape == (0, 0)
