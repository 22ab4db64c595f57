"""The command line of train.py."""

from collections.abc import Iterator, Sequence
from shlex import quote

from heedful.assembly import training
from heedful.assembly.loading import OUR_PACKAGES
from heedful.assembly.results import Run
from heedful.assembly.starts import is_first
from heedful.assembly.trainers import allowing
from heedful.callbacks.checkpoints.files import LAST
from heedful.cli.words import arguments_of, split_options
from heedful.records.command_lines import command_words
from heedful.records.parser import dump
from heedful.reports.configs import run_settings


def main(words: Sequence[str]) -> None:
    """Train a model with the settings on the command line."""
    options, settings = split_options(False, words)
    starts = {name: getattr(options, name) for name in ("init_from", "resume", "ckpt_path")}
    with allowing(options.allow_package):
        job = training.job_of(arguments_of(options), options.config, settings, **starts)
        if options.print_config:
            print(dump(job.record), end="")
            return
        run = training.run(job)
    if is_first() and run.content:
        _show(run)


def _show(run: Run) -> None:
    """Print the results of a training, and the commands that its user may run next."""
    if run.was_finished:
        print(f"{run.folder} is finished, and stays as it is.")
    run.show()
    if run.checkpoint is not None:
        path = run.folder if run.checkpoint.name in ("best.ckpt", LAST) else run.checkpoint
        words = [*command_words("evaluate"), "--checkpoint", quote(str(path)), *_allow_options(run)]
        print(f"Measure all examples: {' '.join(words)}")
        if any(run.folder.glob("events.out.tfevents.*")):
            print(f"Curves: tensorboard --logdir {quote(str(run.folder.parent))}")


def _allow_options(run: Run) -> Iterator[str]:
    """Yield an option ``--allow_package PACKAGE`` for each package outside of Heedful that config.yaml names."""
    saved = run_settings(run.folder)
    modules = {saved[kind]["class_path"].partition(".")[0] for kind in ("data", "model")}
    for module in sorted(modules.difference(OUR_PACKAGES)):
        yield f"--allow_package {module}"
