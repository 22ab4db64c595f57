"""Every setting of the two commands changes what it should, or is refused; the list is the parser's own.

It is that of planted data and an encoder, and then of each kind of data and each family of models.
"""

import csv
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import timm
from pytorch_lightning import Trainer

from heedful import datamodules, lightning_modules
from heedful.assembly.evaluation import assemble as assemble_evaluation
from heedful.assembly.job import Job
from heedful.assembly.library_errors import refusing
from heedful.assembly.named_folder import require_inside
from heedful.assembly.training import assemble as assemble_training
from heedful.cli.app import HeedfulCLI, naming_flags
from heedful.datamodules import PairedData, Planted
from heedful.datamodules.planted import LABELS, planted_pair
from heedful.lightning_modules import Classifier, Encoder, Reader, Seq2Seq, Writer
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.records import Examples, HeedfulError
from heedful.records.made import settings
from heedful.records.pool.contents import identities

from causal import save
from commands import job_of
from drawn_pictures import write_vqa
from infotabs_files import write_infotabs

pytestmark = pytest.mark.slow  # each case makes the parser


def no(code: str, *facts: str) -> str:
    """It is refused: by this code, with these facts in the message."""
    return "refused: " + " | ".join([code, *facts])


NOTHING = no("idle-setting")
OTHER_SEED = no("clashing-settings", "--seed_everything 3")
NO_INOCULATION = no("idle-setting", "--augment inoculation")
NO_COUNTERFACTUALS = no("idle-setting", "--augment counterfactual")
PROCESS = "process"  # where and how it runs; no number changes
ELSEWHERE = "elsewhere"  # what it does has tests of its own
CONSENT = "consent"  # to what is refused without it
COMMON: dict[str, tuple[Any, str]] = {
    "config": ("FILE", ELSEWHERE),
    "seed_everything": (7, "rows"),
    "allow_package": ("json", ELSEWHERE),
    "output": ("DIR", ELSEWHERE),
    "data": ("mnli", ELSEWHERE),
    "model": ("minilm", ELSEWHERE),
    "trainer.limit_val_batches": (0.5, "trainer"),
    "trainer.limit_test_batches": (1, NOTHING),
    "trainer.limit_predict_batches": (1, NOTHING),
    "trainer.default_root_dir": ("x", no("idle-setting", "--output")),
    "trainer.enable_autolog_hparams": (False, NOTHING),
    "trainer.model_registry": ("x", NOTHING),
    "trainer.use_distributed_sampler": (True, NOTHING),
    "trainer.reload_dataloaders_every_n_epochs": (1, no("idle-setting", "--data.resample_counterfactuals")),
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
    "model.labels": ("[a,b,c]", NOTHING),
    "model.collapse": ("argmax", NOTHING),
    "model.sha256": ("0" * 64, no("idle-setting", "package:")),
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
    "data.folds": (3, no("missing-setting", "--data.folds N", "--data.fold K")),
    "data.fold": (1, no("missing-setting", "--data.folds N", "--data.fold K")),
    "data.slices": ("[x]", no("missing-column", "--data.slices x", "planted")),
    "data.max_validation": (5, "rows"),
    "data.eval_batch_size": (5, "batches"),
    "data.num_workers": (1, PROCESS),
    "data.seed": (3, OTHER_SEED),
    "data.note": ("a note", "rows"),
    "data.template": ("{premise} {hypothesis}", NOTHING),
    "data.verbalisers": ("{neutral: maybe}", NOTHING),
    "data.prompts": ("{a: {question: '{premise} {hypothesis}'}}", NOTHING),
    "attentiveness.draws": (2, "plan"),
    "natural_logic.path": ("nowhere", no("missing-file", "nowhere")),
    "natural_logic.split": ("dev", no("idle-setting", "--natural_logic.path")),
    "natural_logic.seeds": (3, no("idle-setting", "--natural_logic.path")),
    "natural_logic.paired": (True, no("idle-setting", "--natural_logic.path")),
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
    "trainer.enable_checkpointing": (False, no("unfit-trainer", "--trainer.enable_checkpointing False")),
    "trainer.barebones": (True, no("unfit-trainer", "--trainer.barebones True")),
    "trainer.sync_batchnorm": (True, PROCESS),
    "model.learning_rate": (1e-3, "model"),
    "model.weight_decay": (0.2, "model"),
    "model.warmup": (0.3, "model"),
    "data.n_train": (30, "training"),
    "data.augment": ("counterfactual", "training"),
    "data.inoculation.path": ("x", NO_INOCULATION),
    "data.inoculation.n": (3, NO_INOCULATION),
    "data.inoculation.by_group": (True, NO_INOCULATION),
    "data.inoculation.perturbed": (True, NO_INOCULATION),
    "data.resample_counterfactuals": (True, NO_COUNTERFACTUALS),
    "data.max_train": (20, "training"),
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
    "checkpoint.save_top_k": (2, no("repeated-name", "--checkpoint.save_top_k 2", "--checkpoint.filename")),
    "checkpoint.monitor": ("loss/planted", no("bad-monitor", "loss/planted", "--checkpoint.mode min")),
    "checkpoint.dirpath": ("x", no("clashing-settings", "--checkpoint.dirpath x", "--output")),
    "checkpoint.save_weights_only": (True, no("unfit-checkpoints", "--checkpoint.save_weights_only")),
    "checkpoint.every_n_train_steps": (3, no("unfit-checkpoints", "--checkpoint.every_n_train_steps")),
    "checkpoint.train_time_interval": ("00:01:00", no("unfit-checkpoints", "--checkpoint.train_time_interval")),
    "checkpoint.every_n_epochs": (2, "checkpoint"),
    "checkpoint.save_on_train_epoch_end": (True, no("unfit-checkpoints", "--checkpoint.save_on_train_epoch_end")),
    "evaluations": ("accuracy", "plan"),
    **dict.fromkeys(("init_from", "allow_changed_data", "resume", "ckpt_path"), ("RUN", ELSEWHERE)),
}
EVALUATE: dict[str, tuple[Any, str]] = {
    name: (value, NOTHING)
    for name, (value, _) in TRAIN.items()
    if name.partition(".")[0] in ("trainer", "model", "data")
}
EVALUATE |= {name: (TRAIN[name][0], NOTHING) for name in ("data.n_train", "data.max_train")}
EVALUATE |= {
    name: (TRAIN[name][0], NO_INOCULATION)
    for name in (
        "data.inoculation.path",
        "data.inoculation.n",
        "data.inoculation.by_group",
        "data.inoculation.perturbed",
    )
}
EVALUATE["data.resample_counterfactuals"] = (True, NO_COUNTERFACTUALS)
EVALUATE["attentiveness.max_examples"] = (3, no("idle-setting", "evaluate.py"))
EVALUATE |= {
    name: (value, NOTHING)
    for name, value in {
        "default_label.draws": 3,
        "table_rows.operations": "[delete]",
        "table_rows.max_examples": 3,
        "table_rows.rows_per_table": 3,
        "evidence.split": "dev",
        "challenge.kinds": "[negation]",
        "challenge.half_or_double": True,
        "attributions.methods": "lime",
        "attributions.samples": 9,
        "attributions.examples": 9,
        "attributions.steps": 9,
        "attributions.explain": "gold",
        "attributions.hide": "delete",
        "attributions.shown": 3,
        "prompt.tuples": 1,
        "prompt.seeds": 2,
        "prompt.demonstrations": "counterfactual",
        "prompt.wordings": "x",
    }.items()
}
EVALUATE |= {
    "evidence.path": ("x", no("unfit-data", "--evidence.path x", "--data infotabs")),
    "counterfactual_tables.paths": ("[x]", no("missing-file", "--counterfactual_tables.paths x")),
    "counterfactual_tables.hypothesis_only": ("x", no("missing-rows", "--counterfactual_tables.hypothesis_only x")),
    "two_class.benchmarks": ("[x]", no("bad-setting", "--two_class.benchmarks [x]")),
    "attributions.scale": ("log-odds", no("bad-setting", "--attributions.scale log-odds")),
    "attributions.subwords": ("norm", no("bad-setting", "--attributions.subwords norm")),
}
EVALUATE |= dict.fromkeys(("checkpoint", "evaluations", "dry_run"), ("x", ELSEWHERE))
SETTINGS = {"train": COMMON | TRAIN, "evaluate": COMMON | EVALUATE}


