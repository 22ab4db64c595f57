"""LoRA adapters as peft saves them."""

import shutil
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from heedful.lightning_modules.pretrained.adapters import with_adapter
from heedful.records import ModelError, RunError

from causal import save
from refusals import refused

IDS = torch.arange(20)[None] + 30


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return save(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def adapter(llama, tmp_path_factory):
    peft = pytest.importorskip("peft", reason="peft is not installed")
    folder = tmp_path_factory.mktemp("adapter")
    settings = peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"])
    adapted = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(llama), settings)
    torch.manual_seed(1)
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    adapted.save_pretrained(folder)
    return folder


@torch.no_grad()
def test_its_weights_are_added(llama, adapter):
    peft = pytest.importorskip("peft")
    bare, other, same = (AutoModelForCausalLM.from_pretrained(llama).eval() for _ in range(3))
    adapted = peft.PeftModel.from_pretrained(other, adapter).eval()
    merged = with_adapter(same, str(adapter)).eval()
    assert merged(IDS).logits.numpy() == pytest.approx(adapted(IDS).logits.numpy(), abs=1e-4)
    assert not torch.allclose(merged(IDS).logits, bare(IDS).logits, atol=1e-2)


def test_an_adapter_that_does_not_fit_is_refused(llama, adapter, tmp_path):
    network, file = AutoModelForCausalLM.from_pretrained(llama), tmp_path / "renamed" / "adapter_model.safetensors"
    for name in ("nothing", "adapter_model.bin"):
        (tmp_path / name).touch()
        with refused(ModelError, tmp_path, "adapter_model.safetensors"):
            with_adapter(network, str(tmp_path))
    shutil.copytree(adapter, file.parent)
    save_file({name.replace("layers", "blocks"): tensor for name, tensor in load_file(file).items()}, file)
    with refused(ModelError, file.parent, "q_proj"):
        with_adapter(network, str(file.parent))


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with refused(RunError, "adapter", "pip install peft"):
        with_adapter(torch.nn.Linear(1, 1), "x")
