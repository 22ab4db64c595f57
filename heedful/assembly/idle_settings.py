"""Settings that would be taken and change nothing: they are refused.

A file of settings may serve training and evaluation alike, and so may data and a model that were made in Python: looked
at is what the user names in the call itself, and of what these were made with, what never changes anything.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from heedful.callbacks import EVALUATIONS, Nothing
from heedful.datamodules.prompting import GIVEN, TEMPLATE
from heedful.datamodules.sources.hub_and_local import DELIMITED
from heedful.lightning_modules.pretrained.backbones import PACKAGE
from heedful.metrics.attributions.methods import METHODS
from heedful.records import SPAN, SettingError


class Idle(NamedTuple):
    """Settings that change nothing in some runs.

    Attributes:
        names: A regular expression of their names.
        in_run: Whether that is so in a run.
        why: What the message says of them.
        of_object: Whether the data or the model alone say so, whatever is done with them; then a setting that they were
            made with is refused as well.
    """

    names: str
    in_run: Callable[[Any], bool]
    why: str
    of_object: bool = False


def _explains_by(job: Any, *methods: str) -> bool:
    attributions = next((e for e in job.evaluations if e.name == "attributions"), None)
    return attributions is not None and bool({*methods} & {*attributions.methods})


def _measures_alone(job: Any, of_training: str = "") -> bool:
    """Whether no training example is read, neither to be shown nor since this setting is given."""
    is_evaluated = bool(of_training and getattr(job.data, of_training, None))
    return job.evaluating and not is_evaluated and not any(prompt.demonstrations for prompt in job.prompts)


def _reads_none_of(job: Any, *endings: str) -> bool:
    """Whether no file that may be read ends in one of these, with ".gz" or without."""
    return not job.data.reads(*endings)


def _names_sum(job: Any) -> bool:
    return job.model.sha256 is not None


IDLE = (
    Idle(
        r"trainer\.limit_(test|predict)_batches", lambda job: True, "no command tests or predicts in Lightning's sense"
    ),
    Idle(r"trainer\.default_root_dir", lambda job: True, "results go to a folder in runs/, or to output"),
    Idle(
        r"trainer\.(enable_autolog_hparams|model_registry)",
        lambda job: True,
        "no model or setting of it is handed to a logger here: run.json and config.yaml hold them",
    ),
    Idle(r"trainer\.sync_batchnorm", lambda job: job.evaluating, "nothing is trained here"),
    Idle(
        r"trainer\.use_distributed_sampler",
        lambda job: bool(job.trainer["use_distributed_sampler"]),
        "the data share themselves out among processes",
    ),
    Idle(
        r"trainer\.reload_dataloaders_every_n_epochs",
        lambda job: bool(job.trainer["reload_dataloaders_every_n_epochs"]),
        "data.resample_counterfactuals says whether examples are drawn anew in every epoch",
    ),
    Idle(
        r"trainer\.((min|max)_(epochs|steps|time)|limit_train_batches|overfit_batches|val_check_interval|"
        r"check_val_every_n_epoch|num_sanity_val_steps|accumulate_grad_batches|gradient_clip_(val|algorithm)|"
        r"enable_checkpointing|barebones)",
        lambda job: job.evaluating,
        "nothing is trained here",
    ),
    Idle(
        r"model\.(learning_rate|weight_decay|warmup)|augment|"
        r"data\.(augment|inoculation(\..*)?|resample_counterfactuals|batch_size|mixture(\..*)?|control)",
        lambda job: job.evaluating,
        "nothing is trained here",
    ),
    Idle(r"data\.max_train", _measures_alone, "no training example is read here"),
    Idle(
        r"data\.(n_train|without_tables)",
        lambda job: _measures_alone(job, "folds"),
        "no training example is read here",
    ),
    Idle(
        r"data\.hub(\..*)?",
        lambda job: getattr(job.data, "path", None) is not None,
        "the rows are those of the files that data.path names",
        of_object=True,
    ),
    Idle(
        r"data\.quoting",
        lambda job: _reads_none_of(job, *DELIMITED),
        "it is of csv, tsv and txt files, and there are none",
        of_object=True,
    ),
    Idle(
        r"data\.columns",
        lambda job: _reads_none_of(job, *DELIMITED, ".json"),
        "it is of csv, tsv, txt and json files, and there are none",
        of_object=True,
    ),
    Idle(
        r"data\.image_folder",
        lambda job: not job.data.picture_source.reads_files,
        "all pictures stand in the rows themselves",
        of_object=True,
    ),
    Idle(r"attentiveness\.max_examples", lambda job: job.evaluating, "evaluate.py changes all examples"),
    Idle(
        r"data\.(template|verbalisers|prompts)(\..*)?",
        lambda job: not job.model.reads_prompts,
        "the model reads the parts as they are, and not in words around them",
    ),
    Idle(
        r"data\.(template|verbalisers)(\..*)?",
        lambda job: bool(job.prompts) and all(prompt.name != TEMPLATE for prompt in job.prompts),
        "the model is asked in the words of data.prompts",
    ),
    Idle(
        r"data\.prompts(\..*)?",
        lambda job: all(prompt.name == TEMPLATE for prompt in job.prompts),
        "the model reads the template of the data; in evaluate.py, prompt.wordings names another wording",
    ),
    Idle(
        r"data\.prompts(\..*)?",
        lambda job: bool(job.prompts) and all(prompt.name == GIVEN for prompt in job.prompts),
        "the model is asked in the words of model.prompt; prompt.wordings names others",
    ),
    Idle(r"model\.longest_answer", lambda job: job.data.task.kind is not SPAN, "answers are labels here"),
    Idle(r"model\.(score|calibrated)", lambda job: job.data.task.kind is SPAN, "answers are texts here, not labels"),
    Idle(
        r"model\.decoding",
        lambda job: job.data.task.kind is SPAN and not job.model.writes,
        "answers are texts here, which are written",
    ),
    Idle(
        r"model\.(temperature|seed|max_tokens|chat)",
        lambda job: hasattr(job.model, "way") and not job.model.way.writes,
        "model.read names typed decisions, of which nothing is written",
        of_object=True,
    ),
    Idle(
        r"model\.sha256",
        lambda job: _names_sum(job) and not job.model.backbone.startswith(PACKAGE),
        "it is of weights in a Python package (package:MODULE/FOLDER) alone",
        of_object=True,
    ),
    Idle(
        r"model\.labels", lambda job: not getattr(job.model, "trained", True), "the model has no trained head to name"
    ),
    Idle(
        r"model\.collapse",
        lambda job: not getattr(job.model, "merges", True),
        "it is for a head of three labels on data of two, entailment or not",
    ),
    Idle(r"attributions\.samples", lambda job: not _explains_by(job, *METHODS), "gradients draw no samples"),
    Idle(
        r"attributions\.(steps|subwords)",
        lambda job: not _explains_by(job, "gradients"),
        "it is of gradients, which are not among attributions.methods",
    ),
)


def require_effect(job: Any) -> None:
    """Refuse settings that the user named and that change nothing.

    Args:
        job: A :class:`~heedful.assembly.job.Job`; its model, prompts and evaluations are there.

    Raises:
        HeedfulError: There is one; the message says why it changes nothing.
    """
    for name in job.given:
        evaluation = name.partition(".")[0]
        if evaluation in EVALUATIONS.keys() - job.planned.keys():
            nothing = job.engine.idle.get(evaluation, Nothing("runs only where it is named"))
            do = (
                "Leave it out."
                if evaluation in job.engine.idle
                else f"Add {evaluation} to evaluations, or leave it out."
            )
            raise SettingError(f"{name} changes nothing: {evaluation} {nothing.reason}. {do}")
        _require_none(name, IDLE, job)
    of_objects = [idle for idle in IDLE if idle.of_object]
    for kind, made in {"data": job.data, "model": job.model}.items():
        for name in sorted(made.given):
            _require_none(f"{kind}.{name}", of_objects, job)


def _require_none(name: str, rules: Iterable[Idle], job: Any) -> None:
    for idle in rules:
        if re.fullmatch(idle.names, name) and idle.in_run(job):
            raise SettingError(f"{name} changes nothing: {idle.why}. Leave it out.")
