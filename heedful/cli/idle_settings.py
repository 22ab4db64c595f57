"""Settings of the command line that would be taken and change nothing: they are refused.

A file of settings may serve training and evaluation alike, so that only what stands on the command line is looked at;
but a seed of its own for the data, which is nowhere followed, is refused in files as well.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jsonargparse import Namespace

from heedful.callbacks import EVALUATIONS, Nothing
from heedful.datamodules.prompting import TEMPLATE
from heedful.datamodules.sources.hub_and_local import DELIMITED
from heedful.lightning_modules.pretrained.backbones import PACKAGE
from heedful.metrics.attributions.methods import METHODS
from heedful.records import SPAN, HeedfulError
from heedful.records.storage.yaml_files import parse_yaml, read_yaml

OR_ADD = "Leave it out, or add what is missing."


class Idle(NamedTuple):
    """Settings that change nothing in some commands.

    Attributes:
        names: A regular expression of their names.
        in_command: Whether that is so in a command.
        why: What the message says of them.
    """

    names: str
    in_command: Callable[[Any], bool]
    why: str


def _explains_by(cli: Any, *methods: str) -> bool:
    attributions = cli.config_init.get("attributions")
    return attributions is not None and bool({*methods} & {*attributions.methods})


def _measures_alone(cli: Any, of_training: str = "") -> bool:
    """Whether no training example is read, neither to be shown nor since this setting is given."""
    is_evaluated = bool(of_training and cli.config.data.init_args.get(of_training))
    return cli.evaluating and not is_evaluated and not any(prompt.demonstrations for prompt in cli.prompts)


def _reads_none_of(cli: Any, *endings: str) -> bool:
    """Whether no file that may be read ends in one of these, with ".gz" or without."""
    return not cli.datamodule.reads(*endings)


def _names_sum(cli: Any) -> bool:
    return cli.config.model.init_args.sha256 is not None


IDLE = (
    Idle(
        r"trainer\.limit_(test|predict)_batches", lambda cli: True, "no command tests or predicts in Lightning's sense"
    ),
    Idle(r"trainer\.default_root_dir", lambda cli: True, "results go to a folder in runs/, or to --output"),
    Idle(
        r"trainer\.(enable_autolog_hparams|model_registry)",
        lambda cli: True,
        "no model or setting of it is handed to a logger here: run.json and config.yaml hold them",
    ),
    Idle(r"trainer\.sync_batchnorm", lambda cli: cli.evaluating, "nothing is trained here"),
    Idle(
        r"trainer\.use_distributed_sampler",
        lambda cli: bool(cli.config.trainer.use_distributed_sampler),
        "the data share themselves out among processes",
    ),
    Idle(
        r"trainer\.reload_dataloaders_every_n_epochs",
        lambda cli: bool(cli.config.trainer.reload_dataloaders_every_n_epochs),
        "--data.resample_counterfactuals says whether examples are drawn anew in every epoch",
    ),
    Idle(
        r"trainer\.((min|max)_(epochs|steps|time)|limit_train_batches|overfit_batches|val_check_interval|"
        r"check_val_every_n_epoch|num_sanity_val_steps|accumulate_grad_batches|gradient_clip_(val|algorithm)|"
        r"enable_checkpointing|barebones)",
        lambda cli: cli.evaluating,
        "nothing is trained here",
    ),
    Idle(
        r"model\.(learning_rate|weight_decay|warmup)|augment|"
        r"data\.(augment|inoculation(\..*)?|resample_counterfactuals|batch_size|mixture(\..*)?|control)",
        lambda cli: cli.evaluating,
        "nothing is trained here",
    ),
    Idle(r"data\.max_train", _measures_alone, "no training example is read here"),
    Idle(
        r"data\.(n_train|without_tables)",
        lambda cli: _measures_alone(cli, "folds"),
        "no training example is read here",
    ),
    Idle(
        r"data\.hub(\..*)?",
        lambda cli: cli.config.data.init_args.get("path") is not None,
        "the rows are those of the files that --data.path names",
    ),
    Idle(
        r"data\.quoting",
        lambda cli: _reads_none_of(cli, *DELIMITED),
        "it is of csv, tsv and txt files, and there are none",
    ),
    Idle(
        r"data\.columns",
        lambda cli: _reads_none_of(cli, *DELIMITED, ".json"),
        "it is of csv, tsv, txt and json files, and there are none",
    ),
    Idle(
        r"data\.image_folder",
        lambda cli: not cli.datamodule.found.reads_files,
        "all pictures stand in the rows themselves",
    ),
    Idle(r"attentiveness\.max_examples", lambda cli: cli.evaluating, "evaluate.py changes all examples"),
    Idle(
        r"data\.(template|verbalisers|prompts)(\..*)?",
        lambda cli: not cli.model.reads_prompts,
        "the model reads the parts as they are, and not in words around them",
    ),
    Idle(
        r"data\.(template|verbalisers)(\..*)?",
        lambda cli: bool(cli.prompts) and all(prompt.name != TEMPLATE for prompt in cli.prompts),
        "the model is asked in the words of --data.prompts",
    ),
    Idle(
        r"data\.prompts(\..*)?",
        lambda cli: all(prompt.name == TEMPLATE for prompt in cli.prompts),
        "the model reads the template of the data; in evaluate.py, --prompt.wordings names another wording",
    ),
    Idle(r"model\.longest_answer", lambda cli: cli.datamodule.task.kind is not SPAN, "answers are labels here"),
    Idle(
        r"model\.(score|calibrated)", lambda cli: cli.datamodule.task.kind is SPAN, "answers are texts here, not labels"
    ),
    Idle(
        r"model\.decoding",
        lambda cli: cli.datamodule.task.kind is SPAN and not cli.model.writes,
        "answers are texts here, which are written",
    ),
    Idle(
        r"model\.(temperature|seed|max_tokens|chat)",
        lambda cli: hasattr(cli.model, "way") and not cli.model.way.writes,
        "--model.read names typed decisions, of which nothing is written",
    ),
    Idle(
        r"model\.sha256",
        lambda cli: _names_sum(cli) and not str(cli.config.model.init_args.backbone).startswith(PACKAGE),
        "it is of weights in a Python package (package:MODULE/FOLDER) alone",
    ),
    Idle(
        r"model\.labels", lambda cli: not getattr(cli.model, "trained", True), "the model has no trained head to name"
    ),
    Idle(
        r"model\.collapse",
        lambda cli: not getattr(cli.model, "merges", True),
        "it is for a head of three labels on data of two, entailment or not",
    ),
    Idle(r"attributions\.samples", lambda cli: not _explains_by(cli, *METHODS), "gradients draw no samples"),
    Idle(
        r"attributions\.(steps|subwords)",
        lambda cli: not _explains_by(cli, "gradients"),
        "it is of gradients, which are not among --attributions.methods",
    ),
)


def require_effect(cli: Any, argv: Sequence[str]) -> None:
    """Refuse settings of a command line that change nothing.

    Args:
        cli: Its model, prompts and evaluations are there.
        argv: The command line as it was given.

    Raises:
        HeedfulError: There is one; the message says why it changes nothing.
    """
    given = [a.partition("=")[0].removeprefix("--") for a in argv if a.startswith("--")]
    for name in (flag.replace("init_args.", "") for flag in given):
        evaluation = name.partition(".")[0]
        if evaluation in EVALUATIONS.keys() - cli.planned.keys():
            nothing = cli.engine.idle.get(evaluation, Nothing("runs only where it is named"))
            do = "" if evaluation in cli.engine.idle else f"Add {evaluation} to --evaluations, or leave it out."
            raise HeedfulError("idle-setting", f"--{name} changes nothing: {evaluation} {nothing.reason}.", do)
        for idle in IDLE:
            if re.fullmatch(idle.names, name) and idle.in_command(cli):
                raise HeedfulError("idle-setting", f"--{name} changes nothing: {idle.why}.")


def require_one_seed(args: Sequence[str], config: Namespace) -> None:
    """Refuse a seed of the data that is not the run's, which the data follow.

    Args:
        args: The command line, expanded.
        config: What the parser made of it.

    Raises:
        HeedfulError: A flag or a file names another seed.
    """
    pairs = [*zip(args, [*args[1:], ""], strict=True)]
    given = [(flag, value) for a, after in pairs for flag, _, value in [a.partition("=")] for value in [value or after]]
    for flag, value in given:
        seed = value if re.fullmatch(r"--data\.(init_args\.)?seed", flag) else None
        run = config.seed_everything
        if flag in ("--config", "--data") and value.endswith((".yaml", ".yml", ".json")):
            seed, run = _seeds_of(read_yaml(value, f"{flag} {value}"), flag == "--config", run)
        elif flag == "--data" and value.startswith("{"):
            seed, run = _seeds_of(parse_yaml(value, "--data"), False, run)
        if seed is not None and str(seed) != str(int(run or 0)):
            shown = value if len(value) < 80 else "..."
            raise HeedfulError(
                "clashing-settings",
                f"{flag} {shown} gives the data the seed {seed}, and they have that of the run.",
                f"Name it with --seed_everything {seed}.",
            )


def _seeds_of(content: Any, whole: bool, run: Any) -> tuple[Any, Any]:
    """The seed of the data in a file, and that of the run, in the same file if it names one."""
    content = content if isinstance(content, Mapping) else {}
    data = content.get("data") if whole else content
    settings = data.get("init_args") if isinstance(data, Mapping) else None
    seed = settings.get("seed") if isinstance(settings, Mapping) else None
    return seed, content.get("seed_everything", run) if whole else run
