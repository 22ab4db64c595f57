"""Runs of every family, killed and stopped at random, end in the same bits as those that were left alone.

HEEDFUL_KILLS=1000 python -m pytest -m slow tests/test_random_kills.py     as many as one likes
"""

import json
import os
import random
import shutil
import signal
import time

import pytest

from heedful.datamodules import Planted

from run_lab import BATCH, COUNTERFACTUAL, EVALUATING, Lab, assert_same

pytestmark = pytest.mark.slow  # runs that end early and go on

KILLS = int(os.environ.get("HEEDFUL_KILLS", 15))
QUIET = ["--trainer.accelerator", "cpu", "--attentiveness.draws", "2", "--checkpoint.last_every_n_steps", "2"]
QUIET += ["--model.learning_rate", "0.003", "--trainer.log_every_n_steps", "1"]
TWO = ["--trainer.devices", "2", "--trainer.strategy", "ddp"]
HOOKS = [
    (BATCH, 30, ""),
    (EVALUATING, 6, ""),
    ("heedful.callbacks.engine.experiment:Experiment._changed", 8, ""),
    ("torch.optim:AdamW.step", 20, ""),
    ("torch:save", 10, ""),
    ("pathlib:Path.replace", 5, "last.ckpt"),
    ("pathlib:Path.replace", 5, "best.ckpt"),
    ("pathlib:Path.replace", 3, "results.json"),
    ("pathlib:Path.unlink", 6, ""),
    ("heedful.callbacks.outputs.board:Board.final", 1, ""),
    ("heedful.callbacks.outputs.run_folder:RunFolder.finish", 1, ""),
]
WITHIN = {  # of the family of texts: flags, processes
    "text-0.4": (["--trainer.val_check_interval", "0.4", "--data.n_train", "400"], 1),
    "text-0.5-accumulated": (
        ["--trainer.val_check_interval", "0.5", "--trainer.accumulate_grad_batches", "3"]
        + ["--checkpoint.last_every_n_steps", "1"],
        1,
    ),
    "text-rarely-saved": (["--checkpoint.last_every_n_steps", "null", "--trainer.max_epochs", "3"], 1),
    "text-seldom-validated": (["--trainer.check_val_every_n_epoch", "2", "--trainer.max_epochs", "5"], 1),
    "text-two-workers": ([*TWO, *COUNTERFACTUAL, "--data.num_workers", "2"], 2),
    "text-two-0.4": ([*TWO, "--trainer.val_check_interval", "0.4"], 2),
}
FAMILIES = [
    "reading",
    "t5",
    "timm",
    "timm-unfrozen",
    "vilt",
    "blip",
    "inoculation",
    "stopped_early",
    "workers",
    *WITHIN,
]


def write_pairs(folder):
    """A data set of pairs in files, with a challenge set; returns how it is named on the command line."""
    folder.mkdir()
    data = Planted(n_train=200, n_validation=60, seed=1)
    data.setup("fit")
    sizes = {"train": (data.train_examples, 0, 160), "challenge": (data.train_examples, 160, 200)}
    for name, (pool, start, end) in (sizes | {"validation": (data.pool, 0, 37)}).items():
        rows = ["\t".join([*pool[i].parts.values(), pool[i].label]) for i in range(start, end)]
        (folder / f"{name}.tsv").write_text("\n".join(["premise\thypothesis\tlabel", *rows]) + "\n")
    labels = {name: [] for name in ("entailment", "neutral", "contradiction")}
    settings = {"name": "pairs", "parts": {"premise": "premise", "hypothesis": "hypothesis"}, "labels": labels}
    settings |= {"default_label": "neutral", "path": str(folder)}
    (folder / "pairs.yaml").write_text(
        json.dumps({"class_path": "heedful.datamodules.PairedText", "init_args": settings})
    )
    return ["--data", str(folder / "pairs.yaml"), "--data.batch_size", "16"]


