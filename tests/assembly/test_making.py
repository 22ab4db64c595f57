"""Objects from settings in Python: the classes that may be named, and the same settings as on the command line."""

import doctest
import inspect
import json
from typing import Any

import pytest
from pytorch_lightning import Callback, Trainer
from pytorch_lightning.callbacks import EarlyStopping
from pytorch_lightning.loggers import Logger

from heedful import datamodules, lightning_modules
from heedful.assembly import names
from heedful.assembly.making import GRAMMAR, KINDS, PLUGINS, checked, made, made_of
from heedful.callbacks import EVALUATIONS, Attentiveness, BestCheckpoint
from heedful.cli.messages import Parser
from heedful.datamodules import PairedData, PairedText, Planted
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import Classifier
from heedful.records import HeedfulError, SettingError
from heedful.records.made import defaults_of, section, settings_of

from refusals import refused

PUBLIC = [getattr(room, name) for room in (datamodules, lightning_modules) for name in room.__all__]
OURS = [kind for kind in PUBLIC if inspect.isclass(kind) and issubclass(kind, (PairedData, Classifier))]
WITH_SETTINGS = [*OURS, *EVALUATIONS.values(), BestCheckpoint, Prompting]


@pytest.mark.parametrize("kind", WITH_SETTINGS, ids=lambda kind: kind.__name__)
def test_a_class_has_the_settings_that_the_command_line_has(kind: type) -> None:
    parser = Parser(exit_on_error=False)
    parser.add_class_arguments(kind, fail_untyped=False)
    own = settings_of(kind)
    assert own.keys() == parser.settings().keys()
    assert [name for name, setting in own.items() if setting.is_needed] == parser.lacking({})
    shown = json.loads(parser.dump(parser.get_defaults(), format="json", skip_validation=True, skip_unset=False))
    defaults = defaults_of(kind) | dict.fromkeys(parser.lacking({}))
    assert shown == {name: value for name, value in defaults.items() if name in shown}
    assert set(own) - set(shown) <= {"pictures"}  # of VisualQuestions, whose source is too involved for the parser


def test_a_class_that_was_typed_at_a_prompt_has_settings() -> None:
    typed: dict[str, Any] = {"Planted": Planted}
    exec("class Mine(Planted):\n    def __init__(self, mine=3, **more): super().__init__(**more)", typed)
    assert settings_of(typed["Mine"]).keys() == {"mine", *settings_of(Planted)}


def test_the_kinds_of_the_trainer_are_those_that_may_be_named() -> None:
    hints = GRAMMAR.settings(Trainer)
    assert {kind for hint in hints.values() for kind in GRAMMAR.kinds(hint)} == {*KINDS} - {PairedData, Classifier}
    assert set(GRAMMAR.kinds(hints["plugins"])) == {*PLUGINS}


def test_a_section_that_an_object_writes_makes_it_again() -> None:
    data = made({"class_path": "Planted", "init_args": {"n_train": 5, "swap": ("premise",)}}, (PairedData,), ("data",))
    assert type(data) is Planted
    assert data.made_of == {"n_train": 5, "swap": ["premise"]}
    again = made(section(data), (PairedData,), ("data",))
    assert section(again) == section(data)
    assert made(data, (PairedData,), ("data",)) is data


def test_what_lightning_makes_remembers_its_settings() -> None:
    given = {
        "callbacks": [{"class_path": "EarlyStopping", "init_args": {"monitor": "x"}}, "RichProgressBar"],
        "logger": {"class_path": "CSVLogger", "init_args": {"save_dir": "x"}},
        "max_epochs": 3,
    }
    settings = checked(Trainer, given, ("trainer",))
    stopping, bar = settings["callbacks"]
    assert (stopping.monitor, stopping.made_of, bar.made_of) == ("x", {"monitor": "x"}, {})
    assert isinstance(settings["logger"], Logger)
    assert section(stopping)["init_args"]["patience"] == 3
    assert settings["max_epochs"] == 3
    live = EarlyStopping("x")
    assert checked(Trainer, {"callbacks": live}, ("trainer",)) == {"callbacks": live}


class Told(Callback):
    """Takes whatever is given."""

    def __init__(self, *, share: float = 0.5, **more: Any) -> None:
        self.share = share
        self.more = more


def test_settings_that_are_handed_on() -> None:
    callback = made({"class_path": "Told", "dict_kwargs": {"a": 1}}, (Callback,), ("trainer", "callbacks"))
    assert (callback.share, callback.more) == (0.5, {"a": 1})
    assert section(callback)["dict_kwargs"] == {"a": 1}
    with refused(SettingError, "Planted", "a"):
        made({"class_path": "Planted", "dict_kwargs": {"a": 1}}, (PairedData,), ("data",))


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("os.system", SettingError),
        ("collections.Counter", SettingError),
        ("heedful.lightning_modules.Encoder", SettingError),
        ("nowhere.Mine", SettingError),
        ("Encoder", SettingError),
        ("heedful.datamodules.PairedTexts", SettingError),
        ("", SettingError),
        ("./mine.yaml", SettingError),
        (None, SettingError),
        (3, SettingError),
    ],
)
def test_only_classes_of_the_kinds_are_made(name: Any, error: type[HeedfulError]) -> None:
    with refused(error, "" if name is None else name):
        made({"class_path": name}, (PairedData,), ("data",))


def test_a_function_is_given_as_itself_and_not_by_its_name() -> None:
    for given in ("os.system", {"class_path": "os.system"}):
        with refused(SettingError, "setup", "os.system"):
            checked(
                Trainer, {"callbacks": {"class_path": "LambdaCallback", "init_args": {"setup": given}}}, ("trainer",)
            )
    settings = checked(
        Trainer, {"callbacks": {"class_path": "LambdaCallback", "init_args": {"setup": print}}}, ("trainer",)
    )
    assert settings["callbacks"].setup is print


def test_an_evaluation_from_its_settings() -> None:
    assert made_of(Attentiveness, {"draws": 3}, ("attentiveness",)).made_of == {"draws": 3}
    with refused(SettingError, "draw", "draws?"):
        made_of(Attentiveness, {"draw": 3}, ("attentiveness",))


def test_the_path_of_data_may_be_rows() -> None:
    words = {"name": "m", "parts": {"a": "x", "b": "y"}, "labels": {"u": [0], "v": [1]}}
    rows = [{"x": "p", "y": "q", "label": 0}]
    assert made_of(PairedText, {**words, "path": rows}, ("data",)).made_of["path"] is rows
    with refused(SettingError, "id", "3"):
        made_of(PairedText, {**words, "hub": {"id": 3}}, ("data",))


@pytest.mark.parametrize("module", [names])
def test_examples_in_the_docs_run(module: Any) -> None:
    done = doctest.testmod(module)
    assert done.attempted
    assert not done.failed
