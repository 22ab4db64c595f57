"""The record of a training, and its fit to a task: parts and labels are matched by name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from heedful.records import Examples, ModelError, Task, inform, is_entailment, listing, normalised_label
from heedful.records.example import TableForm
from heedful.records.text import rename_parts

NLI = ("entailment", "neutral", "contradiction")
FILE = "trained_on.npz"  # in the folder of an exported model
Collapse = Literal["sum", "argmax"]


@dataclass(frozen=True)
class LabelMap:
    """Maps the outputs of a model to the labels of a task.

    Attributes:
        outputs: Names of the outputs, in their order.
        labels: Names of the labels of the task, in their order.
        column: For each output, the index of the label that it means.
        collapse: How to combine several outputs that mean one label: "sum" adds their probabilities, "argmax" answers
            with the label of the most probable output.

    Example:
        >>> head = LabelMap(("c", "n", "e"), ("entailment", "not_entailment"), (1, 1, 0))
        >>> head.merges, LabelMap.identity(["yes", "no"]).column
        (True, (0, 1))
    """

    outputs: tuple[str, ...]
    labels: tuple[str, ...]
    column: tuple[int, ...]
    collapse: Collapse = "sum"

    @classmethod
    def identity(cls, labels: Sequence[str]) -> Self:
        """Return the label map of a model whose outputs are exactly the labels, in the same order."""
        return cls(tuple(labels), tuple(labels), tuple(range(len(labels))))

    @property
    def merges(self) -> bool:
        """Whether several outputs mean one label."""
        return len(set(self.column)) < len(self.column)

    def inform_merged(self, name: str) -> None:
        """Log which outputs of the model ``name`` are mapped to labels of other names, such as neutral."""
        for number, label in enumerate(self.labels):
            merged = [output for output, n in zip(self.outputs, self.column, strict=True) if n == number]
            if len(merged) > 1:
                rule = "whichever is the most probable" if self.collapse == "argmax" else "their probabilities added up"
                inform(f"{name}: {' and '.join(merged)} are {label} here, {rule} (model.collapse).")
            elif is_non_entailment(label) and not is_non_entailment(merged[0]):  # the model has no class neutral
                inform(f"{name}: {merged[0]} is {label} here.")


@dataclass(frozen=True)
class TrainedOn:
    """Hashes of training examples; the hash of an example depends on the contents of its parts alone.

    Attributes:
        parts: Names of the hashed parts, in order.
        keys: 64-bit hashes (:meth:`~heedful.records.Examples.content_keys`): uint64, ascending, without duplicates.
    """

    parts: tuple[str, ...]
    keys: np.ndarray

    @classmethod
    def of(cls, examples: Examples, parts: Sequence[str], before: Self | None = None) -> Self:
        """Hash training examples by all parts of the data, and add the hashes of an earlier training."""
        if before is None:
            return cls(tuple(parts), np.unique(examples.content_keys(parts)))
        return cls(before.parts, np.union1d(before.keys, before.keys_of(examples, parts)))

    def joined(self, more: Self | None) -> Self:
        """Return these hashes of training examples with the hashes of ``more``; None adds nothing."""
        return self if more is None else replace(self, keys=np.union1d(self.keys, more.keys))

    def seen(self, examples: Examples, parts: Sequence[str]) -> np.ndarray:
        """Whether the model was trained on each example, compared by the contents of all parts: bool [examples]."""
        return np.isin(self.keys_of(examples, parts), self.keys)

    def keys_of(self, examples: Examples, parts: Sequence[str]) -> np.ndarray:
        """Hash examples by the contents of their parts, in the order of the training, by name, or else by position:
        uint64 [examples].
        """
        return examples.content_keys(self.parts if set(self.parts) == set(parts) else parts)

    def state(self) -> dict[str, Any]:
        """Convert the part names and the hashes of the training examples to an entry of a checkpoint."""
        import torch  # a function is measured without torch

        return {"parts": list(self.parts), "keys": torch.from_numpy(self.keys.view(np.int64))}

    @classmethod
    def of_state(cls, state: Mapping[str, Any] | None) -> Self | None:
        """Read the result of :meth:`state` in a checkpoint; None without one."""
        return None if state is None else cls(tuple(state["parts"]), state["keys"].numpy().view(np.uint64))

    def write(self, folder: str | Path) -> None:
        """Write the hashes of the training examples into the folder of an exported model."""
        np.savez(Path(folder) / FILE, keys=self.keys, parts=np.array(self.parts, dtype=str))

    @classmethod
    def read(cls, folder: str | Path) -> Self | None:
        """Read the hashes of training examples in the folder of an exported model; None without a file of hashes."""
        path = Path(folder) / FILE
        if not path.is_file():
            return None
        with np.load(path, allow_pickle=False) as arrays:
            return cls(tuple(arrays["parts"].tolist()), arrays["keys"])


@dataclass(frozen=True)
class Learned:
    """The record of a training that a checkpoint or an exported model holds.

    Attributes:
        base: Name of the model, for messages.
        revision: Hub commit of the pretrained model; None for a local folder.
        parts: Names of the parts in training, in order; None if unknown.
        labels: Names of the outputs, in order, which may be numbered, such as LABEL_0; None without a trained head.
        template: Template of the input in training; None for models without templates.
        texts: For a model that writes, one text per output; for free answers, only the text for "no answer".
        form: Format of tables as text in training; None if unknown.
        trained_on: Hashes of the training examples, including examples of the pretrained model; None if unknown.
        steps: Number of training steps of the loaded checkpoint; None without a checkpoint.
    """

    base: str = "The model"
    revision: str | None = None
    parts: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    template: str | None = None
    texts: tuple[str, ...] = ()
    form: TableForm | None = None
    trained_on: TrainedOn | None = None
    steps: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the outputs; empty if they are numbered, unless the training is recorded, with its parts."""
        return self.labels if self.labels and (self.parts or is_named(self.labels)) else ()

    def entry(self) -> dict[str, Any]:
        """Convert parts, template and texts to an entry of config.json or of a checkpoint; see :meth:`updated`."""
        entry = {"parts": self.parts, "template": self.template, "targets": self.texts}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in entry.items() if value}

    def updated(self, entry: Mapping[str, Any], **changes: Any) -> Self:
        """Return a copy with the parts, the template and the texts of an :meth:`entry`, and with further changes."""
        texts = entry.get("targets", [entry["no_answer"]] if "no_answer" in entry else self.texts)
        parts = entry.get("parts", self.parts)
        template = entry.get("template", self.template)
        parts = None if parts is None else tuple(parts)
        return replace(self, parts=parts, template=template, texts=tuple(texts), **changes)

    def with_checkpoint(self, checkpoint: Mapping[str, Any]) -> Self:
        """Return a copy with the record of a checkpoint; earlier versions saved no template and no texts."""
        trained_on = TrainedOn.of_state(checkpoint.get("trained_on"))
        task = Task.from_dict(checkpoint["task"])
        return self.updated(
            checkpoint.get("learned", {"parts": task.parts}),
            labels=tuple(checkpoint.get("outputs") or task.labels),
            form=task.form,
            revision=checkpoint.get("revision", self.revision),
            trained_on=self.trained_on if trained_on is None else trained_on.joined(self.trained_on),
            steps=checkpoint.get("global_step"),
        )

    def require_parts(self, parts: Sequence[str], of_data: Sequence[str]) -> None:
        """Raise ModelError if the model was trained on more or fewer parts, or on another part of the same data.

        Args:
            parts: The parts that the model is measured on.
            of_data: All parts of the data, including parts that ``--partial`` leaves out.
        """
        if self.parts is None:
            return
        of_same_data = set(self.parts) <= set(of_data)
        if len(self.parts) != len(parts) or (of_same_data and set(self.parts) != set(parts)):
            remedy = f"Take data with {len(self.parts)} of them."
            if of_same_data:
                is_whole = set(self.parts) == set(of_data)
                remedy = "Give it all of them (partial null)." if is_whole else f"Add partial {'+'.join(self.parts)}."
            elif len(self.parts) == 1:
                remedy = "Name the one to read with partial PART."
            raise ModelError(
                f"The model was trained on {' and '.join(self.parts)}, and the data give {' and '.join(parts)}. "
                f"{remedy}"
            )


