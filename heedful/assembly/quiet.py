"""The lines that a run shows: those of Lightning that nobody asked for are left out, all others are fit to be read."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from pytorch_lightning.utilities.warnings import PossibleUserWarning

from heedful.records import printable

LIGHTNING = "pytorch_lightning"
LOGS = [
    f"{package}.{name}"
    for package in ("pytorch_lightning.utilities", "lightning.pytorch.utilities", "lightning_fabric.utilities")
    for name in ("rank_zero", "seed")
]
# functions of Lightning that log what nobody asked for: tips, and what stands in config.yaml and in run.json
UNASKED = {"configure_logger", "_maybe_show_litmodels_tip", "_log_device_info", "seed_everything"}


@contextmanager
def quietly() -> Iterator[None]:
    """Leave out what nobody asked for, until the context ends."""

    def shown(record: logging.LogRecord) -> bool:
        record.msg = "\n".join(map(printable, record.getMessage().split("\n")))
        record.args = ()
        return record.funcName not in UNASKED

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    for name in LOGS:
        logging.getLogger(name).addFilter(shown)
    try:
        with warnings.catch_warnings():
            _ignore()
            yield
    finally:
        for name in LOGS:
            logging.getLogger(name).removeFilter(shown)


def _ignore() -> None:
    warnings.filterwarnings(  # few workers: splicing token ids is cheap
        "ignore", category=PossibleUserWarning, module=rf"{LIGHTNING}\.trainer\.connectors\.data_connector"
    )
    warnings.filterwarnings("ignore", module=rf"{LIGHTNING}\.trainer\.call")  # evaluation needs no callbacks of a run
    warnings.filterwarnings(  # of Lightning with torch 2.13
        "ignore", category=FutureWarning, module=rf"{LIGHTNING}\.utilities\._pytree"
    )
    # by its words, as its module warns of other things too: the folder holds the backbone's config
    warnings.filterwarnings("ignore", "Checkpoint directory .* exists and is not empty")
