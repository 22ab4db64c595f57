"""Data for tests of data modules: sentence pairs, and the tiny twins of the data sets in configs/data."""

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from heedful import datamodules
from heedful.configs.data.counterparts import CONVERTERS
from heedful.datamodules import PairedData, PairedText
from heedful.records import Examples

ROOT = Path(__file__).parents[2]
TWINS = ROOT / "tests" / "data"
FILES = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "configs" / "data").glob("*.yaml"))}
CONFIGS = {name: config for name, config in FILES.items() if config["init_args"].get("label", "") is not None}
SHARED = {"hans-three": "hans", "mnli-mismatched": "mnli", "paws-as-qqp": "paws"}  # configs that read another's files
GENERATED = "planted", "planted-options"  # not read
ONE_FILE = "boolq", "condaqa", "conflictqa", "matres", "perspectrum", "rgb"  # without training data
OF_TWIN: dict[str, dict[str, Any]] = {name: {"hold_out": 6} for name in ONE_FILE} | {
    "help": {"hold_out": 6},
    "med": {"hold_out": 6},  # all of MED is for evaluation
    **dict.fromkeys(GENERATED, {"n_train": 8, "n_validation": 6}),
    "vqa2": {"answers": 4},
    "wanli": {"hold_out": 6},
}
LABELS = ("entailment", "neutral", "contradiction")
NLI: dict[str, Any] = {
    "name": "own",
    "parts": {"premise": "premise", "hypothesis": "hypothesis"},
    "labels": {label: [i] for i, label in enumerate(LABELS)},
    "default_label": "neutral",
}


def nli_rows(n: int, start: int = 0, labels: Sequence[Any] = LABELS) -> list[dict[str, Any]]:
    """Sentence pairs ``p <i>`` and ``h <i>``, with labels in turn."""
    numbers = range(start, start + n)
    return [{"premise": f"p {i}", "hypothesis": f"h {i}", "label": labels[i % len(labels)]} for i in numbers]


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def own(path: Any, stage: str = "fit", seed: int = 0, **settings: Any) -> PairedText:
    """A data module of sentence pairs, set up."""
    return set_up(PairedText(**NLI | {"path": str(path) if isinstance(path, Path) else path} | settings), stage, seed)


def set_up(data: Any, stage: str = "fit", seed: int = 0) -> Any:
    data.setup(stage, seed)
    return data


def configured(name: str, path: Any = None, stage: str = "fit", seed: int = 0, **settings: Any) -> Any:
    """The data module of a config, with files or rows in place of the hub, set up."""
    kind, arguments = CONFIGS[name]["class_path"], CONFIGS[name]["init_args"] | {"hub": None}
    path = {"path": str(path) if isinstance(path, Path) else path}
    arguments = {
        key: value for key, value in (arguments | path | settings).items() if value is not None or key in settings
    }
    return set_up(getattr(datamodules, kind)(**arguments), stage, seed)


def twin_path(name: str) -> Path | None:
    """The folder of a config's twin; None for generated data."""
    return None if name in GENERATED else TWINS / SHARED.get(name, name)


def converted(name: str, path: Path, folder: Path) -> Path:
    """The published data of a config, or a file in the folder to which the converter has written them."""
    if name not in CONVERTERS:
        return path
    return write_jsonl(folder / f"{name}.jsonl", CONVERTERS[name](path))


def uids(examples: Examples) -> list[str]:
    return list(examples.column("uid"))


def everything(data: PairedData) -> list[Any]:
    """Everything that a run reads of its examples, apart from the paths of pictures."""
    found: list[Any] = [data.fingerprints(), data.counts, data.task]
    for examples in filter(None, (data.trained, data.pool)):
        pictures = [f"parts.{part}" for part, kind in examples.kinds.items() if kind == "picture"]
        found.append(examples.table.drop_columns(pictures).to_pydict())
        found.append([[picture.key for picture in examples.column(name)] for name in pictures])
    return found


def content_uid(prefix: str, label: str | None, parts: Mapping[str, str], repeat: int = 1) -> str:
    """The uid of the ``repeat``-th example with a label and texts, computed apart from Heedful."""
    plain = (" ".join(unicodedata.normalize("NFC", parts[name]).split()) for name in sorted(parts))
    told = repr((label, *(hashlib.sha256(text.encode()).hexdigest() for text in plain)))
    number = int.from_bytes(hashlib.blake2b(told.encode(), digest_size=8).digest(), "little")
    return f"{prefix}/{number:016x}" + (f"#{repeat}" if repeat > 1 else "")


def context_id(sentence: str) -> str:
    """The id of a context of NLI-XY, computed apart from Heedful."""
    plain = " ".join(unicodedata.normalize("NFC", sentence).split())
    return hashlib.sha256(plain.encode()).hexdigest()[:16]
