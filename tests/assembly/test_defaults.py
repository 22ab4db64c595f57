"""YAML, --help, docs/settings.md and the signatures of Python show the same settings with the same defaults."""

import ast
import contextlib
import inspect
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pytorch_lightning import Trainer

import heedful
from heedful import datamodules, lightning_modules
from heedful.assembly.record import defaults
from heedful.assembly.reference import with_tables
from heedful.callbacks import EVALUATIONS, BestCheckpoint
from heedful.datamodules import PairedData
from heedful.datamodules.base.inoculation import Inoculation
from heedful.datamodules.prompting import Prompting
from heedful.datamodules.sources.hub_and_local import Hub
from heedful.lightning_modules import Classifier, Endpoint
from heedful.records.made import plain
from heedful.records.prompts.wording import Wording
from heedful.records.storage.yaml_files import SettingsLoader, parse_yaml

from commands import job_of
from tiers import first_tier

ROOT = Path(__file__).parents[2]
NEEDED = "needed"
DATA_CLASSES = {"hub": Hub, "inoculation": Inoculation, "prompt": Wording}  # settings that have settings of their own
NAMES = {"data": "planted", "model": "minilm"}  # by default, which are files of settings
CLASSES = [
    kind
    for room, base in ((datamodules, PairedData), (lightning_modules, Classifier))
    for kind in (vars(room)[name] for name in room.__all__)
    if isinstance(kind, type) and issubclass(kind, base)
]
Defaults = dict[str, Any]


@pytest.fixture(scope="module")
def printed() -> Iterator[Callable[..., str]]:
    """What a command prints before it ends, in lines as long as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "100000")

        @cache
        def run(*argv: str, evaluating: bool = False) -> str:
            out = io.StringIO()
            with pytest.raises(SystemExit) as stopped, contextlib.redirect_stdout(out):
                job_of(patch, argv, evaluating)
            assert not stopped.value.code
            return out.getvalue()

        yield run


def value(text: str) -> Any:
    """A default as the page or --help shows it."""
    if text.startswith("("):  # a tuple
        return [*ast.literal_eval(text)]
    return parse_yaml(text, "a default", SettingsLoader)


def flat(settings: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    """The names of settings, as on the command line, and their values."""
    for name, inner in settings.items():
        if isinstance(inner, Mapping):
            yield from flat(inner, place if name == "init_args" else f"{place}{name}.")
        elif name != "class_path":
            yield f"{place}{name}", inner


def in_help(text: str) -> tuple[Defaults, dict[str, str]]:
    """Setting to its default, and to all that --help says of it."""
    found = {}
    said = {}
    for line in re.sub(r"\n {4,}", " ", text).splitlines():
        if entry := re.match(
            r"  --([\w.]+)[ ,].*(?:default: (.*?)|\(required, .*?)(?:, known subclasses: .*)?\)$", line
        ):
            found[entry[1]] = NEEDED if entry[2] is None else value(entry[2])
            said[entry[1]] = line
    return found, said


class Section:
    """A section of the page.

    Attributes:
        defaults: Setting to its default.
        python: Setting to how it stands in Python.
        meanings: Setting to what it means.
        above: The class whose settings it has as well, and those of them that it lacks.
    """

    def __init__(self, text: str) -> None:
        rows = re.findall(r"^\| `--(\S+)` \| `(.+?)` \| (?:`(.*?)`|needed) \| (.*) \|$", text, re.MULTILINE)
        self.defaults: Defaults = {name: value(default) if default else NEEDED for name, _, default, _ in rows}
        self.python = {name: python for name, python, _, _ in rows}
        self.meanings = {name: meaning for name, *_, meaning in rows}
        above = re.search(r"Settings of `(\w+)`(?: but for (.*?))?(?:\.|, and:)$", text, re.MULTILINE)
        self.above = (above[1], re.findall(r"\w+", above[2] or "")) if above else None


@cache
def page() -> dict[str, Section]:
    """Heading to what stands below it."""
    parts = re.split(r"^##+ (.*)\n", (ROOT / "docs/settings.md").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], map(Section, parts[2::2]), strict=True))


def of_class(sections: Mapping[str, Section], name: str) -> Defaults:
    """All settings of a class on the page, by their own names."""
    section = sections[name]
    own = {re.sub(r"^\w+\.", "", setting): default for setting, default in section.defaults.items()}
    if section.above is None:
        return own
    above, lacking = section.above
    inherited = of_class(sections, above)
    assert {*lacking} <= inherited.keys(), f"{above} does not have what {name} is said to lack"
    return {setting: default for setting, default in inherited.items() if setting not in lacking} | own


def in_signature(kind: Any, name: str) -> Any:
    """The default of a setting in the nearest signature that has it."""
    outer, _, inner = name.partition(".")
    if inner:
        return in_signature(DATA_CLASSES[outer], inner)
    signatures = (inspect.signature(vars(owner)["__init__"]) for owner in kind.__mro__ if "__init__" in vars(owner))
    default = next(found.parameters[name].default for found in signatures if name in found.parameters)
    made_anew = {one.name: one.default_factory for one in fields(kind)} if is_dataclass(kind) else {}
    if made_anew.get(name, MISSING) is not MISSING:
        return made_anew[name]()
    return NEEDED if default is inspect.Parameter.empty else plain(default)


def words(text: str) -> str:
    """A text without what marks code."""
    return text.replace("`", "").replace(r"\|", "|")


OF_RUN = {False: ["Training and evaluation", "Training"], True: ["Training and evaluation", "Evaluation"]}
ALWAYS = {"data", "model", "partial", "slices", "config"}
SHORT = {False: {*ALWAYS, "augment"}, True: ALWAYS}  # which stand for settings of the data, of the model, of all


@pytest.mark.parametrize("evaluating", [False, True], ids=["train", "evaluate"])
class TestOfACommand:
    def test_the_printed_settings_are_those_of_records(self, printed: Callable[..., str], evaluating: bool) -> None:
        shown = parse_yaml(printed("--print_config", evaluating=evaluating), "what is printed", SettingsLoader)
        del shown["data"], shown["model"]
        assert dict(flat(shown)) == dict(flat(defaults(evaluating)))

    def test_help_shows_them(self, printed: Callable[..., str], evaluating: bool) -> None:
        in_records = dict(flat(defaults(evaluating)))
        shown, _ = in_help(printed("--help", evaluating=evaluating))
        assert {name: shown[name] for name in in_records} == in_records
        assert shown.keys() - in_records.keys() == {"data", "model"}

    def test_the_page_shows_them(self, printed: Callable[..., str], evaluating: bool) -> None:
        """With the meanings that --help has; of the Trainer those that are not Lightning's."""
        sections = page()
        groups = [name for name in sections if name in EVALUATIONS and name in defaults(evaluating)]
        titles = [*OF_RUN[evaluating], "Trainer", "Prompts" if evaluating else "Checkpoints", *groups]
        on_page = {name: default for title in titles for name, default in sections[title].defaults.items()}
        _, said = in_help(printed("--help", evaluating=evaluating))
        in_records = dict(flat(defaults(evaluating)))
        lightnings = {f"trainer.{name}": of.default for name, of in inspect.signature(Trainer).parameters.items()}
        expected = {name: of for name, of in in_records.items() if lightnings.get(name, NEEDED) != of}
        short = {name: NAMES.get(name) for name in SHORT[evaluating]}
        assert on_page == expected | short
        for title in titles:
            for name, meaning in sections[title].meanings.items():
                assert name in short or words(meaning) in words(said[name]), name

    def test_the_signature_has_them(self, evaluating: bool) -> None:
        """In Python, each of them is an argument, or a setting that one takes in a mapping."""
        call = inspect.signature(heedful.evaluate if evaluating else heedful.train).parameters
        groups = {"prompt": Prompting} if evaluating else {"checkpoint": BestCheckpoint}
        groups |= {name: kind for name, kind in EVALUATIONS.items() if name in defaults(evaluating)}
        found = {name: of.default for name, of in call.items() if name not in (*groups, "trainer", "settings")}
        assert {name: found.pop(name) for name in SHORT[evaluating]} == dict.fromkeys(SHORT[evaluating])
        in_records = dict(flat(defaults(evaluating)))
        assert found.pop("seed") is None  # that of the run that goes on, or of the file; else that of the dataclass
        found["seed_everything"] = in_records["seed_everything"]
        for name in in_records:
            group, _, setting = name.partition(".")
            if group in groups and setting:
                found[name] = in_signature(groups[group], setting)
        assert found == {name: default for name, default in in_records.items() if not name.startswith("trainer.")}

    def test_the_page_says_how_they_stand_in_python(self, evaluating: bool) -> None:
        for title in OF_RUN[evaluating]:
            for name, python in page()[title].python.items():
                assert python == name.replace("seed_everything", "seed")
        for title in ("Trainer", "Checkpoints", "Prompts", *EVALUATIONS):
            for name, python in page()[title].python.items() if title in page() else ():
                group, setting = name.split(".")
                assert python == f'{group}={{"{setting}": ...}}'


