"""Measure a trained classifier on everything that Heed knows, on all examples and in full precision.

python evaluate.py --checkpoint runs/planted/minilm/plain/version_0/checkpoints/best.ckpt
python evaluate.py --data mnli --checkpoint runs/.../checkpoints/best.ckpt
python evaluate.py --data mnli --model.backbone FacebookAI/roberta-large-mnli      never trained here
"""

import json
import sys
from pathlib import Path

import torchvision_fix  # noqa: F401

import yaml

from callbacks import Engine, RunFolder
from cli import HeedCLI, expand, guarded, run_folder
from metrics.report import print_table
from records import HeedError


def with_run(argv: list[str]) -> list[str]:
    """Take the model, and the data if they are not named, from the run that ``--checkpoint`` lies in."""
    given = [a.removeprefix("--checkpoint=") for a in argv if a.startswith("--checkpoint=")]
    given += [after for flag, after in zip(argv, argv[1:], strict=False) if flag == "--checkpoint"]
    if not given:
        return argv
    checkpoint = Path(given[-1])
    if not checkpoint.is_file():
        raise HeedError(f"--checkpoint {checkpoint} does not exist.")
    config = checkpoint.parent.parent / "config.yaml"
    if not config.is_file():
        raise HeedError(f"--checkpoint {checkpoint} does not lie in a run folder: there is no {config}.")
    saved = yaml.safe_load(config.read_text())
    # what was exported knows the names of its labels; an evaluation takes all examples
    saved["model"]["init_args"] |= {"backbone": str(checkpoint.parent / "backbone"), "labels": None}
    saved["data"]["init_args"]["max_validation"] = None
    found = ["--model", json.dumps(saved["model"])]
    if not any(a == "--data" or a.startswith("--data=") for a in argv):
        saved["data"]["init_args"].pop("seed", None)
        found += ["--data", json.dumps(saved["data"])]
    return found + argv


def output_folder(cli: HeedCLI) -> Path:
    """Inside the run for a checkpoint; under ``pretrained`` for a model that was never trained here."""
    if cli.config.checkpoint is None or cli.config.output:
        return run_folder(cli, "pretrained")
    checkpoint = Path(cli.config.checkpoint)
    name = f"{cli.datamodule.name}-validation" + ("" if checkpoint.stem == "best" else f"-{checkpoint.stem}")
    return checkpoint.parent.parent / "evaluations" / name


def main() -> None:
    cli = HeedCLI(True, output_folder, expand(with_run(sys.argv[1:])))
    checkpoint = cli.config.checkpoint
    cli.trainer.validate(cli.model, cli.datamodule, ckpt_path=checkpoint, weights_only=True, verbose=False)
    if cli.trainer.is_global_zero:
        print_table({str(cli.callback(RunFolder).folder): cli.callback(Engine).results})


if __name__ == "__main__":
    guarded(main)
