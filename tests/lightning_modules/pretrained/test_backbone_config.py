"""A config.json that says what cannot be is one sentence, for every family that reads it."""

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
WORDS = {"template": "{premise} {hypothesis}", "parts": ["premise", "hypothesis"], "targets": ["a", "b", "c"]}
ODD: list[Any] = [[], 3, None, "x"]
ODD += [{"id2label": v} for v in ([], 3, {"0": "a", "2": "b"}, {"a": "b"}, {"0": 1, "1": 2}, {"1": "a", "2": "b"})]
ODD += [{"architectures": v} for v in (3, "BertForSequenceClassification", [3], {"a": 1}, [None])]
ODD += [{"max_position_embeddings": v} for v in ("128", None, [1], 12.5)]
ODD += [{"model_type": 3}, {"vocab_size": "50"}, {"vocab_size": -1}]
ODD += [{"heedful": v, "id2label": NAMES} for v in (3, [], "x", WORDS | {"parts": 3}, WORDS | {"targets": [1, 2, 3]})]
ODD += [
    {"heedful": v, "id2label": NAMES} for v in (WORDS | {"targets": ["a"]}, WORDS | {"template": 3}, {"pictures": "1"})
]


@pytest.mark.parametrize("odd", ODD, ids=json.dumps)
@pytest.mark.parametrize("family", [Encoder, Seq2Seq])
def test_what_a_config_cannot_say_is_one_sentence(
    tiny_bert: Path, tiny_t5: Path, tmp_path: Path, family: type, odd: Any
) -> None:
    shutil.copytree(tiny_bert if family is Encoder else tiny_t5, tmp_path / "m")
    file = tmp_path / "m" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | odd if isinstance(odd, dict) else odd))
    with refused(ModelError if odd == {"vocab_size": -1} else ModelError, tmp_path / "m"):
        family(str(tmp_path / "m"), max_length=64).prepare(Planted().task)


@pytest.mark.parametrize(
    "sound", [{"id2label": {"2": "c", "0": "a", "1": "b"}}, {"heedful": {}}, {"id2label": {}}, UNLIMITED]
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


@pytest.mark.parametrize(
    ("by_name", "told"),
    [
        ({"contradiction": 0, "neutral": 1, "entailment": 2}, ("output 0 entailment", "contradiction in label2id")),
        ({"ENTAILMENT": "0", "CONTRADICTION": "1", "NEUTRAL": "2"}, ("output 1 neutral", "CONTRADICTION in label2id")),
        ({"ENTAILMENT": "0", "Neutral": "1", "contradiction": "2"}, None),
        ({"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2}, None),
        ({}, None),
        ([1], ("label2id",)),
    ],
)
def test_a_config_that_names_an_output_twice_is_refused(
    tiny_bert: Path, tmp_path: Path, by_name: Any, told: tuple[str, ...] | None
) -> None:
    shutil.copytree(tiny_bert, tmp_path / "m")
    file = tmp_path / "m" / "config.json"
    said = {"id2label": NAMES, "label2id": by_name, "architectures": ["BertForSequenceClassification"]}
    file.write_text(json.dumps(json.loads(file.read_text()) | said))
    model = Encoder(str(tmp_path / "m"), max_length=64)
    if told is None:
        model.prepare(Planted().task)
        return
    with refused(ModelError, tmp_path / "m", *told):
        model.prepare(Planted().task)
    if isinstance(by_name, dict):  # the user says it
        Encoder(str(tmp_path / "m"), max_length=64, labels=list(NAMES.values())).prepare(Planted().task)


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