@pytest.mark.parametrize("kind", first_tier(5, CLASSES), ids=lambda kind: kind.__name__)
def test_of_a_class(printed: Callable[..., str], kind: type) -> None:
    """The help of a class, the page and the signature are the same, and so is what is printed of the usual ones."""
    group = "data" if issubclass(kind, PairedData) else "model"
    on_page = of_class(page(), kind.__name__)
    of_help, _ = in_help(printed(f"--{group}.help", kind.__name__))
    shown = {name.removeprefix(f"{group}."): default for name, default in of_help.items()}
    assert {name: of for name, of in on_page.items() if not name.startswith(("hub.", "prompt."))} == shown
    assert on_page == {name: in_signature(kind, name) for name in on_page}
    assert issubclass(kind, Endpoint) == any(name.startswith("endpoint.") for name in page()[kind.__name__].defaults)


@pytest.mark.parametrize("group", NAMES)
def test_what_a_named_file_does_not_say_is_the_default_of_its_class(printed: Callable[..., str], group: str) -> None:
    shown = parse_yaml(printed("--print_config"), "what is printed", SettingsLoader)[group]
    path = ROOT / "configs" / group / f"{NAMES[group]}.yaml"
    named = parse_yaml(path.read_text(), str(path), SettingsLoader)["init_args"]
    on_page = of_class(page(), shown["class_path"].rpartition(".")[2])
    kept = {name: default for name, default in on_page.items() if name not in {*named, "seed"}}  # that of the run
    assert kept == {name: default for name, default in flat(shown) if name not in named}


def test_the_page_is_written_from_the_sources() -> None:
    text = (ROOT / "docs/settings.md").read_text()
    assert with_tables(text) == text, "run: make reference"
