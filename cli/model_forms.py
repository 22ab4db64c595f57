"""A model that the command line names by its hub id or its folder: its family, and the name of its results."""

import re
from pathlib import Path
from typing import Any

import torchvision_fix  # noqa: F401

import yaml
from transformers import PretrainedConfig

from lightning_modules.pretrained.backbones import is_hub_id, quiet
from records import HeedError
from reports.runs import short_name

FAMILY_OF = {  # type of a model to its family, where that is not the encoder
    "t5": "Seq2Seq",
    "mt5": "Seq2Seq",
    "umt5": "Seq2Seq",
    "longt5": "Seq2Seq",
    "switch_transformers": "Seq2Seq",
    "vilt": "Vilt",
    "blip": "Blip",
}


def backbone_form(name: str, configs: Path) -> list[str] | None:
    """The arguments that ``--model NAME`` stands for, where it is a hub id or the folder of a model; None of others.

    Args:
        name: What follows ``--model``.
        configs: The folder of the named models: one with this backbone brings its settings.

    Raises:
        HeedError: It is a folder of something else, or a path where there is none.
    """
    path = Path(name)
    if path.is_dir() and not (path / "config.json").is_file():
        hint = (
            ": use --init_from of train.py, or --checkpoint of evaluate.py" if (path / "config.yaml").is_file() else ""
        )
        is_what = "is a run" if hint else "is not the folder of a model: it has no config.json"
        raise HeedError(f"--model {name} {is_what}{hint}.")
    if not path.is_dir():
        if "/" not in name or path.suffix in (".yaml", ".yml", ".json"):
            return None
        if not is_hub_id(name):
            raise HeedError(f"--model {name}: there is no such folder, and no model of the hub is called so.")
    for file in sorted(configs.glob("*.yaml")):
        if yaml.safe_load(file.read_text())["init_args"].get("backbone") == name:
            return ["--model", str(file)]
    return ["--model", f"lightning_modules.{_family(name)}", "--model.backbone", name]


def folder_name(backbone: str, class_path: str) -> str:
    """What the folder of a model's results is called: its short name, that of the run that it is from, or its id."""
    if name := short_name(backbone, class_path):
        return name
    run = Path(backbone).resolve()
    if run.parts[-2:] == ("checkpoints", "backbone"):  # exported by a run: named as that run
        of_run = run.parents[1].name
        return run.parents[3].name if re.fullmatch(r"version_\d+", of_run) else of_run
    return re.sub(r"[^\w.-]+", "-", backbone).strip("-").lower()


def _family(name: str) -> str:
    try:
        with quiet():
            config: dict[str, Any] = PretrainedConfig.get_config_dict(name)[0]
    except Exception:  # which is said when the model is loaded
        return "Encoder"
    architectures = config.get("architectures") or []
    if any("ForSequenceClassification" in str(one) for one in architectures):
        return "Encoder"
    if "BlipForQuestionAnswering" in architectures:
        return "BlipAnswers"
    if any(str(one).endswith(("ForCausalLM", "LMHeadModel")) for one in architectures):
        return "CausalLM"
    return FAMILY_OF.get(str(config.get("model_type")), "Encoder")