NO_HUB = no("idle-setting", "--data.path")
TEXT: dict[str, tuple[Any, str]] = {  # data.*, of a folder of csv files
    "name": ("other", "rows"),
    "note": ("a note", "rows"),
    "path": ("{files}/other", "rows"),
    "splits": ("{validation: further}", "rows"),
    "parts": ("{premise: premise, hypothesis: other}", "rows"),
    "label": ("label2", "rows"),
    "labels": ("{entailment: [], neutral: [], contradiction: [], more: []}", "task"),
    "default_label": ("entailment", "rows"),
    "several": (" or ", "task"),
    "uid": ("id", "rows"),
    "groups": ("[genre]", "rows"),
    "cluster": ("premise", "rows"),
    "meta": ("[genre]", "rows"),
    "slices": ("[genre]", "rows"),
    "where": ("{genre: a}", "rows"),
    "quoting": (False, no("ragged-row", "validation.csv", "row 1")),
    "columns": ("[a, b]", no("ragged-row", "row 1", "--data.columns")),
    "hub": ("{id: a/b}", NO_HUB),
    "hold_out": (5, "rows"),
    "folds": (3, no("missing-setting", "--data.folds N", "--data.fold K")),
    "fold": (1, no("missing-setting", "--data.folds N", "--data.fold K")),
    "validate_on_train": (True, CONSENT),
    "max_validation": (5, "rows"),
    "max_train": (3, "training"),
    "mixture": ("[{split: further, share: 0.2}]", "training"),
    "augment": ("counterfactual", "training"),
    "resample_counterfactuals": (True, NO_COUNTERFACTUALS),
    "inoculation.path": ("x", NO_INOCULATION),
    "inoculation.n": (3, NO_INOCULATION),
    "inoculation.by_group": (True, NO_INOCULATION),
    "inoculation.perturbed": (True, NO_INOCULATION),
    "swap": ("[hypothesis]", "plan"),
    "distractors": ("[hypothesis]", "plan"),
    "partial": ("hypothesis", "rows"),
    "batch_size": (5, "batches"),
    "eval_batch_size": (5, "batches"),
    "num_workers": (1, PROCESS),
    "seed": (3, OTHER_SEED),
    "template": ("{premise} so {hypothesis}", NOTHING),
    "verbalisers": ("{neutral: maybe}", NOTHING),
    "prompts": ("{a: {question: '{premise} {hypothesis}'}}", NOTHING),
}
NOT_TRAINED: dict[str, str] = {  # in evaluate.py
    **dict.fromkeys(("batch_size", "augment", "mixture", "control"), NOTHING),
    **dict.fromkeys(("max_train", "without_tables"), NOTHING),
}
NLIXY = TEXT | {
    "path": ("{files}/nlixy2", "rows"),
    "splits": ("{validation: test}", "rows"),
    "parts": ("{premise: premise, hypothesis: insertion}", "rows"),
    "label": ("relation", no("unknown-label", "row 1", "--data.labels")),
    "several": (", ", "task"),
    "uid": ("null", "rows"),
    "groups": ("[context, pair]", "rows"),
    "meta": ("[context, operator]", "rows"),
    "labels": ("{entailment: [], neutral: [non-entailment], contradiction: [], more: []}", "task"),
    "slices": ("[operator]", "rows"),
    "where": ("{relation: leq}", "rows"),
    "quoting": (False, no("idle-setting", "nlixy")),
    "columns": ("[a, b]", no("idle-setting", "nlixy")),
    "mixture": ("[{split: dev, share: 0.2}]", "training"),
}
ONE_PART = no("unfit-data", "sentence")
MSGS = TEXT | {
    "task": ("main_verb_control", "rows"),
    "control": ("10L", "training"),
    "path": ("{files}/msgs2", "rows"),
    "splits": ("{validation: control_train}", no("unknown-name", "--data.where", "'condition'", "'test'")),
    "parts": ("{sentence: condition}", "rows"),
    "label": ("surface_feature_label", "rows"),
    "labels": ("{absent: [0], present: [1], more: []}", "task"),
    "default_label": ("absent", "rows"),
    "several": (", ", "task"),
    "uid": ("null", "rows"),
    "groups": ("[condition]", "rows"),
    "cluster": ("condition", "rows"),
    "meta": ("[paradigmID]", "rows"),
    "slices": ("[surface_feature_label]", "rows"),
    "where": ("{validation: {condition: training}}", "rows"),
    "quoting": (False, NOTHING),
    "columns": ("[a, b]", NOTHING),
    "hold_out": (5, no("clashing-settings", "--data.hold_out 5", "--data.splits", "test")),
    "mixture": ("[{split: control_train, share: 0.1}]", "training"),
    "augment": ("counterfactual", ONE_PART),
    "swap": ("[sentence]", ONE_PART),
    "distractors": ("[sentence]", no("bad-setting", "--data.distractors")),
    "partial": ("sentence", "regime"),
    "template": ("say {sentence}", NOTHING),
    "verbalisers": ("{absent: maybe}", NOTHING),
    "prompts": ("{a: {question: '{sentence}'}}", NOTHING),
}
TABLES = TEXT | {
    "table_style": ("structure", "task"),
    "keep_rows": (1, "task"),
    "without_tables": ("{files}/one.csv", "training"),
    "path": ("{files}/tab2/infotabs", "rows"),
    "splits": ("{validation: alpha1}", "rows"),
    "parts": ("{premise: premise, hypothesis: annotater_id}", "rows"),
    "label": ("table_id", no("unknown-label", "row 1", "--data.labels")),
    "labels": ("{entailment: [E], neutral: [N], contradiction: [C], more: []}", "task"),
    "several": (", ", "task"),
    "uid": ("hypothesis", "rows"),
    "groups": ("[annotater_id]", "rows"),
    "meta": ("[annotater_id]", "rows"),
    "slices": ("[annotater_id]", "rows"),
    "where": ("{table_id: T1}", "rows"),
    "quoting": (False, "rows"),
    "hold_out": (2, "rows"),
    "mixture": ("[{split: dev, share: 0.2}]", "training"),
}
READING = {name: row for name, row in TEXT.items() if name not in ("label", "labels", "default_label")} | {
    "answers": ("gold2", "rows"),
    "no_answer": ("other_none", "rows"),
    "distractors": ("[]", "plan"),
    "path": ("{files}/rag2", "rows"),
    "parts": ("{passage: distractor, question: question, distractor: passage}", "rows"),
    "several": (", ", no("idle-setting", "'answers'")),
    "uid": ("null", "rows"),
    "groups": ("[kind]", "rows"),
    "cluster": ("passage", "rows"),
    "meta": ("[kind]", "rows"),
    "slices": ("[kind]", "rows"),
    "where": ("{kind: a}", "rows"),
    "quoting": (False, NOTHING),
    "columns": ("[a, b]", NOTHING),
    "mixture": ("[{split: further, share: 0.2}]", no("unfit-data", "--data.mixture")),
    "swap": ("[question]", "plan"),
    "partial": ("question", no("unfit-data", "--partial question", "distractor")),
    "template": ("{question} in {passage} {distractor}", "batch"),
    "verbalisers": ("{neutral: maybe}", no("unknown-name", "--data.verbalisers neutral")),
    "prompts": ("{a: {question: '{passage} {question} {distractor}'}}", no("idle-setting", "--prompt.wordings")),
}
PICTURES = TEXT | {
    "pictures": ("[]", no("bad-setting", "--data.pictures")),
    "answers": ("answers.txt", no("clashing-settings", "--data.labels", "--data.answers")),
    "image_folder": ("{files}/squares2", no("missing-file", "row ", "squares2")),
    "path": ("{files}/squares2", "rows"),
    "parts": ("{image: 'pictures/{file}', question: id}", "rows"),
    "label": ("id", no("unknown-label", "row 1", "--data.labels")),
    "labels": ("{'no': [], 'yes': [], more: []}", "task"),
    "default_label": ("yes", "rows"),
    "several": (", ", "task"),
    "uid": ("null", "rows"),
    "groups": ("[text]", "rows"),
    "cluster": ("question", "rows"),
    "meta": ("[file]", "rows"),
    "slices": ("[text]", "rows"),
    "where": ("{text: 'is it red ?'}", "rows"),
    "quoting": (False, NOTHING),
    "columns": ("[a, b]", NOTHING),
    "mixture": ("[{split: further, share: 0.2}]", no("unfit-data", "--data.mixture")),
    "swap": ("[question]", "plan"),
    "distractors": ("[question]", no("clashing-settings", "--data.swap question")),
    "partial": ("question", "regime"),
    "template": ("{image} {question}", NOTHING),
    "verbalisers": ("{'no': maybe}", NOTHING),
    "prompts": ("{a: {question: '{question}'}}", NOTHING),
}
QUESTIONS = {name: row for name, row in PICTURES.items() if name not in ("labels", "hub")} | {
    "answers": (3, "task"),
    "given": ("nothing", "rows"),
    "label": ("answer_type", no("nothing-left", "--data.answers")),
    "image_folder": ("{files}/squares2", NOTHING),
    "path": ("{files}/vqa2", "rows"),
    "splits": ("{validation: train}", no("trained-on", "'train'", "--data.splits")),
    "parts": ("{image: image, question: answer_type}", "rows"),
    "default_label": ("unrelated", "rows"),
    "several": (", ", no("idle-setting", "'answers'")),
    "groups": ("[answer_type]", "rows"),
    "meta": ("[question_type]", "rows"),
    "slices": ("[question_type]", "rows"),
    "where": ("{answer_type: other}", "rows"),
    "augment": ("counterfactual", no("missing-setting", "--data.default_label")),
    "hub.id": ("a/b", NO_HUB),
    "hub.revision": ("x", NO_HUB),
    "hub.subset": ("x", NO_HUB),
    "hub.train": ("x/y", NO_HUB),
    "verbalisers": ("{neutral: maybe}", no("unknown-name", "--data.verbalisers neutral")),
}
LEARNS = {"learning_rate": (1e-3, "model"), "weight_decay": (0.2, "model"), "warmup": (0.3, "model")}
PRETRAINED: dict[str, tuple[Any, str]] = LEARNS | {
    "backbone": ("DIR", ELSEWHERE),
    "max_length": (20, "model"),
    "max_unknown": (0.9, "model"),
    "sha256": ("0" * 64, no("idle-setting", "package:")),
    "compiled": (True, "model"),
}
HEAD = PRETRAINED | {
    "labels": ("[a, b, c]", NOTHING),
    "collapse": ("argmax", NOTHING),
}
CAUSAL: dict[str, tuple[Any, str]] = {
    **{name: (value, NOTHING) for name, (value, _) in LEARNS.items()},
    "backbone": ("DIR", ELSEWHERE),
    "adapter": ("DIR", ELSEWHERE),
    "gguf_file": ("x", no("missing-file", "--model.gguf_file x")),
    "sha256": ("0" * 64, no("idle-setting", "package:")),
    "max_length": (20, no("too-long", "20", "--prompt.tuples", "--model.max_length")),
    "max_unknown": (0.9, "model"),
    "chat": (False, "batch"),
    "decoding": ("likelihood", "model"),
    "score": ("mean", "model"),
    "calibrated": (True, "model"),
    "longest_answer": (3, NOTHING),
    "share_prefix": (False, "model"),
}
ENDPOINT: dict[str, tuple[Any, str]] = {
    **{
        name: (value, "model")
        for name, value in {
            "name": "org/other",
            "read": "first_token",
            "chat": False,
            "temperature": 0.5,
            "seed": 4,
            "max_tokens": 5,
            "extra": "{a: 1}",
            "max_requests": 3,
            "prices": "[1, 2]",
            "cache": "{files}/others.sqlite",
            "prompt": "'{premise} {hypothesis}?'",
        }.items()
    },
    **{name: (value, PROCESS) for name, value in {"concurrency": 2, "timeout": 9}.items()},
    **dict.fromkeys(("allow_invalid", "allow_redirects"), (True, CONSENT)),
}


