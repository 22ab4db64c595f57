"""Train a classifier over paired inputs, and watch whether it heeds every part of them.

python train.py                                              MiniLM on the embedded data
python train.py --data mnli --augment counterfactual         MNLI from the hub, with counterfactual augmentation
python train.py --data mnli --data.path DIR --partial hypothesis
python train.py --data infotabs --data.path DIR --data.folds 5 --data.fold 0   the first run of a cross-validation
python train.py --resume runs/mnli/minilm/plain/version_0    go on with a run that was stopped
python train.py --init_from runs/... --data nlixy --data.path DIR  the model of a run that is done, on other data
python train.py --help                                       everything else
"""

from heedful.cli.command import run

if __name__ == "__main__":
    run("train")
