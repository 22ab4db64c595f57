"""Every setting of the two commands changes what it should, or is refused; the list is the parser's own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heedful.cli.app import HeedfulCLI
from heedful.cli.short_forms import expand
from heedful.lightning_modules import Encoder
from heedful.records import HeedfulError

TRAINED = "nothing is trained here"
PROCESS = "process"  # where and how it runs; no number changes
ELSEWHERE = "elsewhere"  # what it does has tests of its own
COMMON: dict[str, tuple[Any, str]] = {
    "config": ("FILE", ELSEWHERE),
    "seed_everything": (7, "rows"),
    "allow_package": ("json", ELSEWHERE),
    "output": ("DIR", ELSEWHERE),
    "data": ("mnli", ELSEWHERE),
    "model": ("minilm", ELSEWHERE),
    "trainer.limit_val_batches": (0.5, "trainer"),
    "trainer.limit_test_batches": (1, "refused: changes nothing"),
    "trainer.limit_predict_batches": (1, "refused: changes nothing"),
    "trainer.default_root_dir": ("x", "refused: --output"),
    "trainer.enable_autolog_hparams": (False, "refused: changes nothing"),
    "trainer.model_registry": ("x", "refused: changes nothing"),
    "trainer.use_distributed_sampler": (True, "refused: changes nothing"),
    "trainer.reload_dataloaders_every_n_epochs": (1, "refused: resample_counterfactuals"),
    "trainer.precision": ("bf16-true", "trainer"),
    "trainer.fast_dev_run": (True, "trainer"),
    "trainer.callbacks": ("LearningRateMonitor", "trainer"),
    "trainer.plugins": ("[]", PROCESS),
    **{
        f"trainer.{name}": (value, PROCESS)
        for name, value in {
            "accelerator": "cpu",
            "strategy": "ddp",
            "devices": 1,
            "num_nodes": 1,
            "logger": False,
            "log_every_n_steps": 3,
            "enable_progress_bar": False,
            "enable_model_summary": True,
            "deterministic": True,
            "benchmark": True,
            "inference_mode": False,
            "profiler": "simple",
            "detect_anomaly": True,
        }.items()
    },
    "model.backbone": ("DIR", ELSEWHERE),
    "model.max_length": (48, "model"),
    "model.labels": ("[a,b,c]", "refused: no trained head"),
    "model.collapse": ("argmax", "refused: head of three labels"),
    "model.sha256": ("0" * 64, "refused: weights in a Python package"),
    "model.compiled": (True, "model"),
    "model.max_unknown": (0.9, "model"),
    "data.shortcut": (0.5, "rows"),
    "data.unrelated": (0.5, "rows"),
    "data.n_validation": (9, "rows"),
    "data.grammar_seed": (1, "rows"),
    "data.name": ("other", "rows"),
    "data.default_label": ("entailment", "rows"),
    "data.swap": ("[hypothesis]", "plan"),
    "data.partial": ("hypothesis", "rows"),
    "data.folds": (3, "refused: needs both"),
    "data.fold": (1, "refused: needs both"),
    "data.slices": ("[x]", "refused: no such column"),
    "data.max_validation": (5, "rows"),
    "data.eval_batch_size": (5, "batches"),
    "data.num_workers": (1, PROCESS),
    "data.seed": (3, "refused: follow the run's"),
    "data.note": ("a note", "rows"),
    "data.template": ("{premise} {hypothesis}", "refused: not in words around them"),
    "data.verbalisers": ("{neutral: maybe}", "refused: not in words around them"),
    "data.prompts": ("{a: {question: '{premise} {hypothesis}'}}", "refused: not in words around them"),
    "attentiveness.draws": (2, "plan"),
    "natural_logic.path": ("nowhere", "refused: nowhere"),
    "natural_logic.split": ("dev", "refused: needs --natural_logic.path"),
    "natural_logic.seeds": (3, "refused: needs --natural_logic.path"),
    "natural_logic.paired": (True, "refused: needs --natural_logic.path"),
}
TRAIN: dict[str, tuple[Any, str]] = {
    **{
        f"trainer.{name}": (value, "trainer")
        for name, value in {
            "max_epochs": 3,
            "min_epochs": 2,
            "max_steps": 3,
            "min_steps": 2,
            "max_time": "00:00:01:00",
            "limit_train_batches": 2,
            "overfit_batches": 1,
            "val_check_interval": 0.5,
            "check_val_every_n_epoch": 2,
            "num_sanity_val_steps": 1,
            "accumulate_grad_batches": 2,
            "gradient_clip_val": 0.5,
            "gradient_clip_algorithm": "value",
        }.items()
    },
    "trainer.enable_checkpointing": (False, "refused: ModelCheckpoint"),
    "trainer.barebones": (True, "refused: barebones"),
    "trainer.sync_batchnorm": (True, PROCESS),
    "model.learning_rate": (1e-3, "model"),
    "model.weight_decay": (0.2, "model"),
    "model.warmup": (0.3, "model"),
    "data.n_train": (30, "rows"),
    "data.augment": ("counterfactual", "rows"),
    "data.inoculation.path": ("x", "refused: says what --augment inoculation trains on"),
    "data.inoculation.n": (3, "refused: says what --augment inoculation trains on"),
    "data.inoculation.by_group": (True, "refused: says what --augment inoculation trains on"),
    "data.inoculation.perturbed": (True, "refused: says what --augment inoculation trains on"),
    "data.resample_counterfactuals": (True, "refused: needs --augment counterfactual"),
    "data.max_train": (20, "rows"),
    "data.batch_size": (5, "batches"),
    "attentiveness.max_examples": (3, "plan"),
    **{
        f"checkpoint.{name}": (value, "checkpoint")
        for name, value in {
            "mode": "min",
            "filename": "good",
            "save_last": False,
            "enable_version_counter": True,
            "last_every_n_steps": 5,
            "auto_insert_metric_name": False,
            "verbose": True,
            "save_on_exception": True,
        }.items()
    },
    "checkpoint.save_top_k": (2, "refused: needs a field in --checkpoint.filename"),
    "checkpoint.monitor": ("loss/planted", "refused: --checkpoint.mode min"),
    "checkpoint.dirpath": ("x", "refused: choose that with --output"),
    "checkpoint.save_weights_only": (True, "refused: "),
    "checkpoint.every_n_train_steps": (3, "refused: "),
    "checkpoint.train_time_interval": ("00:01:00", "refused: "),
    "checkpoint.every_n_epochs": (2, "checkpoint"),
    "checkpoint.save_on_train_epoch_end": (True, "refused: "),
    **dict.fromkeys(("init_from", "allow_changed_data", "resume", "ckpt_path"), ("RUN", ELSEWHERE)),
}
EVALUATE: dict[str, tuple[Any, str]] = {
    name: (value, f"refused: {TRAINED}")
    for name, (value, _) in TRAIN.items()
    if name.partition(".")[0] in ("trainer", "model", "data")
}
EVALUATE |= {
    name: (TRAIN[name][0], "refused: no training example is read") for name in ("data.n_train", "data.max_train")
}
EVALUATE |= {
    name: (TRAIN[name][0], "refused: inoculation")
    for name in (
        "data.inoculation.path",
        "data.inoculation.n",
        "data.inoculation.by_group",
        "data.inoculation.perturbed",
    )
}
EVALUATE["data.resample_counterfactuals"] = (True, "refused: needs --augment counterfactual")
EVALUATE["attentiveness.max_examples"] = (3, "refused: evaluate.py changes all examples")
UNNAMED = "refused: "
EVALUATE |= {
    name: (value, UNNAMED)
    for name, value in {
        "default_label.draws": 3,
        "table_rows.operations": "[delete]",
        "table_rows.max_examples": 3,
        "table_rows.rows_per_table": 3,
        "evidence.path": "x",
        "evidence.split": "dev",
        "challenge.kinds": "[negation]",
        "challenge.half_or_double": True,
        "counterfactual_tables.paths": "[x]",
        "counterfactual_tables.hypothesis_only": "x",
        "two_class.benchmarks": "[x]",
        "attributions.methods": "lime",
        "attributions.samples": 9,
        "attributions.examples": 9,
        "attributions.steps": 9,
        "attributions.explain": "gold",
        "attributions.scale": "log-odds",
        "attributions.hide": "delete",
        "attributions.subwords": "norm",
        "attributions.shown": 3,
        "prompt.tuples": 1,
        "prompt.seeds": 2,
        "prompt.demonstrations": "counterfactual",
        "prompt.wordings": "x",
    }.items()
}
EVALUATE |= dict.fromkeys(("checkpoint", "evaluations", "dry_run"), ("x", ELSEWHERE))
SETTINGS = {"train": COMMON | TRAIN, "evaluate": COMMON | EVALUATE}


class Parsed(Exception):
    """The command line was read; nothing else is wanted."""


def settings_of(evaluating: bool, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of all settings, from the parser itself."""
    parsed = {}

    def parse(_: HeedfulCLI, parser: Any, args: list[str]) -> None:
        parsed.update(config=parser.parse_args(args))
        raise Parsed

    monkeypatch.setattr(HeedfulCLI, "parse_arguments", parse)
    with pytest.raises(Parsed):
        HeedfulCLI(evaluating, Path, expand([]))
    return {
        name.replace("init_args.", "")
        for name in parsed["config"].keys()  # noqa: SIM118
        if not name.endswith(("class_path", "__path__"))
    }


