"""LoRA adapters as peft saves them."""

import shutil
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from heedful.lightning_modules import CausalLM
from heedful.lightning_modules.pretrained.adapters import with_adapter
from heedful.records import ModelError, RunError

from causal import EXAMPLES, TASK, prompt, save
from refusals import refused


@pytest.fixture(scope="module")
def peft():
    return pytest.importorskip("peft", reason="peft is not installed")


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return save(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def adapter(llama, peft, tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapter")
    adapted = peft.get_peft_model(
        AutoModelForCausalLM.from_pretrained(llama), peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"])
    )
    torch.manual_seed(1)
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    adapted.save_pretrained(folder)
    return folder


def scores(llama, **settings):
    module = CausalLM(str(llama), **settings)
    module.prepare(TASK)
    module.prompt_with(prompt())
    module.configure_model()
    with torch.no_grad():
        return module.logits(module.processor(EXAMPLES))


def test_its_weights_are_added(peft, llama, adapter):
    ids = torch.arange(20)[None] + 30
    adapted = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(llama), adapter).eval()
    merged = with_adapter(AutoModelForCausalLM.from_pretrained(llama), str(adapter)).eval()
    with torch.no_grad():
        assert merged(ids).logits.numpy() == pytest.approx(adapted(ids).logits.numpy(), abs=1e-4)
    assert not torch.allclose(scores(llama), scores(llama, adapter=str(adapter)), atol=1e-2)


def test_an_adapter_whose_tensors_have_other_names_is_refused(llama, adapter, tmp_path):
    shutil.copytree(adapter, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "adapter_model.safetensors"
    save_file({name.replace("layers", "blocks"): tensor for name, tensor in load_file(file).items()}, file)
    with refused(ModelError, tmp_path, "q_proj"):
        scores(llama, adapter=str(tmp_path))


@pytest.mark.usefixtures("peft")
@pytest.mark.parametrize("name", ["nothing", "adapter_model.bin"])
def test_a_folder_without_safetensors_is_refused(llama, tmp_path, name):
    (tmp_path / name).write_text("")
    with refused(ModelError, tmp_path, "adapter_model.safetensors"):
        scores(llama, adapter=str(tmp_path))


def test_peft_must_be_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with refused(RunError, "adapter", "pip install peft"):
        with_adapter(torch.nn.Module(), "x")