@dataclass(frozen=True)
class Fit:
    """How a model fits a task; the result of :func:`reconcile`.

    Attributes:
        task: The task, with its parts in the order of the training, and with the template and the label texts of the
            training if the labels match.
        label_map: Maps the outputs of the model to the labels.
        texts: One text per output, for a model that writes.
        head: "kept" if the outputs of the trained head mean the labels of the task, "merged" if several outputs mean
            one label, "replaced" if the outputs mean something else, or "new" if no head was trained.
    """

    task: Task
    label_map: LabelMap
    texts: tuple[str, ...]
    head: Literal["kept", "merged", "replaced", "new"] = "new"

    @property
    def is_kept(self) -> bool:
        """Whether the outputs of the trained head mean the labels of the task."""
        return self.head in ("kept", "merged")


def reconcile(learned: Learned, task: Task, trains: bool = False, collapse: Collapse | None = None) -> Fit:
    """Match a trained model with a task: parts by name, or else by position; labels by name, never by position.

    A model that writes keeps the template and the label texts of its training if labels and number of parts match;
    otherwise it takes template and texts of the task.

    Args:
        learned: Record of the training of the model.
        task: The task of the data.
        trains: Whether to train the model on the task. A head with three labels for two classes is then kept only if
            ``collapse`` is given, and never by a model that writes, which needs one text per label.
        collapse: How several outputs that mean one label are combined; None for the default, "sum".
    """
    task = _in_learned_order(learned, task)
    if learned.form not in (None, task.form):
        inform(f"{learned.base} was trained on tables as {learned.form}, and reads them as {task.form} here.")
    new = Fit(task, LabelMap.identity(task.labels), task.targets)
    if learned.labels is None:
        return new
    merging = not trains or (collapse is not None and not learned.texts)
    column = labels_of_outputs(learned.labels, task.labels, merging) if learned.names or not task.labels else None
    if column is None:
        return replace(new, head="replaced")
    label_map = LabelMap(learned.labels, task.labels, column, collapse or "sum")
    if not learned.texts:
        texts = tuple(task.targets[number] for number in column)
        return Fit(task, label_map, texts, "merged" if label_map.merges else "kept")
    return _with_learned_texts(learned, task, label_map) or new


