"""Write the files of a run: config.yaml, run.json, results.json, rows/ and the exported weights."""

import os
import signal
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
from heedful.callbacks.outputs.description import describe
from heedful.lightning_modules.lightning_internals import leave_sigterm
from heedful.records import atomic_path, write_json, writing
from heedful.records.storage.files import flush_file
from heedful.records.storage.results import BACKBONE, CHECKPOINTS, CONFIG, RUN, read_run, write_results
from heedful.reports.page.writing import REPORT
from heedful.stopping import Stopped, is_postponed, postpone

FINISHED = "finished"  # key in run.json


def new_version(parent: Path) -> Path:
    """Create and return the folder ``version_N`` with the lowest free N; runs that start at the same time get different
    folders.
    """
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
    """Whether a training has ended and has written its results and weights."""
    return FINISHED in read_run(run)


def export(module: LightningModule, run: Path, weights: bool) -> None:
    """Write the network of a run, with its tokenizer, to ``checkpoints/backbone``.

    The files are written to a temporary folder and then moved, so a full disk leaves the old files intact.

    Args:
        module: The model.
        run: Folder of the run.
        weights: Whether to write the weights, and not only the configuration and the tokenizer.

    Raises:
        HeedfulError: The files cannot be written.
    """
    folder = run / BACKBONE
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent, prefix=".backbone.") as temporary:
            module.export(temporary, weights=weights)
            if (trained_on := module.learned.trained_on) is not None:
                trained_on.write(temporary)
            for path in sorted(Path(temporary).rglob("*")):
                to = folder / path.relative_to(temporary)
                if path.is_dir():
                    to.mkdir(exist_ok=True)
                else:
                    _share_file(path)  # safetensors creates files that only their owner can read
                    flush_file(path)  # before the run is marked as finished
                    path.replace(to)


class RunFolder(Callback):
    """Callback that writes run.json and config.yaml at the start of a run, and later results.json and the rows.

    The engine passes its measurements to :meth:`write`, which writes results.json and the rows. Measurements in the
    epochs of a training are not written: results.json describes the trained model.

    Args:
        folder: The folder on rank 0; None on other ranks, which receive the folder in ``setup``.
        save_config: Writes the configuration to a path.
        about: Further facts for run.json.
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
        self._is_resumed: bool | None = None  # whether the folder has a config.yaml; None before ``setup``
        self._is_described = False  # whether run.json has an entry for this process

    @property
    def written(self) -> Path:
        """The folder of the run, known on every rank after ``setup``."""
        assert self.folder is not None
        return self.folder

    def begin(self, folder: Path | None, about: Mapping[str, Any]) -> None:
        """Use another folder for the next measurements, for example for the next prompt.

        Args:
            folder: The folder on rank 0; None on other ranks.
            about: Further facts for run.json in this folder.
        """
        self.folder = folder
        self.about = {**self.about, **about}
        self._is_resumed = None
        self._is_described = False

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self.folder = Path(trainer.strategy.broadcast(str(self.folder)))
        leave_sigterm(trainer)  # its handler exits with status 0, and may stop processes at different steps
        if trainer.world_size > 1:
            postpone()
        for callback in trainer.callbacks:
            if isinstance(callback, ModelCheckpoint) and callback.dirpath is None:
                callback.dirpath = str(self.folder / CHECKPOINTS)
        if self._is_resumed is None:
            self._is_resumed = trainer.state.fn == "fit" and (self.folder / CONFIG).exists()
            if not self._is_resumed:
                self._describe(trainer)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record in run.json the shares of the default label in counterfactual training, and that the run is resumed;
        not earlier, so that a command that fails before the training changes no file.
        """
        self._describe(trainer)
        if trainer.is_global_zero and (shares := trainer.datamodule.default_shares):
            write_json(self.folder / RUN, read_run(self.folder) | {"default_label_shares": {**shares}})

    def _describe(self, trainer: Trainer) -> None:
        """Write run.json, which marks the folder as a run, and config.yaml on rank 0, once. For a resumed run, append
        this start to "resumed" in run.json.
        """
        if not trainer.is_global_zero or self._is_described:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        start = describe(self.about, trainer)
        if trainer.datamodule.changed:
            start["changed_data"] = trainer.datamodule.changed
        first = read_run(self.folder) if self._is_resumed else {}
        write_json(self.folder / RUN, first | {"resumed": [*first.get("resumed", []), start]} if first else start)
        with atomic_path(self.folder / CONFIG) as temporary:
            self.save_config(temporary)
        self._is_described = True

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.is_global_zero:
            export(pl_module, self.folder, weights=False)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.state.fn == "validate":  # a resumed run that needs no more training
            self._describe(trainer)

    def write(self, measurements: Measurements) -> None:
        """Write results.json and the rows; in the epochs of a training, do nothing."""
        if measurements.epoch is None:
            write_results(self.folder, measurements.content, measurements.rows, [self.folder / REPORT])

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """After SIGTERM, end the processes that Lightning has launched, if they are not yet connected and would not
        stop by themselves.
        """
        launcher = trainer.strategy.launcher
        if isinstance(exception, Stopped) and not is_postponed() and launcher is not None:
            launcher.kill(signal.SIGTERM)

    def finish(self) -> None:
        """Mark the run as finished, then remove ``last.ckpt``; called on rank 0."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        write_json(self.folder / RUN, read_run(self.folder) | {FINISHED: time})
        remove_last(self.folder / CHECKPOINTS)


def _share_file(path: Path) -> None:
    """Give a file the permissions of a newly created file, which depend on the umask."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)
