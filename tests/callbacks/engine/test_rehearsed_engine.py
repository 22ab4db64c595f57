"""The engine on a rehearsed GPU: its batches come from pinned memory, and predictions stay until the end."""

from pathlib import Path

import pytest
import torch
from pytorch_lightning.accelerators import CPUAccelerator
from pytorch_lightning.plugins.precision import MixedPrecision, Precision
from pytorch_lightning.strategies import SingleDeviceStrategy

from benchmarks.bare_runs import fitted, measured
from heedful.callbacks import Accuracy, Attentiveness
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder

from rehearsal import DEVICE, Rehearsal

MASK = "transformers/masking_utils.py:_ignore_bidirectional_mask_sdpa"
BAR = "callbacks/outputs/progress.py:_seen_loss"  # twice a second
# none of them for a batch
KNOWN = (
    "callbacks/engine/predictions.py:_copy",
    "callbacks/engine/engine.py:_log",
    "callbacks/engine/engine.py:_log_intervals",
    "lightning_modules/pretrained/weights.py:weights_hash",
)


class Rehearsed(CPUAccelerator):
    """Takes any device."""

    def setup_device(self, device: torch.device) -> None:
        pass


def trained(backbone: Path, n_train: int) -> Rehearsal:
    """Train an encoder in bf16 for an epoch, and measure it; batches come from a loader that pins them."""
    torch.manual_seed(0)
    model = Encoder(str(backbone), max_length=64)
    data = Planted(n_train=n_train, n_validation=24, batch_size=8, eval_batch_size=8)
    data.setup("fit")
    model.prepare(data.task)
    model.configure_model()
    evaluations = [Accuracy(), Attentiveness(1)]
    with Rehearsal() as rehearsal, pytest.MonkeyPatch.context() as patch:
        for api in (torch.cuda, torch.accelerator):  # which say whether a loader pins
            patch.setattr(api, "is_available", lambda: True)
        strategy = SingleDeviceStrategy(DEVICE, precision_plugin=MixedPrecision("bf16-mixed", "cuda"))
        settings = {"accelerator": Rehearsed(), "strategy": strategy, "max_epochs": 1}
        fitted(model, data, evaluations, enable_progress_bar=True, **settings)
    return rehearsal


@pytest.mark.slow
def test_a_step_of_training_waits_for_nothing(tiny_bert: Path) -> None:
    few, many = (trained(tiny_bert, n_train) for n_train in (16, 48))
    assert {found.kind for found in many.findings} == {"wait", "copy"}
    more = many.counted() - few.counted()
    of_masks = {key: times for key, times in more.items() if key[1] != BAR}
    assert {by for _, _, by in of_masks} == {MASK}
    assert sum(of_masks.values()) == 4, "once in each of six steps, less those of two"


@pytest.mark.slow
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
    alone = int(type(precision) is Precision)  # in single precision padded examples are predicted alone, too
    assert len(brought) == 2 + alone, "once for the examples themselves, once for a block of changed ones"
    text = (Path(__file__).parents[3] / "docs" / "exactness.md").read_text()
    assert all(place.split(":")[0] in text and place.split(":")[1] in text for place in (*KNOWN, BAR))
    assert engine.content