def _with_learned_texts(learned: Learned, task: Task, label_map: LabelMap) -> Fit | None:
    """Return the fit of a model that writes, with the template and texts of training; None for more or fewer parts."""
    learned_parts = learned.parts or task.parts
    if len(learned_parts) != len(task.parts):
        return None
    template = rename_parts(learned.template or "", dict(zip(learned_parts, task.parts, strict=True))) or task.template
    fit = Fit(replace(task, template=template), label_map, learned.texts, "merged")
    if not label_map.merges:
        text_of = dict(zip([task.labels[number] for number in label_map.column], learned.texts, strict=False))
        worded = replace(fit.task, verbalisers=text_of)
        fit = Fit(worded, LabelMap.identity(task.labels), worded.targets, "kept")
    if (fit.task.wording, fit.texts) != (task.wording, task.targets):
        at = f"on {template!r} " if learned.template else ""
        inform(f"{learned.base} was trained {at}with the answers {listing(learned.texts)}: kept.")
    return fit


def _in_learned_order(learned: Learned, task: Task) -> Task:
    """Return the task with its parts in the order of the training, if that has the same number of parts."""
    parts = learned.parts
    if parts is None or len(parts) != len(task.parts) or parts == task.parts:
        return task
    ordered = task.in_order_of(parts)
    order = "and does so here, though the data name them otherwise"
    if ordered.parts != parts:
        order = "here " + ", then ".join(ordered.parts)
    inform(f"{learned.base} was trained to read {', then '.join(parts)}, {order}.")
    return ordered


