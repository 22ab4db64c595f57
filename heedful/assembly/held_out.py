"""What is held out stays held out: no example of it was trained on, by this model or by those that it began with."""

from pathlib import Path

from heedful.callbacks.checkpoints.files import outline
from heedful.datamodules import PairedData
from heedful.lightning_modules import BasePredictor
from heedful.lightning_modules.pretrained.trained_on import TrainedOn
from heedful.records import DataError, inform

SPLITTING = ("hold_out", "folds", "fold")  # settings that take what is evaluated from the training set


def require_held_out(model: BasePredictor, data: PairedData, checkpoint: str | None, evaluating: bool) -> None:
    """Compare the examples that the model was trained on with those that are evaluated.

    What was trained on is said; it is refused where the settings hold it out, unless the run itself held out the very
    same, in which case what it mixed in stands there as well.

    Args:
        model: The model, bound to the task of the data.
        data: The data, set up.
        checkpoint: The checkpoint that is evaluated; in training, the one that training resumes from.
        evaluating: Whether nothing is trained.

    Raises:
        HeedfulError: Examples that are held out were trained on, or nobody can say whether they were.
    """
    checkpoint = checkpoint if evaluating else None
    trained_on = model.provenance.trained_on
    if checkpoint is not None and (of_checkpoint := TrainedOn.of_state(outline(Path(checkpoint)).get("trained_on"))):
        trained_on = of_checkpoint.joined(trained_on)
    has_trained = checkpoint is not None or model.provenance.parts is not None
    if not has_trained or data.whole is None:
        return
    seen = None if trained_on is None else int(trained_on.seen(data.whole, data.full_task.parts).sum())
    display_name = f"checkpoint {checkpoint}" if checkpoint else f"model {model.description}"
    flags = [f"data.{flag} {getattr(data, flag)}" for flag in SPLITTING if getattr(data, flag, None) is not None]
    if flags and seen != 0 and not getattr(data, "validate_on_train", False) and not _is_of_run(data, checkpoint):
        said = (
            f"was trained on {seen:,} of these {len(data.whole):,}" if seen else "does not say which it was trained on"
        )
        raise DataError(
            f"{' '.join(flags)} holds examples out, and {display_name} "
            f"{said}. Hold out the same as there, with the same data.path, or add data.validate_on_train true."
        )
    if seen is None:
        inform(
            f"{data.name}: {display_name} does not say which examples it was trained on, so that nobody "
            "knows whether any of them are evaluated."
        )
    elif evaluating:
        data.count_seen(seen)


def _is_of_run(data: PairedData, checkpoint: str | None) -> bool:
    """Whether the run of a checkpoint evaluated these very examples, as its fingerprint says."""
    if checkpoint is None:
        return False
    saved = outline(Path(checkpoint)).get(type(data).__qualname__)
    before = saved.get("examples") if isinstance(saved, dict) else None
    return isinstance(before, dict) and before.get("validation") == data.fingerprints()["validation"]
