"""A suite of models as a YAML file describes it, and the steps that it takes.

A suite trains models, measures all of them on the same sets of examples, and ranks them there. Its file has:

    train: settings of train.py for every model
    evaluate: settings of evaluate.py for every set
    attributions: further ones, where attributions are among the evaluations
    ranking: settings of heedful rank
    models: name to the settings of train.py, or {from: another model, train: settings}
    sets: name to {evaluate: settings}, or {train: settings, evaluate: settings}, whose models are trained for it alone

Settings are written as on a command line; $DATA stands for the folder of all data.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.records import SettingError
from heedful.records.storage.folder_names import FIT, is_folder_name
from heedful.records.storage.yaml_files import read_yaml

KEYS = ("train", "evaluate", "attributions", "ranking", "models", "sets")
MODELS, FIGURES = "models", "figures"  # folders beside those of the sets
EVALUATIONS = "accuracy,attributions"  # by default
NODES = "--trainer.num_nodes"  # a step would wait for others that nobody starts
QUIET = ("--trainer.enable_progress_bar", "false")
TRAIN, EVALUATE, RANK = "train", "evaluate", "rank"  # kinds of steps


@dataclass(frozen=True)
class Step:
    """One command of a suite.

    Attributes:
        kind: :data:`TRAIN`, :data:`EVALUATE` or :data:`RANK`.
        name: What it is about, for messages.
        tags: By what of it ``--only`` chooses it: its kind, its set, its model.
        settings: What follows the command, without folders.
        folder: Where its results are in the end.
        needs: The run that it begins from or measures.
    """

    kind: str
    name: str
    tags: frozenset[str]
    settings: tuple[str, ...]
    folder: Path
    needs: Path | None = None


@dataclass(frozen=True)
class Model:
    """A model of a suite: its settings, and the model that it begins from."""

    settings: tuple[str, ...]
    begins_from: str | None = None


class Suite:
    """A suite as its file describes it.

    Args:
        path: The file.
        data: What $DATA stands for; None where it is not named.

    Raises:
        HeedfulError: The file cannot be read, or does not make sense; the message says where.
    """

    def __init__(self, path: Path, data: str | None) -> None:
        self.path = path
        self.data = data
        content = read_yaml(str(path), str(path))
        whole = self._mapping(content, "the file", KEYS)
        self.common = {key: self._settings(whole.get(key), key) for key in KEYS[:4]}
        models, sets = (self._mapping(whole.get(key), key) for key in KEYS[4:])
        self.models = {self._name(name): self._model(name, given) for name, given in models.items()}
        self.sets = {
            self._name(name): {
                key: self._settings(value, f"sets: {name}: {key}")
                for key, value in self._mapping(
                    {} if given is None else given, f"sets: {name}", (TRAIN, EVALUATE)
                ).items()
            }
            for name, given in sets.items()
        }
        if not self.models or not self.sets:
            raise SettingError(f"{path} names no {'sets' if self.models else 'models'}. Add one.")
        if taken := {MODELS, FIGURES} & set(self.sets):
            raise SettingError(f"{path}: a set is called {taken.pop()!r}, which is another folder of the suite.")
        self._require_beginnings()
        self._require_different_models()

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.path.stem

    def _mapping(self, given: Any, where: str, keys: Sequence[str] | None = None) -> Mapping[Any, Any]:
        unknown = [key for key in given if keys and key not in keys] if isinstance(given, Mapping) else []
        if unknown:
            raise SettingError(f"{self.path}: {where} has the key {unknown[0]!r}. It may have {', '.join(keys or ())}.")
        if not isinstance(given, Mapping):
            wanted = f"some of {', '.join(keys)}" if keys else "each with its settings"
            raise SettingError(f"{self.path}: {where} names nothing. Name {wanted} there.")
        return given

    def _name(self, name: Any) -> str:
        if not is_folder_name(str(name)):
            raise SettingError(f"{self.path}: {name!r} cannot name a folder. Take {FIT}.")
        return str(name)

    def _settings(self, given: Any, where: str) -> tuple[str, ...]:
        """Settings as a shell would read them, with the folder of the data in place."""
        if given is None:
            return ()
        if not isinstance(given, str):
            raise SettingError(f"{self.path}: {where} is not a text. Write the settings as on a command line.")
        if self.data is None and "$DATA" in given:
            raise SettingError(
                f"{self.path} reads data in $DATA. Name their folder with --data_path DIR (or make ... DATA=DIR)."
            )
        try:
            settings = shlex.split(given)
        except ValueError as error:
            raise SettingError(f"{self.path}: {where}: {error}.") from None
        if any(setting.partition("=")[0] == NODES for setting in settings):
            raise SettingError(
                f"{self.path}: {where} has {NODES}, and each step of a suite has one machine. Leave it out; --shard is "
                "for several machines."
            )
        return tuple(setting.replace("$DATA", self.data or "") for setting in settings)

    def _model(self, name: Any, given: Any) -> Model:
        if not isinstance(given, Mapping):
            return Model(self._settings(given, f"models: {name}"))
        whole = self._mapping(given, f"models: {name}", ("from", TRAIN))
        begins_from = whole.get("from")
        settings = self._settings(whole.get(TRAIN), f"models: {name}: {TRAIN}")
        return Model(settings, None if begins_from is None else str(begins_from))

    def _require_beginnings(self) -> None:
        """Each model begins from one that is there, and none from itself."""
        for name, model in self.models.items():
            passed = [name]
            while (before := model.begins_from) is not None:
                if before not in self.models or before in passed:
                    problem = "which begins from it" if before in passed else "which is not one of the models"
                    raise SettingError(f"{self.path}: models: {passed[-1]} begins from {before!r}, {problem}.")
                passed.append(before)
                model = self.models[before]

    def _require_different_models(self) -> None:
        """No two are trained alike, which would count one model twice."""
        first: dict[Model, str] = {}
        for name, model in self.models.items():
            if first.setdefault(model, name) != name:
                raise SettingError(f"{self.path}: models: {first[model]} and {name} are trained alike. Leave one out.")

    def steps(self, output: Path, evaluations: str = EVALUATIONS) -> list[Step]:
        """The steps in their order: each model before those that begin from it, and the ranking last.

        Args:
            output: The folder of the suite.
            evaluations: The evaluations of each model; without attributions, nothing is ranked.
        """
        steps: dict[Path, Step] = {}
        attributed = "attributions" in re.split(r"[\s,]+", evaluations)
        for of_set, settings in self.sets.items():
            for name in self.models:
                run = self._trained(steps, output, of_set, name)
                measured = [*self.common[EVALUATE], *settings.get(EVALUATE, ())]
                measured += self.common["attributions"] if attributed else ()
                measured += ["--evaluations", evaluations]
                tags = frozenset({EVALUATE, of_set, name})
                folder = output / of_set / name
                steps[folder] = Step(EVALUATE, f"{of_set}/{name}", tags, (*measured, *QUIET), folder, run)
        ranking = Step(RANK, self.name, frozenset({RANK}), self.common["ranking"], output)
        return [*steps.values(), *([ranking] if attributed else [])]

    def _trained(self, steps: dict[Path, Step], output: Path, of_set: str, name: str) -> Path:
        """The folder of a run, after its step and those that it needs were added."""
        own = self.sets[of_set].get(TRAIN, ())
        model = self.models[name]
        called = f"{of_set}-{name}" if own else name
        run = output / MODELS / called
        before = self._trained(steps, output, of_set, model.begins_from) if model.begins_from else None
        settings = (*self.common[TRAIN], *own, *model.settings, *QUIET)
        tags = frozenset({TRAIN, name, *([of_set] if own else [])})
        step = Step(TRAIN, called, tags, settings, run, before)
        if steps.setdefault(run, step) != step:
            raise SettingError(
                f"{self.path}: two models would have the folder {called} in {output / MODELS}. Rename one."
            )
        return run
