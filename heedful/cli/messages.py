"""A user's mistake is one sentence and exit status 2, a signal one and 128 more than its number; no traceback."""

import logging
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn

import pytorch_lightning
import torch
import yaml
from jsonargparse import Namespace, get_loader, set_loader
from pytorch_lightning.cli import LightningArgumentParser
from pytorch_lightning.utilities import rank_zero_only
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from heedful.records import HeedfulError, ending_with_its_reader, printable, stopping
from heedful.records.errors import SETTING
from heedful.records.storage.claim import release
from heedful.records.storage.schema import with_present_classes
from heedful.records.storage.yaml_files import examine

# what Lightning says of every run: the seed and the processor stand in config.yaml and in run.json
UNASKED = re.compile(r"(.*Tip:|Seed set to|(GPU|TPU|HPU|IPU) available: )", re.DOTALL)
QUOTES = 'YAML reads yes, no, on and off as true and false, so write such a text in quotes, as "yes"'

LOST_PEER = re.compile(r"gloo/transport|Connection (closed|reset) by peer|NCCL (error|operation|communicator)")
LOST = (
    "another process of this command has ended: it was killed, had no memory left, or says above what was wrong. Start "
    "the command again; a training goes on with --resume RUN."
)


def as_flag(setting: re.Match[str]) -> str:
    """A setting that a message names, as the user gives it: those of a model behind a server with --endpoint."""
    of_server = any(argument.partition("=")[0].partition(".")[0] == "--endpoint" for argument in sys.argv)
    return "--" + (re.sub("^model(?=[.]|$)", "endpoint", setting[1]) if of_server else setting[1])


def shown(record: logging.LogRecord) -> bool:
    """Whether a line for the user is shown; what comes from data in it is made fit for a terminal."""
    message = SETTING.sub(as_flag, record.getMessage())
    record.msg = "\n".join(map(printable, message.split("\n")))
    record.args = ()
    return not UNASKED.match(record.msg)


warnings.filterwarnings("ignore", "The '.*_dataloader' does not have many workers")  # splicing token ids is cheap
warnings.filterwarnings("ignore", "Checkpoint directory .* exists and is not empty")  # it holds the backbone's config
warnings.filterwarnings("ignore", ".*isinstance.treespec, LeafSpec.. is deprecated")  # Lightning with torch 2.13
for log in ("pytorch_lightning.utilities", "lightning.pytorch.utilities", "lightning_fabric.utilities"):
    for of in ("rank_zero", "seed"):
        logging.getLogger(f"{log}.{of}").addFilter(shown)
warnings.filterwarnings("ignore", "Be aware that when using `ckpt_path`, callbacks")  # evaluation needs none of them
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")


class Refusal(HeedfulError):
    """The parser does not take the command line."""


def _bounded(text: str) -> Any:
    """Load YAML for the parser, from files and from single values, once it was looked through."""
    examine(text)
    return with_present_classes(_usual(text))


_usual = get_loader("yaml")
set_loader("yaml", _bounded, (yaml.YAMLError,))


