"""Models that are asked in context: the prompts that are measured, one after the other, each in a folder of its own."""

from collections.abc import Iterator, Sequence

import torchvision_fix  # noqa: F401

from callbacks import RunFolder
from datamodules import PairedData
from datamodules.prompting import Prompting
from lightning_modules import Classifier
from records import HeedError
from records.prompts.prompt import Prompt


def prompts_of(prompting: Prompting | None, model: Classifier, data: PairedData) -> list[Prompt]:
    """The prompts to measure; none for a model that is asked without one.

    Args:
        prompting: The settings; None in training.
        model: The model.
        data: The data, set up.

    Raises:
        HeedError: The model reads no prompts, and settings of prompts are given; it cannot read one of them; or it is
            to be trained, and cannot be.
    """
    if prompting is None:
        if model.needs_prompt:
            raise HeedError(f"{model.description} is asked in context, and not trained here: use evaluate.py.")
        return []
    if not model.reads_prompts and prompting != Prompting():
        raise HeedError(
            f"--prompt: {model.description} is not asked in context; --model smollm2, a T5 or --model endpoint is."
        )
    prompts = prompting.prompts(data, model.own_wording) if model.needs_prompt or prompting != Prompting() else []
    for prompt in prompts:
        model.prompt_with(prompt)  # those that it cannot read are refused before anything is measured
    return prompts


def each_prompt(prompts: Sequence[Prompt], model: Classifier, run: RunFolder) -> Iterator[None]:
    """Prepare a model for one prompt after the other; once for nothing where there is none.

    The results of one prompt alone belong into the folder of the command; of several, each has a folder inside it.
    """
    whole = run.folder
    for prompt in prompts:
        model.prompt_with(prompt)
        inside = whole and len(prompts) > 1
        run.begin(whole / name_of(prompt) if inside else whole, {"prompt": prompt.as_dict()})
        yield
    if not prompts:
        yield


def name_of(prompt: Prompt) -> str:
    """The folder of a prompt among others of the same command."""
    return f"{prompt.name}-{prompt.kind}-k{prompt.tuples}-seed{prompt.seed}"
