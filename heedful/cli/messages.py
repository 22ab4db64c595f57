"""A user's mistake is one sentence and exit status 2, a signal one and 128 more than its number; no traceback."""

import signal
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NoReturn

import yaml
from jsonargparse import Namespace, get_loader, set_loader
from pytorch_lightning.cli import LightningArgumentParser
from pytorch_lightning.utilities import rank_zero_only

from heedful.assembly.library_errors import refusal_behind
from heedful.assembly.quiet import quietly
from heedful.records import SettingError, stopping
from heedful.records.command_lines import called, exit_on_broken_pipe
from heedful.records.storage.claim import release
from heedful.records.storage.schema import with_present_classes
from heedful.records.storage.yaml_files import examine

LONGEST = 100  # characters of a sentence of the parser


class Refusal(SettingError):
    """The parser does not take the command line, as it says itself."""


def _bounded(text: str) -> Any:
    """Load YAML for the parser, from files and from single values, once it was looked through."""
    try:
        examine(text)
        return with_present_classes(_usual(text))
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None


_usual = get_loader("yaml")
set_loader("yaml", _bounded, (yaml.YAMLError,))


class Parser(LightningArgumentParser):
    """Raises a refusal. A flag is given whole: what reads the command line first knows no other."""

    is_lenient = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False} | kwargs)

    def error(self, message: str, ex: Exception | None = None) -> None:
        sentence = " ".join(message.split())
        sentence = sentence if len(sentence) <= LONGEST else f"{sentence[:LONGEST]}..."
        raise Refusal(f"{sentence.rstrip('.')}.") from ex

    def validate(self, *args: Any, **kwargs: Any) -> None:
        if not self.is_lenient:
            super().validate(*args, **kwargs)

    def with_arguments(self, words: list[str], config: Namespace | None = None) -> Namespace | Refusal:
        """A configuration with some arguments more, of which others may be missing; or why they are not taken."""
        vars(self).pop("print_config", None)  # which a command line that was refused asked for
        self.is_lenient = True
        try:
            return self.parse_args(words, namespace=config)
        except Refusal as refusal:
            return refusal
        finally:
            self.is_lenient = False

    def settings(self) -> dict[str, Any]:
        """Name to type hint of each setting, or to the settings of a group."""
        settings: dict[str, Any] = {}
        for action in self._actions:
            *groups, name = action.dest.split(".")
            inner = settings
            for group in groups:
                inner[group] = inner = inner[group] if isinstance(inner.get(group), dict) else {}
            if name != "help":  # of the whole, and of a setting
                inner[name] = getattr(action, "_typehint", Any)
        return settings

    def explain(self, meanings: Mapping[str, str]) -> None:
        """Have --help say these texts of the settings of these names."""
        for action in self._actions:
            action.help = meanings.get(action.dest, action.help)

    def lacking(self, given: Namespace | dict[str, Any]) -> list[str]:
        """The names of the settings that are needed and not given."""
        return [action.dest for action in self._actions if action.required and given.get(action.dest) is None]

    def save(self, cfg: Namespace, *args: Any, **kwargs: Any) -> None:
        super().save(_without_enums(cfg), *args, **kwargs)


def _without_enums(value: Any) -> Any:
    """A configuration whose members of enumerations are their values, as a YAML file can hold them.

    Some of Lightning's callbacks have such a member as the default of a text, which jsonargparse cannot write.
    """
    if isinstance(value, Namespace):
        return Namespace(**{name: _without_enums(inner) for name, inner in vars(value).items()})
    if isinstance(value, list):
        return [_without_enums(inner) for inner in value]
    return value.value if isinstance(value, Enum) else value


def root(error: BaseException) -> BaseException:
    """The error that others stand on."""
    return error if error.__cause__ is None else root(error.__cause__)


def guarded(main: Callable[[], None]) -> None:
    """Run a command; a user's mistake becomes one sentence and exit status 2, without a traceback.

    SIGTERM becomes a sentence and status 143, Ctrl-C a sentence and status 130.
    """
    stopping.listen()
    try:
        with quietly(), exit_on_broken_pipe():
            main()
    except stopping.Stopped as stop:
        end(str(stop), stop.code)
    except (KeyboardInterrupt, SystemExit) as stop:
        if not isinstance(stop, KeyboardInterrupt) and not isinstance(stop.__context__, KeyboardInterrupt):
            raise
        end("stopped by Ctrl-C.", 128 + signal.SIGINT)  # Lightning makes a SystemExit of it, with status 1
    except Exception as error:
        mistake = refusal_behind(error)
        if mistake is None:
            raise
        print(f"{called()}: {mistake}", file=sys.stderr, flush=True)
        sys.exit(2)
    finally:
        release()


def end(message: str, status: int) -> NoReturn:
    """Say on the first process why the command ends, and end it."""
    if rank_zero_only.rank == 0:
        print(f"{called()}: {message}", file=sys.stderr, flush=True)
    sys.exit(status)
