"""The parts of a run from ordinary arguments of Python: names, paths and objects alike."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Any, NamedTuple, TypeVar

from pytorch_lightning import Trainer

from heedful.assembly.making import checked, made, made_of
from heedful.assembly.names import augmented, fitting, load_data, section_of
from heedful.assembly.record import Record, merged, shown_evaluations
from heedful.callbacks import EVALUATIONS, Evaluation
from heedful.datamodules import PairedData
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.pretrained.backbones import allowed_packages
from heedful.records import SettingError
from heedful.records.errors import guess
from heedful.records.made import class_path, settings_of
from heedful.records.storage.named_configs import DEFAULTS

Kind = TypeVar("Kind", bound=Any)


class Parts(NamedTuple):
    """What a call of ``train`` or ``evaluate`` names.

    Attributes:
        model: A short name, a path or hub id, or the model itself; None for that of ``saved``, or the usual one.
        data: A short name, a path, rows in memory, or the data themselves; None as for the model.
        augment: How the training set is augmented.
        partial: The part that the model is given alone.
        slices: Columns by which results are broken down.
        evaluations: The only ones that run, by name or as objects; None for all.
        settings: Evaluation to its settings, or to the evaluation itself.
        trainer: Settings of Lightning's Trainer.
        seed: The seed of the run.
        saved: The record of the run whose parts are taken where nothing else is named.
    """

    model: Any
    data: Any
    augment: str | None
    partial: str | None
    slices: Sequence[str] | str | None
    evaluations: Sequence[str | Evaluation] | str | None
    settings: Mapping[str, Any]
    trainer: Mapping[str, Any]
    seed: int
    saved: Mapping[str, Any]

    def paired_data(self) -> PairedData:
        """The data, with the seed of the run.

        Raises:
            HeedfulError: They cannot be made of these settings.
        """
        data = self._data()
        if self.augment is not None:
            data = augmented(data, self.augment)
        changes: Record = {} if self.partial is None else {"partial": self.partial}
        if self.slices is not None:
            names = re.split(r"[\s,]+", self.slices) if isinstance(self.slices, str) else self.slices
            changes["slices"] = [name for name in names if name]
        data = data.with_settings(**changes) if changes else data
        return seeded(data, self.seed)

    def _data(self) -> PairedData:
        if isinstance(self.data, PairedData):
            return self.data
        section = self.saved.get("data") or {}
        if self.data is None and "class_path" in section:
            return _as_saved(made(section, (PairedData,), ("data",)))
        data = load_data(DEFAULTS["data"] if self.data is None else self.data)
        return data if "class_path" in section else with_saved(data, section)

    def classifier(self, data: PairedData) -> Classifier:
        """The model; one that has read no data may be of another family, which stands in for it on such data.

        Raises:
            HeedfulError: It cannot be made of these settings.
        """
        if isinstance(self.model, Classifier):
            own = {"class_path": class_path(type(self.model)), "init_args": dict(self.model.made_of)}
            meant = fitting(own, data)
            return self.model if meant == own or self.model.task else made(meant, (Classifier,), ("model",))
        section = self.saved.get("model") or {}
        if self.model is not None or "class_path" not in section:
            of_user = section_of("model", DEFAULTS["model"] if self.model is None else self.model)
            section = fitting(of_user if "class_path" in section else merged(of_user, section), data)
        return _as_saved(made(section, (Classifier,), ("model",)))

    def all_evaluations(self, evaluating: bool) -> list[Evaluation]:
        """The evaluations that have settings, in their order.

        Raises:
            HeedfulError: There is no such evaluation, or it cannot be made of these settings.
        """
        kinds = {kind.metric.name: kind for kind in shown_evaluations(evaluating)}
        if unknown := [name for name in self.settings if name not in kinds]:
            raise SettingError(f"There is no setting {unknown[0]}. {guess(unknown[0], kinds)}")
        live = self._live()
        return [
            live[name] if name in live else given(self.settings.get(name), kind, name, self.saved.get(name))
            for name, kind in kinds.items()
        ]

    def _live(self) -> dict[str, Evaluation]:
        """The evaluations that were given as objects, by name."""
        live: dict[str, Evaluation] = {}
        for one in self.evaluations or ():
            if not isinstance(one, Evaluation):
                continue
            if one.name in live or self.settings.get(one.name) is not None:
                raise SettingError(
                    f"There are two {one.name} among evaluations and the settings. Leave one of them out."
                )
            registered = EVALUATIONS.get(one.name)
            if registered and not registered.has_settings and (type(one) is not registered or one.made_of):
                raise SettingError(
                    f"evaluations: {one.name} is the same in every run, without settings. Register a class of your "
                    "own under a name of its own."
                )
            live[one.name] = one
        return live

    @property
    def only(self) -> list[str] | str | None:
        """The names of the evaluations that run; None for all."""
        if self.evaluations is None:
            return self.saved.get("evaluations")
        if isinstance(self.evaluations, str):
            return self.evaluations
        return [one.name if isinstance(one, Evaluation) else one for one in self.evaluations]

    def trainer_settings(self) -> Record:
        """The settings of Lightning's Trainer, those of ``saved`` among them.

        Raises:
            HeedfulError: One is unknown, or of another type.
        """
        return checked(Trainer, {**(self.saved.get("trainer") or {}), **self.trainer}, ("trainer",))

    def given(self, **groups: Any) -> list[str]:
        """The names of the settings that this call names, as a command line would have them.

        Args:
            **groups: Further settings that are mappings, such as those of "checkpoint".
        """
        names = [name for name in ("data", "model", "augment", "partial", "slices") if getattr(self, name) is not None]
        mappings = {"trainer": self.trainer, **self.settings, **groups}
        return names + [f"{group}.{name}" for group, of in mappings.items() if isinstance(of, Mapping) for name in of]


def with_saved(data: PairedData, section: Mapping[str, Any]) -> PairedData:
    """Data with settings of a file that names no data, none of which counts as the user's choice."""
    settings = checked(type(data), section.get("init_args") or {}, ("data",))
    given_before = data.given
    data = data.with_settings(**settings) if settings else data
    data.given = given_before
    return data


