"""Measure a trained classifier on everything that Heed knows, on all examples and in full precision.

python evaluate.py --checkpoint runs/planted/minilm/plain/version_0              a run, or one of its checkpoints
python evaluate.py --data rte --checkpoint runs/mnli/...                         three classes answer data of two
python evaluate.py --checkpoint RUN --evaluations natural_logic --natural_logic.path DIR
python evaluate.py --data mnli --model FacebookAI/roberta-large-mnli             never trained here
"""

import sys
from pathlib import Path

import torchvision_fix  # noqa: F401

from callbacks import Engine, RunFolder
from cli.app import HeedCLI
from cli.folders import evaluation_folder, identity, run_folder
from cli.messages import guarded
from cli.model_forms import with_run
from cli.prompting import each_prompt
from cli.runs import with_packages
from cli.short_forms import expand
from records import HeedError
from reports.compare import print_table
from reports.in_context.summary import print_summary


def output_folder(cli: HeedCLI) -> Path:
    """Inside the run for a checkpoint; under ``pretrained`` for a model that was never trained here."""
    if cli.config.checkpoint and not cli.config.output:
        return evaluation_folder(cli)
    if cli.config.checkpoint:
        cli.about["evaluation"] = identity(cli)
    return run_folder(cli, "pretrained")


def main() -> None:
    cli = HeedCLI(True, output_folder, expand(with_run(with_packages(sys.argv[1:]))))
    checkpoint, results = cli.config.checkpoint, {}
    for _ in each_prompt(cli.prompts, cli.model, cli.callback(RunFolder)):
        cli.trainer.validate(cli.model, cli.datamodule, ckpt_path=checkpoint, weights_only=True, verbose=False)
        if not cli.callback(Engine).results:
            raise HeedError("Nothing was evaluated: see --trainer.limit_val_batches.")
        results[str(cli.callback(RunFolder).folder)] = cli.callback(Engine).results
    if cli.trainer.is_global_zero:
        print_summary(list(results)) if len(results) > 1 else print_table(results)


if __name__ == "__main__":
    guarded(main)
