"""The command that trains: train.py says how it is used."""

import sys
from pathlib import Path
from shlex import quote

from heedful.callbacks import BestCheckpoint, Board, Engine, RunFolder
from heedful.callbacks.checkpoints.files import LAST
from heedful.callbacks.outputs.run_folder import export
from heedful.cli.app import HeedfulCLI
from heedful.cli.folders import run_folder
from heedful.cli.messages import guarded
from heedful.cli.model_forms import initialised
from heedful.cli.runs import continued, with_packages
from heedful.cli.short_forms import expand
from heedful.records import HeedfulError
from heedful.reports.compare import print_table


def main() -> None:
    args = expand(continued(initialised(with_packages(sys.argv[1:]))))
    cli = HeedfulCLI(False, lambda cli: run_folder(cli, cli.datamodule.regime), args)
    trainer = cli.trainer
    trainer.fit(cli.model, cli.datamodule, ckpt_path=cli.config.ckpt_path, weights_only=True)
    if trainer.fast_dev_run:
        return
    checkpoint = cli.callback(BestCheckpoint)
    best = checkpoint.best_model_path or checkpoint.last_model_path
    if not best:
        do = "See --trainer.max_epochs and --trainer.limit_train_batches."
        raise HeedfulError("nothing-left", "No checkpoint was saved.", do)
    trainer.validate(cli.model, cli.datamodule, ckpt_path=best, weights_only=True, verbose=False)
    if not cli.callback(Engine).results:
        raise HeedfulError("nothing-left", "Nothing was evaluated.", "See --trainer.limit_val_batches.")
    cli.callback(Board).final(trainer)
    folder = cli.callback(RunFolder).folder
    cli.callback(Engine).require_measured(cli.model, "what checkpoints/backbone would hold")
    if trainer.is_global_zero:
        export(cli.model, folder, weights=True)
        print_table({str(folder): cli.callback(Engine).results})
        named = folder if Path(best).name in ("best.ckpt", LAST) else best
        print(f"Every measurement, on all examples: python evaluate.py --checkpoint {quote(str(named))}")
        print(f"Curves: tensorboard --logdir {quote(str(folder.parent))}")
        cli.callback(RunFolder).finish()


if __name__ == "__main__":
    guarded(main)