class Parser(LightningArgumentParser):
    """Reports a mistake in one sentence. A flag is given whole: what reads the command line first knows no other."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False} | kwargs)

    def error(self, message: str, ex: Exception | None = None) -> None:
        raise Refusal(one_sentence(message))

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


def one_sentence(message: str) -> str:
    """The message of jsonargparse, without the alternatives that it tried for every member of a union."""
    lines = [line.strip().removeprefix("- ") for line in message.splitlines() if line.strip()]
    key = re.search(r'Parser key "([\w.]+)"', message)
    if "nrecognized arguments" in lines[0]:
        return f"{lines[0].rstrip('.')}; --help lists what there is."
    flag = "--" + key[1].replace("init_args.", "") if key else ""
    noise = "Subtypes|Errors|Given|Parser key|Does not val|Expected a (<class 'NoneType|path)"
    tried = [line for line in lines if not re.match(noise, line)] or lines[-1:]
    reason = max(tried, key=lambda line: (line.startswith("--"), "Expected a" not in line))  # the first of the best
    if reason.endswith(":") and reason in tried[:-1]:
        reason += " " + tried[tried.index(reason) + 1]
    if reason.startswith("--"):
        return f"{flag}.{reason[2:]}" if flag else reason
    if option := re.match(r"[Oo]ption '(.+)' is not accepted", reason):
        return f"{flag}.{option[1]}: there is no such setting." if flag else f"--{option[1]}: there is no such setting."
    reason = re.sub(r", denied by the .* to allow it", "", reason)  # that is said to programmers
    reason, _, value = reason.partition(". Got value: ")
    given = re.search(r"Given value: (?!Namespace|NestedArg|<)(.{1,60})$", message, re.MULTILINE)
    value = value or (given[1] if given else "")
    if reason.startswith("Expected a"):
        reason = f"expected {_alternatives(tried, message, value) or reason.removeprefix('Expected ')}"
    got = f" (got {value})" if value else ""
    if value in ("True", "False") and re.search(r"\bstr\b", reason):
        got += f"; {QUOTES}"
    reason = reason.rstrip(".")
    return f"{flag}: {reason[0].lower()}{reason[1:]}{got}." if flag else f"{reason}."


def _alternatives(tried: list[str], message: str, value: str) -> str:
    """What a setting may be, from the line of each member of its union that was tried."""
    literals = ", ".join(re.findall(r"Literal\[(.*?)\]", message)).split(", ")
    literals = list({literal.strip("'"): literal for literal in literals if literal}.values())
    types = re.findall(r"Expected a <class '(?:[\w.]+\.)?(\w+)'>", "\n".join(tried))
    if union := literals and re.search("Subtypes: (.*)", message):
        types = [name for name in types if f"<class '{name}'>" in union[1]]  # not those of the literals
    is_class = any("dot import path" in line for line in tried)
    item = value if re.fullmatch(r"[\w.-]+", value) else "..."
    forms = {} if is_class else {"dict": "{NAME: VALUE}", "list": f"[{item}]"}
    names = {"Sequence": "list", "Iterable": "list", "Mapping": "dict"}
    types = dict.fromkeys(names.get(name, name) for name in types)
    allowed = [f"{name}, as in '{forms[name]}'" if name in forms else name for name in types]
    allowed += [f"one of [{', '.join(literals)}]"] if literals else []
    allowed += ["the name of a class (spelt as in Python)", "its settings in braces"] if is_class else []
    if len(allowed) > 1:
        return f"{', '.join(allowed[:-1])} or {allowed[-1]}"
    return "".join(allowed)


def user_mistake(error: BaseException | None) -> HeedfulError | None:
    """The HeedfulError that led to an exception, if one did: jsonargparse and Lightning raise their own on top.

    It names settings by their flags.
    """
    while error is not None and not isinstance(error, HeedfulError):
        if said := of_lightning(error):
            return HeedfulError(f"--trainer{of_trainer(said)}")
        if is_of_lost_process(error):
            return HeedfulError(LOST)
        error = error.__cause__ or error.__context__
    if error is not None:
        error.name_settings(as_flag)
    return error


def is_of_lost_process(error: BaseException) -> bool:
    """Whether an error is that of a process that waits for another one, which is there no more."""
    by_torch = isinstance(error, getattr(torch.distributed, "DistError", ()))  # which not every build of torch has
    return by_torch or (isinstance(error, RuntimeError) and bool(LOST_PEER.search(str(error))))


def of_trainer(said: str) -> str:
    """The first sentence of what Lightning says of its Trainer, after "--trainer"; in our words where it helps."""
    if "supported gpu backend" in said or re.search(r"CUDAAccelerator.* can not run", said):
        return ".accelerator: torch sees no GPU here; take --trainer.accelerator cpu, or a torch that is built for it."
    return ": " + re.split(r"(?<=[.!]) +(?=[A-Z])", " ".join(said.split()), maxsplit=1)[0]  # advice on code follows


def of_lightning(error: BaseException) -> str | None:
    """The text of an error that Lightning's own code raises about a setting; None of another error."""
    frames = traceback.extract_tb(error.__traceback__)
    package = Path(pytorch_lightning.__file__).parent
    own = bool(frames) and Path(frames[-1].filename).is_relative_to(package)
    if not isinstance(error, (MisconfigurationException, ValueError, RuntimeError)) or not own:
        return None
    return str(error)


def guarded(main: Callable[[], None]) -> None:
    """Run a command; a user's mistake becomes one sentence and exit status 2, without a traceback.

    SIGTERM becomes a sentence and status 143, Ctrl-C a sentence and status 130.
    """
    stopping.listen()
    try:
        with ending_with_its_reader():
            main()
    except stopping.Stopped as stop:
        end(str(stop), stop.code)
    except (KeyboardInterrupt, SystemExit) as stop:
        if not isinstance(stop, KeyboardInterrupt) and not isinstance(stop.__context__, KeyboardInterrupt):
            raise
        end("stopped by Ctrl-C.", 128 + signal.SIGINT)  # Lightning makes a SystemExit of it, with status 1
    except Exception as error:
        mistake = user_mistake(error)
        if mistake is None:
            raise
        print(f"{Path(sys.argv[0]).name}: {mistake.line}", file=sys.stderr, flush=True)
        sys.exit(2)
    finally:
        release()


def end(message: str, status: int) -> NoReturn:
    """Say on the first process why the command ends, and end it."""
    if rank_zero_only.rank == 0:
        print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr, flush=True)
    sys.exit(status)
