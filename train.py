"""Train a classifier over paired inputs, and watch whether it heeds every part of them.

python train.py                                              MiniLM on the embedded data
python train.py --data mnli --augment counterfactual         MNLI from the hub, with counterfactual augmentation
python train.py --data mnli --data.path DIR --partial hypothesis
python train.py --data infotabs --data.path DIR --data.folds 5 --data.fold 0   the first run of a cross-validation
python train.py --resume runs/mnli/minilm/plain/version_0    go on with a run that was stopped
python train.py --init_from runs/... --data nlixy --data.path DIR  the model of a run that is done, on other data
python train.py --help                                       everything else
"""

import sys
from pathlib import Path

import torchvision_fix  # noqa: F401

from callbacks import BestCheckpoint, Board, Engine, RunFolder
from callbacks.checkpoints.files import LAST
from callbacks.outputs.run_folder import export
from cli.app import HeedCLI
from cli.folders import run_folder
from cli.messages import guarded
from cli.model_forms import initialised
from cli.runs import continued, with_packages
from cli.short_forms import expand
from records import HeedError
from reports.compare import print_table


def main() -> None:
    args = expand(continued(initialised(with_packages(sys.argv[1:]))))
    cli = HeedCLI(False, lambda cli: run_folder(cli, cli.datamodule.regime), args)
    trainer = cli.trainer
    trainer.fit(cli.model, cli.datamodule, ckpt_path=cli.config.ckpt_path, weights_only=True)
    if trainer.fast_dev_run:
        return
    checkpoint = cli.callback(BestCheckpoint)
    best = checkpoint.best_model_path or checkpoint.last_model_path
    if not best:
        raise HeedError("No checkpoint was saved: see --trainer.max_epochs, --trainer.limit_train_batches.")
    trainer.validate(cli.model, cli.datamodule, ckpt_path=best, weights_only=True, verbose=False)
    if not cli.callback(Engine).results:
        raise HeedError("Nothing was evaluated: see --trainer.limit_val_batches.")
    cli.callback(Board).final(trainer)
    folder = cli.callback(RunFolder).folder
    if trainer.is_global_zero:
        export(cli.model, folder, weights=True)
        print_table({str(folder): cli.callback(Engine).results})
        named = folder if Path(best).name in ("best.ckpt", LAST) else best
        print(f"Every measurement, on all examples: python evaluate.py --checkpoint {named}")
        print(f"Curves: tensorboard --logdir {folder.parent}")
        cli.callback(RunFolder).finish()


if __name__ == "__main__":
    guarded(main)
