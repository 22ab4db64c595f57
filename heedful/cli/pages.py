"""The help of ``heedful train`` and ``heedful evaluate``: one screen, without making the parser."""

from collections.abc import Sequence
from textwrap import fill
from typing import NamedTuple

from heedful.records.command_lines import WIDTH
from heedful.records.storage.named_configs import DEFAULTS


class Setting(NamedTuple):
    """A setting that people use.

    Attributes:
        flag: As it is typed.
        value: What is written behind it; "" for none.
        default: What it is where nobody names it; None where nothing is.
        told: What it does.
    """

    flag: str
    value: str
    default: object
    told: str


class Page(NamedTuple):
    """The help of a command.

    Attributes:
        about: What the command does.
        settings: The settings that people use.
        examples: Words behind the command, and what they do.
    """

    about: str
    settings: Sequence[Setting]
    examples: Sequence[tuple[str, str]]


COMMON = [
    Setting("--evaluations", "NAME,NAME", None, "only these measurements"),
    Setting("--slices", "COLUMN,COLUMN", None, "numbers by the values of columns, too"),
    Setting("--attentiveness.draws", "K", 5, "counterfactuals of an example and part"),
    Setting("--trainer.devices", "N", "auto", "processes: GPUs, or CPU processes"),
    Setting("--trainer.precision", "P", None, "such as bf16-mixed"),
    Setting("--seed_everything", "N", 0, "all that is random follows from it"),
    Setting("--output", "DIR", None, "folder of the results; by default in runs/"),
    Setting("--config", "FILE", None, "settings from a YAML file"),
]
PAGES = {
    "train": Page(
        "Train a classifier over paired inputs, and watch each epoch whether it heeds every part of them.",
        [
            Setting("--data", "NAME", DEFAULTS["data"], "mnli, rte, ..., or a YAML file"),
            Setting("--data.path", "PATH", None, "its files, where they are not from the hub"),
            Setting("--model", "NAME", DEFAULTS["model"], "minilm, ..., a hub id, or a folder"),
            Setting("--augment", "NAME", None, "counterfactual, or another experiment"),
            Setting("--partial", "PART", None, "train on one part alone"),
            Setting("--init_from", "RUN", None, "begin with the model of a run that is done"),
            Setting("--resume", "RUN", None, "go on with a run that was stopped"),
            Setting("--trainer.max_epochs", "N", 2, "epochs"),
            Setting("--model.learning_rate", "X", 1e-4, "the highest learning rate"),
            Setting("--model.max_length", "N", 256, "most tokens of an input"),
            Setting("--data.batch_size", "N", 32, "examples of a step, on each device"),
            Setting("--data.max_train", "N", None, "so many training examples at most"),
            *COMMON,
        ],
        [
            ("", "MiniLM on the embedded data, in minutes"),
            ("--data mnli --augment counterfactual", "MNLI from the hub, with counterfactual examples"),
            ("--data mnli --data.path DIR --partial hypothesis", "a model of the hypothesis alone"),
        ],
    ),
    "evaluate": Page(
        "Measure a model on everything that Heedful knows, on all examples and in full precision.",
        [
            Setting("--checkpoint", "RUN", None, "a run or a checkpoint: its model and data"),
            Setting("--model", "NAME", DEFAULTS["model"], "or a model that was never trained here"),
            Setting("--endpoint", "NAME", None, "or one behind the server OPENAI_BASE_URL"),
            Setting("--data", "NAME", DEFAULTS["data"], "other data than the run's"),
            Setting("--data.path", "PATH", None, "its files, where they are not from the hub"),
            Setting("--partial", "PART", None, "show the model one part alone"),
            Setting("--data.max_validation", "N", None, "so many examples at most"),
            Setting("--data.eval_batch_size", "N", 64, "inputs of a batch"),
            Setting("--prompt.tuples", "N", 0, "demonstrations in the prompt"),
            Setting("--attributions.methods", "M", "shap", "what explains a prediction"),
            Setting("--natural_logic.path", "DIR", None, "NLI-XY: causal effects are measured"),
            Setting("--dry_run", "", False, "count requests to a server, and send none"),
            *COMMON,
        ],
        [
            ("--checkpoint runs/mnli/minilm/plain/version_0", "a run that train made"),
            ("--data rte --checkpoint RUN", "on other data"),
            ("--data mnli --model FacebookAI/roberta-large-mnli", "a model of the hub"),
        ],
    ),
}


def page(command: str, program: str) -> str:
    """The help of a command.

    Args:
        command: "train" or "evaluate".
        program: What the user typed to start it: "heedful train", or "python train.py".
    """
    about, settings, examples = PAGES[command]
    left = [f"  {s.flag} {s.value}".rstrip() for s in settings]
    width = max(map(len, left)) + 2
    shown = (f"{first:<{width}}{s.told}{_default(s)}" for first, s in zip(left, settings, strict=True))
    lines = [f"usage: {program} [settings]", "", fill(about, WIDTH), "", *shown, "", "examples:"]
    lines += [line for words, told in examples for line in (f"  {program} {words}".rstrip(), f"      {told}")]
    return "\n".join([*lines, "", f"All other settings: {program} --help all"])


def _default(setting: Setting) -> str:
    return "" if setting.default in (None, False, "auto") else f" ({setting.default})"
