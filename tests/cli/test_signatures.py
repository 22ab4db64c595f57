"""Settings that are read from source are those of the parser."""

from argparse import Namespace

import pytest
from pytorch_lightning import Trainer

from heedful import datamodules, lightning_modules
from heedful.assembly.settings import EvaluationSettings, TrainingSettings
from heedful.callbacks import EVALUATIONS, BestCheckpoint
from heedful.cli.command import _groups
from heedful.cli.signatures import settings_of
from heedful.datamodules import PairedData
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import Predictor
from heedful.parser import class_parser
from heedful.records.arguments import class_path

OF_RUN = (BestCheckpoint, Prompting, Trainer, TrainingSettings, EvaluationSettings)
PUBLIC = [getattr(room, name) for room in (datamodules, lightning_modules) for name in room.__all__]
OF_ROOMS = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, PairedData | Predictor)]


@pytest.mark.parametrize("kind", [*OF_ROOMS, *EVALUATIONS.values(), *OF_RUN], ids=lambda kind: kind.__name__)
def test_the_settings_of_a_class_are_those_of_the_parser_with_descriptions(kind: type) -> None:
    parser = class_parser(kind, "x")
    settings = settings_of(class_path(kind))
    assert {*settings} - {"loader"} == {name.split(".")[1] for name in parser.names}
    assert all(setting.about for setting in settings.values())
    required = {name for name, setting in settings.items() if setting.default is None and setting.kind}
    assert {name.split(".")[1] for name in parser.names if parser.actions[name].required} <= required


@pytest.mark.parametrize("evaluating", [True, False])
def test_the_evaluations_of_a_command_are_found(evaluating: bool) -> None:
    groups = _groups("measure" if evaluating else "train", Namespace())
    names = {prefix[:-1] for _, prefix, settings in groups if settings} - {"", "trainer", "checkpoint"}
    expected = {name for name, kind in EVALUATIONS.items() if kind.has_settings and (kind.in_training or evaluating)}
    assert names == {name for name in expected if settings_of(class_path(EVALUATIONS[name]))}


def test_a_class_without_source_is_a_lookup_error() -> None:
    for path in ("nowhere.Data", "heedful.datamodules.Nothing", "Data"):
        with pytest.raises(LookupError):
            settings_of(path)