class Family(NamedTuple):
    """A kind of data, or a family of models, with what it is tried with.

    Attributes:
        rows: A line for each of its settings.
        argv: The command line.
        section: "data" or "model".
        commands: Those that it is tried in.
        evaluated: What is otherwise in evaluate.py than in training.
    """

    rows: dict[str, tuple[Any, str]]
    argv: str
    section: str = "data"
    commands: tuple[str, ...] = ("train", "evaluate")
    evaluated: dict[str, str] = {}

    def lines(self, command: str) -> dict[str, tuple[Any, str]]:
        """The lines that hold in a command."""
        if command == "train" or self.section == "model":
            return self.rows
        other = NOT_TRAINED | self.evaluated
        return {name: (value, other.get(name, does)) for name, (value, does) in self.rows.items()}


ENCODER = "--model {tiny_bert} --model.max_length 64"
TIMM = "--model timm --model.backbone {tiny_bert} --model.sha256 null --model.vision test_efficientnet"
TIMM += " --model.image_size [32,32] --model.hidden 16 --model.max_length 32"
SQUARES = "--data {files}/squares.yaml --data.path {files}/squares"
VQA = "--data vqa2 --data.path {files}/vqa --data.answers 6"
RAG = "--data rag --data.path {files}/rag"
SQUAD = "--data squad2 --data.path {files}/squad"
SMALL = "--data planted --data.n_validation 12"
T5 = "--model t5 --model.backbone {tiny_t5}"
VILT = "--model vilt --model.backbone {tiny_vilt}"
CACHE = {"cache": (3, PROCESS)}
FAMILIES = {  # by the name of the class, and more where it has several lives
    "PairedText": Family(TEXT, f"--data {{files}}/text.yaml --data.path {{files}}/text {ENCODER}"),
    "NaturalLogic": Family(NLIXY, f"--data nlixy --data.path {{files}}/nlixy {ENCODER}"),
    "Msgs": Family(MSGS, f"--data msgs --data.path {{files}}/msgs {ENCODER}", evaluated={"augment": ONE_PART}),
    "PairedTables": Family(TABLES, f"--data infotabs --data.path {{files}}/tab/infotabs {ENCODER}"),
    "Reading": Family(READING, f"{RAG} {T5}", evaluated={"mixture": READING["mixture"][1]}),
    "PairedImages": Family(PICTURES, f"{SQUARES} {TIMM}", evaluated={"mixture": PICTURES["mixture"][1]}),
    "VisualQuestions": Family(
        QUESTIONS,
        f"{VQA} {VILT}",
        evaluated={name: QUESTIONS[name][1] for name in ("mixture", "augment")} | {"splits": "rows", "label": "task"},
    ),
    "Reader": Family(
        PRETRAINED | {"overlap": (4, "batch"), "longest_answer": (3, "model"), "threshold": (0.5, "model")},
        f"{SQUAD} --model Reader --model.backbone {{tiny_bert}} --model.max_length 24 --model.overlap 6"
        " --model.longest_answer 4",
        "model",
        ("train",),
    ),
    "Seq2Seq": Family(
        PRETRAINED
        | {"collapse": HEAD["collapse"], "score": ("mean", "model"), "decoding": ("greedy", "model")}
        | {"max_length": (20, "batch")},
        f"{SMALL} {T5}",
        "model",
        ("train",),
    ),
    "Writer": Family(
        PRETRAINED
        | {"no_answer": ("nobody knows", "batch"), "longest_answer": (3, "model")}
        | {"max_length": (20, no("too-long", "--model.max_length 20"))},
        f"{RAG} {T5}",
        "model",
        ("train",),
    ),
    "LateFusion": Family(
        HEAD
        | CACHE
        | {"vision": ("test_vit", "model"), "freeze_vision": (False, "model"), "image_size": ("[40,40]", "model")}
        | {"hidden": (8, "model")},
        f"{SQUARES} {TIMM}",
        "model",
        ("train",),
    ),
    "Vilt": Family(HEAD | CACHE, f"{SQUARES} {VILT}", "model", ("train",)),
    "Blip": Family(
        HEAD | CACHE,
        f"{SQUARES} --model blip --model.backbone {{tiny_blip}} --model.max_length 32",
        "model",
        ("train",),
    ),
    "BlipAnswers": Family(
        PRETRAINED | CACHE | {"rank": (2, "model")},
        f"{VQA} --model blip-vqa --model.backbone {{tiny_blip}} --model.max_length 32",
        "model",
        ("train",),
    ),
    "CausalLM": Family(CAUSAL, f"{SMALL} --model {{llama}}", "model", ("evaluate",)),
    "CausalLM of spans": Family(
        CAUSAL
        | {"decoding": ("likelihood", NOTHING), "score": ("mean", NOTHING), "calibrated": (True, NOTHING)}
        | {"longest_answer": (3, "model"), "max_length": (60, no("too-long", "60", "--model.max_length"))},
        f"{RAG} --model {{llama}}",
        "model",
        ("evaluate",),
    ),
    "Endpoint": Family(
        ENDPOINT, f"{SMALL} --endpoint org/tiny --model.cache {{files}}/answers.sqlite", "model", ("evaluate",)
    ),
    "Endpoint of decisions": Family(
        ENDPOINT
        | {
            name: (ENDPOINT[name][0], no("idle-setting", "--endpoint.read"))
            for name in ("chat", "temperature", "seed", "max_tokens")
        },
        f"{SMALL} --endpoint org/tiny --model.cache {{files}}/answers.sqlite --model.read systemone",
        "model",
        ("evaluate",),
    ),
}


