"""The command that evaluates: evaluate.py says how it is used."""

import sys
from pathlib import Path

from heedful.callbacks import Engine, RunFolder
from heedful.cli.app import HeedfulCLI
from heedful.cli.folders import evaluation_folder, identity, run_folder
from heedful.cli.messages import guarded
from heedful.cli.model_forms import with_run
from heedful.cli.prompting import each_prompt
from heedful.cli.runs import with_packages
from heedful.cli.short_forms import expand
from heedful.lightning_modules import Endpoint
from heedful.records import HeedfulError
from heedful.reports.compare import print_table
from heedful.reports.in_context.summary import print_summary


def output_folder(cli: HeedfulCLI) -> Path:
    """Inside the run for a checkpoint; under ``pretrained`` for a model that was never trained here."""
    if isinstance(cli.model, Endpoint):
        cli.about["server"] = cli.model.server
    if cli.config.checkpoint and not cli.config.output:
        return evaluation_folder(cli)
    if cli.config.checkpoint:
        cli.about["evaluation"] = identity(cli)
    return run_folder(cli, "pretrained")


def main() -> None:
    cli = HeedfulCLI(True, output_folder, expand(with_run(with_packages(sys.argv[1:]))))
    checkpoint, results = cli.config.checkpoint, {}
    for _ in each_prompt(cli.prompts, cli.model, cli.callback(RunFolder), cli.planned.values()):
        cli.trainer.validate(cli.model, cli.datamodule, ckpt_path=checkpoint, weights_only=True, verbose=False)
        if not cli.callback(Engine).results:
            raise HeedfulError("nothing-left", "Nothing was evaluated.", "See --trainer.limit_val_batches.")
        results[str(cli.callback(RunFolder).folder)] = cli.callback(Engine).results
    if cli.trainer.is_global_zero:
        if len(results) > 1:
            print_summary(list(results))
        else:
            print_table(results)


if __name__ == "__main__":
    guarded(main)