# names of labels


def is_non_entailment(label: str) -> bool:
    """Whether a label means "not entailment", in any spelling.

    Example:
        >>> is_non_entailment("not_entailment"), is_non_entailment("Non-Entailment"), is_non_entailment("neutral")
        (True, True, False)
    """
    return normalised_label(label) in ("notentailment", "nonentailment", "noentailment")


def is_named(labels: Sequence[str]) -> bool:
    """Whether the outputs of a model have meaningful names, unlike ``LABEL_0``."""
    return bool(labels) and not all(re.fullmatch(r"label_?\d+", label, re.IGNORECASE) for label in labels)


def names_of_outputs(config: Mapping[str, Any]) -> list[str]:
    """Return the names of a model's outputs, in order, from its config.json; empty if the names are only numbers."""
    label_of = {int(number): str(label) for number, label in (config.get("id2label") or {}).items()}
    outputs = [label_of[number] for number in sorted(label_of)]
    return outputs if is_named(outputs) else []


def match_labels(head: Sequence[str], task: Sequence[str]) -> list[int] | None:
    """Return, for each label, the index of the output with the same name; None if the sets of names differ.

    Exact names are compared first, then names without case, spaces, hyphens and underscores: some labels of VQA differ
    only in these ("hot dog", "hotdog").

    Args:
        head: Names of the outputs.
        task: Names of the labels.

    Example:
        >>> match_labels(["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], ["entailment", "neutral", "contradiction"])
        [2, 1, 0]
    """
    for name in (str, normalised_label):
        outputs = {name(label): i for i, label in enumerate(head)}
        wanted = [name(label) for label in task]
        if len(outputs) == len(head) == len(wanted) and outputs.keys() == set(wanted):
            return [outputs[label] for label in wanted]
    return None


def labels_of_outputs(head: Sequence[str], task: Sequence[str], merging: bool = True) -> tuple[int, ...] | None:
    """Return, for each output of a head, the index of the label that it means; None if some outputs mean no label.

    Each output means the label with its name. If the task has the labels entailment and not entailment, outputs for
    neutral and contradiction mean not entailment.

    Args:
        head: Names of the outputs.
        task: Names of the labels.
        merging: Whether several outputs may mean one label.

    Example:
        >>> labels_of_outputs(["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], ["entailment", "not_entailment"])
        (1, 1, 0)
    """
    order = match_labels(head, task)
    if order is not None:
        return tuple(sorted(range(len(order)), key=order.__getitem__))
    entailing = [is_entailment(name) for name in head]
    of_inference = all(is_non_entailment(name) or normalised_label(name) in NLI for name in head)
    fits = is_two_class(task) and entailing.count(True) == 1 and len(set(map(normalised_label, head))) == len(head) > 1
    if not (fits and of_inference) or (len(head) > 2 and not merging):
        return None
    (entailment,) = (i for i, label in enumerate(task) if is_entailment(label))
    return tuple(entailment if entails else 1 - entailment for entails in entailing)


def is_two_class(task: Sequence[str]) -> bool:
    """Whether a task has exactly two labels: entailment and not entailment."""
    return len(task) == 2 and any(map(is_entailment, task)) and any(map(is_non_entailment, task))


def mismatch(learned: Learned, task: Sequence[str], setting: str | None = "model.labels (labels in measure)") -> str:
    """Return the message of an error: the outputs of a model do not mean the labels of a task.

    Args:
        learned: Record of the training of the model.
        task: Names of the labels.
        setting: The setting that names the outputs; None if there is none.
    """
    head = learned.labels or ()
    clash = f"The outputs of {learned.base} are {listing(head)}, and the data want {listing(task)}."
    of_three = is_two_class(task) and len(head) == 3 and not learned.names
    if setting is None or (len(head) != len(task) and not of_three):
        return f"{clash} Train the model on the data."
    return f"{clash} Set {setting} to the labels that the outputs mean, in the order of the outputs."