class Prepared(NamedTuple):
    """A run that is ready to begin, and its Trainer."""

    job: Job
    trainer: Trainer


class Parsed(Exception):
    """The command line was read; nothing else is wanted."""


def settings_of(evaluating: bool, monkeypatch: pytest.MonkeyPatch, *argv: str) -> set[str]:
    """The names of all settings, from the parser itself."""
    parsed = {}

    def parse(_: HeedfulCLI, parser: Any, args: list[str]) -> None:
        parsed.update(config=parser.parse_args(args))
        raise Parsed

    monkeypatch.setattr(HeedfulCLI, "parse_arguments", parse)
    with pytest.raises(Parsed):
        job_of(monkeypatch, argv, evaluating)
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


def rows_of_pairs(seed: str, n: int) -> list[dict[str, str]]:
    """Pairs with further columns: another hypothesis, another label, a genre, an id."""
    found = []
    for i in range(n):
        premise, hypothesis, label = planted_pair(0, seed, i, 0.5, 0.1)
        _, other, label2 = planted_pair(1, seed, i, 0.5, 0.1)
        found.append({"id": f"{seed}{i}", "premise": f'"{premise}"\n', "hypothesis": hypothesis, "label": label})
        found[-1] |= {"genre": "ab"[i % 2], "other": other, "label2": label2}
    return found


