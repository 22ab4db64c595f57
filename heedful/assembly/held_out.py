"""Check that a model was not trained on the examples that are held out for its evaluation."""

from pathlib import Path

from heedful.callbacks.checkpoints.files import outline
from heedful.datamodules import PairedData
from heedful.lightning_modules import Predictor
from heedful.lightning_modules.learned import TrainedOn
from heedful.records import DataError, inform

SPLITTING = ("hold_out", "folds", "fold")  # settings that split the training set


def require_held_out(model: Predictor, data: PairedData, checkpoint: str | None, evaluating: bool) -> None:
    """Raise DataError if the model was, or may have been, trained on examples that are held out of every training.

    Held-out examples may be evaluated if validate_on_train is true, or if the run of the checkpoint evaluated the same
    examples. A model that was fine-tuned from another model was trained on the examples of both. An evaluation counts
    the other examples that the model was trained on; if these are unknown, a message says so.
    """
    checkpoint = checkpoint if evaluating else None
    trained_on = model.learned.trained_on
    if checkpoint is not None and (of_checkpoint := TrainedOn.of_state(outline(Path(checkpoint)).get("trained_on"))):
        trained_on = of_checkpoint.joined(trained_on)
    has_trained = checkpoint is not None or model.learned.parts is not None
    if not has_trained or data.whole is None:
        return
    seen = None if trained_on is None else int(trained_on.seen(data.whole, data.full_task.parts).sum())
    display_name = f"checkpoint {checkpoint}" if checkpoint else f"model {model.description}"
    flags = [f"data.{flag} {getattr(data, flag)}" for flag in SPLITTING if getattr(data, flag, None) is not None]
    if flags and seen != 0 and not getattr(data, "validate_on_train", False) and not _is_of_run(data, checkpoint):
        overlap = f"was trained on {seen:,} of these {len(data.whole):,}" if seen else "has unknown training examples"
        raise DataError(
            f"{' '.join(flags)} holds examples out, and {display_name} {overlap}. Hold out the same examples as in "
            "training, with the same data.path, or set data.validate_on_train true."
        )
    if seen is None:
        inform(f"{data.name}: {display_name} has unknown training examples, which may be among the evaluated examples.")
    elif evaluating:
        data.count_seen(seen)


def _is_of_run(data: PairedData, checkpoint: str | None) -> bool:
    """Whether the run of a checkpoint evaluated the same examples."""
    if checkpoint is None:
        return False
    saved = outline(Path(checkpoint)).get(type(data).__qualname__)
    before = saved.get("examples") if isinstance(saved, dict) else None
    return isinstance(before, dict) and before.get("validation") == data.fingerprints()["validation"]