@pytest.fixture(scope="module")
def lab(tiny_bert, tiny_t5, tiny_vilt, tiny_blip, write_squad, write_squares, forks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kills")
    lab = Lab(tiny_bert, folder, forks)
    squad = ["--data", "squad2", "--data.path", str(write_squad(folder / "squad.json", 6)), "--data.hold_out", "20"]
    squares = ["--data", str(write_squares(folder / "squares", 80, 24) / "data.yaml"), "--data.batch_size", "8"]
    pairs = write_pairs(folder / "pairs")
    bert = ["--model.backbone", str(tiny_bert)]
    timm = ["--model", "timm", *bert, "--model.vision", "test_efficientnet"]
    timm += ["--model.image_size", "[32, 32]", "--model.hidden", "16", "--model.max_length", "32"]
    short = ["--model.max_length", "24", "--model.overlap", "6", "--model.longest_answer", "4"]
    planted = ["--data.n_train", "160", "--data.n_validation", "37", "--data.batch_size", "16"]
    lab.kinds |= WITHIN | {
        "reading": ([*squad, *bert, *short, "--data.batch_size", "4"], 1, QUIET),
        "t5": (["--model", "t5", "--model.backbone", str(tiny_t5), *planted], 1, QUIET),
        "timm": ([*squares, *timm], 1, QUIET),
        "timm-unfrozen": ([*squares, *timm, "--model.freeze_vision", "false"], 1, QUIET),
        "vilt": ([*squares, "--model", "vilt", "--model.backbone", str(tiny_vilt)], 1, QUIET),
        "blip": (
            [*squares, "--model", "blip", "--model.backbone", str(tiny_blip), "--model.max_length", "32"],
            1,
            QUIET,
        ),
        "pairs": ([*pairs, *bert, "--model.max_length", "64"], 1, QUIET),
    }
    trained = lab.whole("pairs")
    few = ["--data.inoculation.path", str(folder / "pairs" / "challenge.tsv"), "--data.inoculation.n", "40"]
    inoculation = [*pairs, "--augment", "inoculation", *few, "--data.batch_size", "4", "--init_from", str(trained)]
    lab.kinds["inoculation"] = (inoculation, 1, QUIET)
    return lab


def whole(lab, kind, seconds={}):  # noqa: B006
    """The run that is left alone, and how long it takes."""
    if kind not in lab.references:
        begin = time.monotonic()
        lab.whole(kind)
        seconds[kind] = time.monotonic() - begin
    return lab.references[kind], seconds.get(kind, 4.0)


def end_at_random(rng, processes, seconds):
    """(the way a run is ended, as a job of fork_runs has it)."""
    if rng.random() < 0.5:
        where, most, word = rng.choice(HOOKS)
        when = rng.choice(["before", "after", "term"])
        return {"kill": [where, rng.randint(1, most), when, word]}
    number = rng.choice([signal.SIGKILL, signal.SIGTERM])
    ranks = list(range(processes))  # one alone, before they are connected, is for whoever started them to notice
    return {"signals": [number, rng.uniform(0, seconds), ranks]}


@pytest.mark.parametrize("nth", range(KILLS))
def test_a_random_end_of_any_family(lab, nth):
    rng, kind = random.Random(nth), FAMILIES[nth % len(FAMILIES)]
    reference, seconds = whole(lab, kind)
    argv, processes = lab.command(kind)
    folder, ends = lab.folder / f"random-{nth}", []
    for _ in range(rng.choice([1, 1, 2, 3])):
        how = end_at_random(rng, processes, seconds)
        begun, had_results = ((folder / name).is_file() for name in ("config.yaml", "results.json"))
        command = ["--resume", str(folder)] if begun else [*argv, "--output", str(folder), "--ckpt_path", "last"]
        statuses, out = lab.run(*command, **how, processes=processes)
        ends.append((how, statuses))
        assert -14 not in statuses, f"{ends}: a process outlived the other:\n{out}"
        finished = "finished" in json.loads((folder / "run.json").read_text()) if (folder / "run.json").exists() else 0
        assert finished or statuses[0], f"{ends}\n{out}"
        if statuses[0] == 143 and not finished:
            assert (folder / "results.json").exists() == had_results, ends
        if processes == 1:
            assert statuses[0] in (0, 143, -9, -15), f"{ends}\n{out}"
    begun = (folder / "config.yaml").is_file()
    command = ["--resume", str(folder)] if begun else [*argv, "--output", str(folder), "--ckpt_path", "last"]
    statuses, out = lab.run(*command, processes=processes)
    assert statuses == [0] * processes, f"{ends}\n{out}"
    try:
        assert_same(reference, folder)
    except AssertionError as error:
        raise AssertionError(f"{kind}: {ends}") from error
    shutil.rmtree(folder)