def rows_of_passages(seed: str, n: int) -> list[dict[str, Any]]:
    """Questions about two passages, every fourth without an answer."""
    return [
        {
            "id": f"{seed}{i}",
            "passage": f"The {seed} {i} in the kitchen .",
            "question": f"the {seed} {i} in the",
            "distractor": f"The sun {i} in the kitchen garden .",
            "answers": ["kitchen"] if i % 4 else [],
            "gold2": ["kitchen"],
            "other_none": i % 2 == 0,
            "article": f"a{i // 2}",
            "kind": "ab"[i % 2],
        }
        for i in range(n)
    ]


def rows_of_msgs(conditions: tuple[str, ...], seed: int, n: int) -> list[dict[str, Any]]:
    return [
        {
            "sentence": f"the cook {'is painting' if label else 'paints'} dogs {condition} {i} .",
            "linguistic_feature_label": label,
            "surface_feature_label": (label + (condition != "training")) % 2,
            "condition": condition,
            "sentenceID": f"{condition}{i}-{label}",
            "paradigmID": i,
        }
        for i in range(seed, seed + n)
        for condition in conditions
        for label in (0, 1)
    ]


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def write_texts(folder: Path, seed: str) -> None:
    folder.mkdir()
    for split, n in (("train", 40), ("validation", 12), ("further", 14)):
        with (folder / f"{split}.csv").open("w", newline="") as file:
            rows = rows_of_pairs(seed + split, n)
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def write_tables(folder: Path, lines: int) -> None:
    """As of :func:`write_infotabs`, with so many pairs to validate on, and one less in alpha1."""
    main = write_infotabs(folder) / "infotabs" / "maindata"
    for name, kept in (("infotabs_dev", lines), ("infotabs_test_alpha1", lines - 1)):
        path = main / f"{name}.tsv"
        path.write_text(
            "\n".join([*path.read_text().replace("Year: 1999", '"Year: 1999"').split("\n")[: kept + 1], ""])
        )


