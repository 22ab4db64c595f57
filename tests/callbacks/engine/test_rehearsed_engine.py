"""The engine on a rehearsed GPU: its batches come from pinned memory, and predictions stay until the end."""

from pathlib import Path

import pytest
import torch
from pytorch_lightning.accelerators import CPUAccelerator
from pytorch_lightning.plugins.precision import MixedPrecision, Precision
from pytorch_lightning.strategies import SingleDeviceStrategy

from heedful.assembly.trainers import measured
from heedful.callbacks import Accuracy, Attentiveness
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder

from rehearsal import DEVICE, Rehearsal

MASK = "transformers/masking_utils.py:_ignore_bidirectional_mask_sdpa"
# none of them for a batch
KNOWN = (
    "callbacks/engine/predictions.py:_bring",
    "callbacks/engine/engine.py:_log",
    "lightning_modules/pretrained/weights.py:_bytes",
)


class Rehearsed(CPUAccelerator):
    """Takes any device."""

    def setup_device(self, device: torch.device) -> None:
        pass


@pytest.mark.parametrize("precision", [Precision(), MixedPrecision("bf16-mixed", "cuda")])
def test_a_measurement(tiny_bert: Path, precision: Precision) -> None:
    torch.manual_seed(0)
    model = Encoder(str(tiny_bert), max_length=64)
    model.has_learned = True
    data = Planted(n_train=1, n_validation=60, eval_batch_size=8)
    data.setup("validate")
    model.prepare(data.task)
    model.configure_model()
    with Rehearsal() as rehearsal:
        strategy = SingleDeviceStrategy(DEVICE, precision_plugin=precision)
        engine = measured(model, data, [Accuracy(), Attentiveness(1)], accelerator=Rehearsed(), strategy=strategy)
    own = [found for found in rehearsal.findings if not found.where.startswith("tests/")]  # others are of Lightning
    assert {found.kind for found in own} == {"wait", "copy"}
    assert {found.by if found.by == MASK else found.where for found in own} == {MASK, *KNOWN}
    brought = [found for found in own if found.where == KNOWN[0]]
    assert len(brought) == 2, "once for the examples themselves, once for a block of changed ones"
    text = (Path(__file__).parents[3] / "docs" / "exactness.md").read_text()
    assert all(place.split(":")[0] in text and place.split(":")[1] in text for place in KNOWN)
    assert engine.results
