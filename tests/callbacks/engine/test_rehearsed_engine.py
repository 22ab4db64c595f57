"""The engine on a rehearsed GPU: batches come from pinned memory, and predictions are copied once."""

from pathlib import Path

import pytest
import torch
from pytorch_lightning.accelerators import CPUAccelerator
from pytorch_lightning.plugins.precision import MixedPrecision, Precision
from pytorch_lightning.strategies import SingleDeviceStrategy

from benchmarks.bare_runs import measured
from heedful.callbacks import Accuracy, Attentiveness
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder

from rehearsal import DEVICE, Rehearsal

COPY = "callbacks/engine/predictions.py:predictions"
KNOWN = {  # where the host waits for the device, but never once per batch
    COPY,
    "callbacks/engine/callback.py:_log",
    "lightning_modules/weights.py:weights_hash",
}


class Rehearsed(CPUAccelerator):
    """Takes any device."""

    def setup_device(self, device: torch.device) -> None:
        pass


@pytest.mark.slow
@pytest.mark.parametrize("precision", [Precision(), MixedPrecision("bf16-mixed", "cuda")])
def test_the_host_never_waits_for_a_batch(tiny_bert: Path, precision: Precision) -> None:
    torch.manual_seed(0)
    model = Encoder(str(tiny_bert), max_length=64)
    model.has_learned = True
    data = Planted(n_train=1, n_validation=60, eval_batch_size=8)
    data.setup("validate")
    model.bind(data.task)
    model.configure_model()
    with Rehearsal() as rehearsal:
        strategy = SingleDeviceStrategy(DEVICE, precision_plugin=precision)
        engine = measured(model, data, [Accuracy(), Attentiveness(1)], accelerator=Rehearsed(), strategy=strategy)
    own = [found for found in rehearsal.findings if not found.where.startswith("tests/")]  # others are Lightning's
    assert {found.kind for found in own} == {"wait", "copy"}
    assert {found.where for found in own} == KNOWN
    alone = int(type(precision) is Precision)  # in single precision, padded examples are also predicted alone
    copies = [found for found in own if found.where == COPY]
    assert len(copies) == 2 + alone, "one copy for the base examples, one for a block of changed examples"
    assert engine.content