@pytest.fixture(scope="module")
def places(
    tmp_path_factory, tiny_bert, tiny_t5, tiny_vilt, tiny_blip, write_nlixy, write_squad, write_squares
) -> dict[str, Path]:
    """Names in the command lines of families to what they stand for."""
    files = tmp_path_factory.mktemp("families")
    for k, more in enumerate(("", "2")):
        pairs = [("dog", "animal", "leq"), ("cat", "child", "none")]
        for split in ("train", "dev", "test"):
            contexts = [(f"A x {split} {k} {i}.", "up") for i in range(4)] + [
                (f"No x {split} {i}.", "down") for i in (1, 2)
            ]
            write_nlixy(files / f"nlixy{more}" / split, contexts, pairs)
        for seed, task in ((0, "main_verb_lexical_content_the"), (50, "main_verb_control")):
            folder = files / f"msgs{more}" / task
            write_jsonl(folder / "train.jsonl", rows_of_msgs(("training",), 200 + seed + k, 30))
            write_jsonl(folder / "control_train.jsonl", rows_of_msgs(("control",), 200, 30))
            write_jsonl(folder / "test.jsonl", rows_of_msgs(("training", "test"), seed + k, 8))
        for split, n in (("train", 30), ("validation", 12 - k), ("further", 8)):
            write_jsonl(files / f"rag{more}" / f"{split}.jsonl", rows_of_passages(split, n))
        write_squares(files / f"squares{more}", 30, 12 - 2 * k)
        write_vqa(files / f"vqa{more}", 12, 8 - k)
        write_tables(files / f"tab{more}", 6 - k)
    write_texts(files / "text", "a")
    write_texts(files / "other", "b")
    (files / "squad").mkdir()
    write_squad(files / "squad" / "train.json", 6)
    write_squad(files / "squad" / "dev.json", 2)
    (files / "one.csv").write_text("table_id\nT2\n")
    questions = (files / "squares" / "validation.jsonl").read_text().splitlines(keepends=True)
    (files / "squares" / "further.jsonl").write_text("".join(questions[4:]))
    own = {"name": "own", "parts": {"premise": "premise", "hypothesis": "hypothesis"}, "default_label": "neutral"}
    own |= {"labels": {label: [] for label in LABELS}}
    (files / "text.yaml").write_text(json.dumps({"class_path": "PairedText", "init_args": own}))
    squares = {"name": "squares", "parts": {"image": "pictures/{file}", "question": "text"}, "pictures": ["image"]}
    squares |= {"labels": {"no": [], "yes": []}, "label": "answer", "default_label": "no", "uid": "id"}
    (files / "squares.yaml").write_text(json.dumps({"class_path": "PairedImages", "init_args": squares}))
    models = {"tiny_bert": tiny_bert, "tiny_t5": tiny_t5, "tiny_vilt": tiny_vilt, "tiny_blip": tiny_blip}
    return {"files": files, "llama": save(files / "llama"), **models}


