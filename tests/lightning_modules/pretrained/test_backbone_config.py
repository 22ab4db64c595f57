"""Tests of config.json: names of outputs, and the number of positions."""

import json
import shutil
from functools import partial

import pytest
import torch
from transformers import AutoConfig, AutoModel

from heedful.assembly.loading import section_of
from heedful.lightning_modules.pretrained.backbone_config import OFFSET, open_config, positions_of, require_positions
from heedful.records import ModelError

from refusals import refused


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
