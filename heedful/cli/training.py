"""The command that trains: train.py says how it is used."""

import sys
from shlex import quote

from heedful.assembly.results import Run
from heedful.assembly.starts import is_first
from heedful.assembly.training import trained
from heedful.callbacks.checkpoints.files import LAST
from heedful.cli.app import HeedfulCLI
from heedful.cli.model_forms import initialised
from heedful.cli.runs import continued, with_packages
from heedful.cli.short_forms import expand
from heedful.records.command_lines import start_of


def main(argv: list[str] | None = None) -> None:
    args = expand(continued(initialised(with_packages(sys.argv[1:] if argv is None else argv))))
    run = trained(HeedfulCLI(False, args).job)
    if is_first() and run.content:
        _show(run)


def _show(run: Run) -> None:
    """Print the results of a run, and what to do next."""
    if run.was_finished:
        print(f"{run.folder} is finished, and stays as it is.")
    run.show()
    if run.checkpoint is not None:
        path = run.folder if run.checkpoint.name in ("best.ckpt", LAST) else run.checkpoint
        print(f"Every measurement, on all examples: {' '.join(start_of('evaluate'))} --checkpoint {quote(str(path))}")
        if any(run.folder.glob("events.out.tfevents.*")):
            print(f"Curves: tensorboard --logdir {quote(str(run.folder.parent))}")