def filled(text: str, places: dict[str, Path]) -> str:
    """A text with what names in braces stand for; other braces stay."""
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", str(place))
    return text


def test_each_class_is_tried() -> None:
    kinds = {**vars(datamodules), **vars(lightning_modules)}
    public = {kind for kind in kinds.values() if isinstance(kind, type) and issubclass(kind, (PairedData, Classifier))}
    tried = {Planted, Encoder, *(kinds[name.split()[0]] for name in FAMILIES)}
    assert public - {PairedData, Classifier} == tried


OF_FAMILIES = [(name, command) for name, family in FAMILIES.items() for command in family.commands]


@pytest.mark.parametrize("name", FAMILIES)
def test_each_setting_of_a_family_has_a_line_here(
    places: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = FAMILIES[name]
    argv = filled(family.argv, places).split()
    named = {
        n.partition(".")[2]
        for n in settings_of(family.commands == ("evaluate",), monkeypatch, *argv)
        if n.startswith(f"{family.section}.")
    }
    assert named - family.rows.keys() == set(), "say what it changes"
    assert family.rows.keys() - named == set()


@pytest.fixture(scope="module")
def prepare(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Prepared]:
    """Prepares a command, up to where it would make its folder."""
    folder = tmp_path_factory.mktemp("commands")
    create = timm.create_model

    def prepare(command: str, *args: str) -> Prepared:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
            patch.setattr(timm, "create_model", lambda name, pretrained=False, **more: create(name, **more))
            for kind in (PretrainedClassifier, Reader, Seq2Seq, Writer):
                patch.setattr(kind, "require_head", lambda self: None)
            patch.chdir(folder)
            with naming_flags(), refusing():
                job = job_of(patch, args, command == "evaluate")
                require_inside(job)
                job.prepare()
                assemble = assemble_evaluation if job.evaluating else assemble_training
                return Prepared(job, assemble(job, Path("nowhere"))[0])

    return prepare


@pytest.fixture(scope="module")
def start(tiny_bert: Path, prepare: Callable[..., Prepared]) -> Callable[..., Prepared]:
    """Prepares a command with one setting, of planted data and an encoder."""

    def start(command: str, *argv: str) -> Prepared:
        args = ["--model", str(tiny_bert), "--data.n_validation", "12", "--model.max_length", "64"]
        return prepare(command, *args, *(["--data.n_train", "40"] if command == "train" else []), *argv)

    return start


def told(examples: Examples) -> list[str]:
    """What a pool says of its examples, but where their pictures lie."""
    pictures = [f"parts.{part}" for part, kind in examples.kinds.items() if kind == "picture"]
    names = sorted(name for name in examples.table.column_names if name not in pictures)
    return [*names, *identities(examples.table, names).to_pylist()]


def state(prepared: Prepared) -> dict[str, Any]:
    """What settings may change, by the words of the table."""
    job, trainer = prepared
    data, model = job.data, job.model
    loops = ("max_epochs", "min_epochs", "max_steps", "min_steps", "limit_val_batches", "limit_train_batches")
    loops += ("overfit_batches", "val_check_interval", "check_val_every_n_epoch", "num_sanity_val_steps", "precision")
    loops += ("accumulate_grad_batches", "gradient_clip_val", "gradient_clip_algorithm", "fast_dev_run")
    trained = [data.train_examples.fingerprint, len(data.training_set())] if data.train_examples is not None else []
    return {
        "rows": [data.name, data.note, data.seed, data.default_label, data.slices, *told(data.pool)],
        "training": trained,
        "regime": data.regime,
        "task": data.full_task.as_dict(),
        "batches": [data.batch_size, data.eval_batch_size],
        "batch": repr(model.processor(data.pool[:3])),
        "model": {name: getattr(model, name) for name in settings(model) if hasattr(model, name)},
        "plan": [
            [(i.name, i.parts, i.draws, i.limit) for i in planned.plan.interventions]
            for planned in job.planned.values()
        ],
        "trainer": [*(getattr(trainer, name) for name in loops), [type(c).__name__ for c in trainer.callbacks]],
        "checkpoint": {
            name: str(value)
            for name, value in vars(job.best).items()
            if not name.startswith(("best", "made_of", "given"))
        }
        if job.best is not None
        else None,
    }


CASES = [(command, name) for command, of in SETTINGS.items() for name, (_, does) in of.items() if does != ELSEWHERE]
MOST = [case for case in CASES if SETTINGS[case[0]][case[1]][1] != PROCESS]
SHARE = 5  # one setting of so many is tried: each makes the parser


@pytest.fixture(scope="module")
def plain(start: Callable[..., Prepared]) -> dict[str, dict[str, Any]]:
    return {command: state(start(command)) for command in SETTINGS}


def check(does: str, flag: str, command: Callable[[], Prepared], plain: dict[str, Any]) -> None:
    """A command with a setting is refused with this code, or is otherwise in what the setting changes."""
    if does.startswith("refused: "):
        code, *facts = does.removeprefix("refused: ").split(" | ")
        named = [".".join(flag.partition("=")[0].split(".")[:2])] if code == "idle-setting" else []
        with pytest.raises(HeedfulError) as caught:
            command()
        assert caught.value.code == code
        assert [fact for fact in (*named, *facts) if fact not in str(caught.value)] == []
        return
    assert state(command())[does] != plain[does]


def flag_of(name: str, value: Any) -> str:
    return f"--{name}={value if isinstance(value, str) else json.dumps(value)}"


@pytest.mark.parametrize(("command", "name"), MOST[::SHARE])
def test_a_setting_changes_something_or_is_refused(
    start: Callable[..., Prepared], plain: dict[str, dict[str, Any]], command: str, name: str
) -> None:
    value, does = SETTINGS[command][name]
    flag = flag_of(name, value)
    check(does, flag, lambda: start(command, flag), plain[command])


CASES_OF_FAMILIES = [
    (name, command, setting)
    for name, command in OF_FAMILIES
    for setting, (_, does) in FAMILIES[name].lines(command).items()
    if does not in (PROCESS, ELSEWHERE, CONSENT)
]


@pytest.fixture(scope="module")
def plain_of(
    prepare: Callable[..., Prepared], places: dict[str, Path]
) -> Callable[[str, str], tuple[list[str], dict[str, Any]]]:
    """The command line of a family, and its state without a further setting."""

    @cache
    def plain_of(name: str, command: str) -> tuple[list[str], dict[str, Any]]:
        argv = filled(FAMILIES[name].argv, places).split()
        return argv, state(prepare(command, *argv))

    return plain_of


@pytest.mark.parametrize(("name", "command", "setting"), CASES_OF_FAMILIES[::SHARE])
def test_a_setting_of_a_family_changes_something_or_is_refused(
    prepare: Callable[..., Prepared],
    places: dict[str, Path],
    plain_of: Callable[[str, str], tuple[list[str], dict[str, Any]]],
    name: str,
    command: str,
    setting: str,
) -> None:
    argv, plain = plain_of(name, command)
    value, does = FAMILIES[name].lines(command)[setting]
    section = "endpoint" if "--endpoint" in argv else FAMILIES[name].section
    flag = filled(flag_of(f"{section}.{setting}", value), places)
    check(does, flag, lambda: prepare(command, *argv, flag), plain)