@pytest.mark.parametrize("command", SETTINGS)
def test_each_setting_of_the_parser_has_a_line_here(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    named = settings_of(command == "evaluate", monkeypatch) | {"data", "model"}
    assert named - SETTINGS[command].keys() == set(), "say what it changes"
    assert SETTINGS[command].keys() - named == set()


@pytest.fixture(scope="module")
def start(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., HeedfulCLI]:
    """Prepares a command with one setting, up to where it would make its folder."""
    folder = tmp_path_factory.mktemp("commands")

    def start(command: str, *argv: str) -> HeedfulCLI:
        args = ["--model", str(tiny_bert), "--data.n_validation", "12"]
        args += ["--model.max_length", "64", *(["--data.n_train", "40"] if command == "train" else []), *argv]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["x.py", *args])
            patch.setattr(Encoder, "require_head", lambda self: None)
            patch.chdir(folder)
            return HeedfulCLI(command == "evaluate", lambda cli: Path("nowhere"), expand(args))

    return start


def state(cli: HeedfulCLI) -> dict[str, Any]:
    """What settings may change, by the words of the table."""
    data, model, trainer = cli.datamodule, cli.model, cli.trainer
    numbers = ("max_length", "learning_rate", "weight_decay", "warmup", "max_unknown", "compiled")
    loops = ("max_epochs", "min_epochs", "max_steps", "min_steps", "limit_val_batches", "limit_train_batches")
    loops += ("overfit_batches", "val_check_interval", "check_val_every_n_epoch", "num_sanity_val_steps", "precision")
    loops += ("accumulate_grad_batches", "gradient_clip_val", "gradient_clip_algorithm", "fast_dev_run")
    checkpoint = cli.config_init.get("checkpoint")
    trained = data.training_set() if data.train_examples is not None else ()
    return {
        "rows": [data.name, data.note, data.seed, data.default_label, data.pool.fingerprint, len(trained)]
        + ([data.train_examples.fingerprint] if len(trained) else []),
        "batches": [data.batch_size, data.eval_batch_size],
        "model": [getattr(model, name) for name in numbers] + [model.processor.max_length],
        "plan": [
            [(i.name, i.parts, i.draws, i.limit) for i in planned.plan.interventions]
            for planned in cli.planned.values()
        ],
        "trainer": [*(getattr(trainer, name) for name in loops), [type(c).__name__ for c in trainer.callbacks]],
        "checkpoint": {name: str(value) for name, value in vars(checkpoint).items() if not name.startswith("best")}
        if hasattr(checkpoint, "monitor")
        else None,
    }


CASES = [(command, name) for command, of in SETTINGS.items() for name, (_, does) in of.items() if does != ELSEWHERE]
MOST = [case for case in CASES if SETTINGS[case[0]][case[1]][1] != PROCESS]


@pytest.fixture(scope="module")
def plain(start: Callable[..., HeedfulCLI]) -> dict[str, dict[str, Any]]:
    return {command: state(start(command)) for command in SETTINGS}


@pytest.mark.slow
@pytest.mark.parametrize(("command", "name"), MOST)
def test_a_setting_changes_something_or_is_refused(
    start: Callable[..., HeedfulCLI], plain: dict[str, dict[str, Any]], command: str, name: str
) -> None:
    value, does = SETTINGS[command][name]
    flag = f"--{name}={value if isinstance(value, str) else json.dumps(value)}"
    if does.startswith("refused: "):
        with pytest.raises(HeedfulError) as caught:
            start(command, flag)
        assert does.removeprefix("refused: ") in str(caught.value).replace("§", "--")
        return
    assert state(start(command, flag))[does] != plain[command][does]
