"""The folder of a run, and what is written into it."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint

from heedful.callbacks.checkpoints.files import remove_last
from heedful.callbacks.engine.measure import Measurements
from heedful.callbacks.engine.trainer_processes import replace_sigterm_handler
from heedful.callbacks.outputs.description import describe_trainer
from heedful.lightning_modules.lightning_internals import end_processes
from heedful.records import atomic_path, write_json, writing
from heedful.records.stopping import Stopped, is_postponed
from heedful.records.storage.files import flush_file, share_file
from heedful.records.storage.results import BACKBONE, CHECKPOINTS, CONFIG, RUN, read_run, write_results
from heedful.reports.page.writing import REPORT

FINISHED = "finished"  # in run.json


def new_version(parent: Path) -> Path:
    """Make and return the first free ``version_N`` in a folder; two runs that start together get two folders."""
    parent.mkdir(parents=True, exist_ok=True)
    n = 0
    while True:
        try:
            (parent / f"version_{n}").mkdir()
        except FileExistsError:
            n += 1
        else:
            return parent / f"version_{n}"


def is_finished(run: Path) -> bool:
    """Whether a run has trained, and its results and its weights are written."""
    return FINISHED in read_run(run)


def export(module: LightningModule, run: Path, weights: bool) -> None:
    """Write the network of a run, with its tokenizer, to ``checkpoints/backbone``, file by file.

    All files are written beside it before the first takes its place: a full disk leaves the old ones.

    Raises:
        HeedfulError: They cannot be written.
    """
    folder = run / BACKBONE
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent, prefix=".backbone.") as temporary:
            module.export(temporary, weights=weights)
            if (trained_on := module.provenance.trained_on) is not None:
                trained_on.write(temporary)
            for path in sorted(Path(temporary).rglob("*")):
                to = folder / path.relative_to(temporary)
                if path.is_dir():
                    to.mkdir(exist_ok=True)
                else:
                    share_file(path)  # safetensors makes files that only their owner can read
                    flush_file(path)  # a run is marked as finished once these are there
                    path.replace(to)


class RunFolder(Callback):
    """Writes config.yaml, run.json, results.json, rows/ and the exported backbone.

    What is measured while a run trains goes to TensorBoard alone: results.json is of a model that is trained.

    It is a callback, for the start of a run, and a writer of the engine. Only rank 0 writes; the others learn the
    folder from it.

    Args:
        folder: The folder; None on other ranks than 0.
        save_config: Writes the configuration to the path it is given.
        about: What else goes into run.json.
    """

    def __init__(
        self,
        folder: Path | None,
        save_config: Callable[[Path], None],
        about: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.folder = folder
        self.save_config = save_config
        self.about = about
        self._goes_on: bool | None = None  # whether the folder holds the run already
        self._described = False  # whether this start stands in run.json

    @property
    def written(self) -> Path:
        """The folder, which every process knows once the Trainer has begun."""
        assert self.folder is not None
        return self.folder

    def begin(self, folder: Path | None, about: Mapping[str, Any]) -> None:
        """Write what follows into another folder, with more in its run.json: the next of several measurements."""
        self.folder = folder
        self.about = {**self.about, **about}
        self._goes_on = None
        self._described = False

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self.folder = Path(trainer.strategy.broadcast(str(self.folder)))
        replace_sigterm_handler(trainer)
        for callback in trainer.callbacks:
            if isinstance(callback, ModelCheckpoint) and callback.dirpath is None:
                callback.dirpath = str(self.folder / CHECKPOINTS)
        if self._goes_on is None:
            self._goes_on = trainer.state.fn == "fit" and (self.folder / CONFIG).exists()
            if not self._goes_on:
                self._describe(trainer)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A run that goes on is described once nothing can refuse it any more."""
        self._describe(trainer)

    def _describe(self, trainer: Trainer) -> None:
        """Write the configuration, and who runs it: the first start, and each that went on from there."""
        if not trainer.is_global_zero or self._described:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(self.folder / CONFIG) as temporary:
            self.save_config(temporary)
        start = describe_trainer(trainer, self.about)
        if trainer.datamodule.changed:
            start["changed_data"] = trainer.datamodule.changed
        first = read_run(self.folder) if self._goes_on else {}
        write_json(self.folder / RUN, first | {"resumed": [*first.get("resumed", []), start]} if first else start)
        self._described = True

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.is_global_zero:
            export(pl_module, self.folder, weights=False)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.state.fn == "validate":  # of a run that went on, and had nothing left to train
            self._describe(trainer)

    def write(self, measurements: Measurements) -> None:
        """Write results.json and the rows; measurements of an epoch of training are not written."""
        if measurements.epoch is None:
            write_results(self.folder, measurements.content, measurements.rows, [self.folder / REPORT])

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Processes that Lightning has started, and that are not connected yet, end with the first."""
        if isinstance(exception, Stopped) and not is_postponed():
            end_processes(trainer)

    def finish(self) -> None:
        """Mark the run as finished, and then remove what it would go on from; called by the first process."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        write_json(self.folder / RUN, read_run(self.folder) | {FINISHED: now})
        remove_last(self.folder / CHECKPOINTS)
