"""What is read in a config.json: names of outputs, and how many positions the network has."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel

from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder, Seq2Seq
from heedful.lightning_modules.pretrained.backbone_config import OFFSET, require_positions
from heedful.records import ModelError

from refusals import refused

UNLIMITED = {"max_position_embeddings": -1}  # as XLNet says it
NAMES = {"0": "entailment", "1": "neutral", "2": "contradiction"}


@pytest.mark.parametrize(
    "sound",
    [
        {"id2label": {"2": "c", "0": "a", "1": "b"}},
        {"heedful": {}},
        {"id2label": {}},
        UNLIMITED,
        {"max_position_embeddings": None},
    ],
)
def test_what_a_config_may_say_is_taken(tiny_t5: Path, tmp_path: Path, sound: dict[str, Any]) -> None:
    shutil.copytree(tiny_t5, tmp_path / "m")
    file = tmp_path / "m" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | sound))
    model = Seq2Seq(str(tmp_path / "m"), max_length=64)
    model.prepare(Planted().task)
    assert model.outputs == [
        name for _, name in sorted(sound.get("id2label", {"0": "LABEL_0", "1": "LABEL_1"}).items())
    ]


def test_two_outputs_of_one_name_are_no_head(tiny_bert: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_bert, tmp_path / "m")
    file = tmp_path / "m" / "config.json"
    said = {"id2label": NAMES | {"2": "neutral"}, "architectures": ["BertForSequenceClassification"]}
    file.write_text(json.dumps(json.loads(file.read_text()) | said))
    model = Encoder(str(tmp_path / "m"), max_length=64)
    model.prepare(Planted().task)
    with refused(ModelError, "entailment, neutral, neutral"):
        model.require_head()


@pytest.mark.parametrize("kind", ["bert", *sorted(OFFSET - {"layoutlmv3", "longformer"})])  # these need more than ids
def test_as_many_tokens_are_allowed_as_the_network_reads(kind: str) -> None:
    """transformers counts the positions of many models from the one after that of padding."""
    sizes = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    sizes |= {"vocab_size": 20, "entity_vocab_size": 4, "entity_emb_size": 16, "xpath_unit_hidden_size": 4}
    more = {"languages": ["en_XX"], "default_language": "en_XX"} if kind == "xmod" else {}
    more |= {"channel_shrink_ratio": 2} if kind == "lilt" else {}
    config = AutoConfig.for_model(kind, **sizes, **more, max_position_embeddings=12, pad_token_id=3)
    network = AutoModel.from_config(config).eval()
    reads = []
    for length in range(1, 14):
        try:
            with torch.no_grad():
                network(input_ids=torch.full((1, length), 7))
            reads.append(length)
        except (IndexError, RuntimeError):
            break
    require_positions(config, reads[-1])
    with refused(ModelError, f"{reads[-1]} positions", reads[-1] + 1):
        require_positions(config, reads[-1] + 1)