def _as_saved(made: Kind) -> Kind:
    """An object whose settings all stand in a file: the user chose none of them in this call."""
    made.given = frozenset()
    return made


def given(value: Any, kind: type[Kind], name: str, saved: Mapping[str, Any] | None = None) -> Kind:
    """An object of a class: itself, or from its settings on top of those that were saved.

    Raises:
        HeedfulError: It is of another class, or cannot be made of these settings.
    """
    if isinstance(value, kind):
        return value
    if value is not None and not isinstance(value, Mapping):
        raise SettingError(
            f"{name} is a {type(value).__name__}, and no mapping of settings. Give {{setting: value}}, or a "
            f"{kind.__name__}."
        )
    settings = saved if value is None else {**(saved if isinstance(saved, Mapping) else {}), **value}
    return made_of(kind, {} if settings is None else settings, (name,))


def seeded(data: PairedData, seed: int) -> PairedData:
    """Data with the seed of the run.

    Raises:
        HeedfulError: The user gave them another one.
    """
    if data.seed == seed:
        return data
    if "seed" in data.given and data.seed != seed:
        raise SettingError(f"data.seed {data.seed} is not the seed of the run, {seed}. Name it with seed {data.seed}.")
    kind: Any = type(data)
    if "seed" in settings_of(kind):
        return with_saved(data, {"init_args": {"seed": seed}})
    given_before = data.given
    data = data.with_settings()
    data.given = given_before
    data.seed = seed
    return data


@contextmanager
def allowing(packages: str | Sequence[str] | None) -> Iterator[None]:
    """Allow weights to come from these Python packages, until the context ends."""
    before = set(allowed_packages)
    allowed_packages.update([packages] if isinstance(packages, str) else packages or ())
    try:
        yield
    finally:
        allowed_packages.intersection_update(before)


def as_path(value: str | PathLike[str] | None) -> str | None:
    """A path as settings hold it."""
    return None if value is None else fspath(value)
