"""Files of inputs and of answers to them: one line each, known by an id; beside the inputs, what they were made of."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from heedful.callbacks.engine.forecast import Needed
from heedful.datamodules.sources.readers import kind, read
from heedful.lightning_modules.function import FunctionProcessor
from heedful.lightning_modules.prompted.batch import BatchEndpoint, keys_of
from heedful.lightning_modules.prompted.endpoint import Endpoint
from heedful.lightning_modules.recorded import Recorded
from heedful.records import Composed, DataError, ModelError, Picture, RunError, atomic_path, open_file, read_json
from heedful.records.storage.files import unreadable

VERSION = 1  # of the files
KNOWN = {  # what the file beside the inputs says
    *("version", "format", "ids", "inputs", "sha256", "examples", "parts", "labels", "is_ordered"),
    *("data", "of_rows", "slices", "evaluations", "settings", "seed", "endpoint", "prompt"),
}
SEAL = "seal"  # a hash of all else that the file beside the inputs says
BESIDE = ".meta.json"  # ends the name of the file beside the inputs
ID = re.compile(r"([0-9a-f]{8})-([0-9a-f]{16})")  # the version of all inputs, and a hash of this one
OTHER, FOREIGN, REPEATED = "other", "foreign", "repeated"  # faults of ids
TOGETHER = 8192  # answers that are read at once
Answering = Recorded | BatchEndpoint


class Form(Protocol):
    """The form of a file of inputs, and of the answers to them.

    Attributes:
        name: What the command calls it.
        id: What a line calls the id.
    """

    name: str
    id: str

    def keys(self, model: Any, examples: Composed) -> np.ndarray:
        """A 64-bit hash of all that decides the answer to each: uint64 [examples]."""
        ...

    def inputs(self, model: Any, examples: Composed) -> Iterator[dict[str, Any]]:
        """The content of each line, beside its id."""
        ...

    def answer(self, line: Mapping[str, Any], where: str) -> tuple[Any, str]:
        """The answer in a line, and "" or why there is none.

        Raises:
            HeedfulError: It cannot be one; the message begins with ``where``.
        """
        ...


class Plain:
    """Each input by its parts; each answer is a label, a text, or the probabilities of the labels."""

    name = "jsonl"
    id = "id"

    def keys(self, model: Any, examples: Composed) -> np.ndarray:
        processor: FunctionProcessor = model.processor
        return processor.hashed(examples)

    def inputs(self, model: Any, examples: Composed) -> Iterator[dict[str, Any]]:
        for row in model.processor(examples)["function"].rows:
            yield {"parts": {part: _written(value) for part, value in row.items()}}

    def answer(self, line: Mapping[str, Any], where: str) -> tuple[Any, str]:
        given = [line[name] for name in ("answer", "probs") if line.get(name) is not None]
        if line.get("error"):
            return None, f"error {_brief(line['error'])}"
        if not given:
            return None, "no answer"
        if len(given) > 1:
            raise DataError(f"{where} holds both an answer and probs. Give one of them.")
        takes: tuple[type, ...] = (list, dict) if "probs" in line and line["probs"] is not None else (str, int, float)
        if not isinstance(given[0], takes):
            raise DataError(
                f'{where}: {_brief(given[0])} is not an answer. Write {{"id": ID, "answer": LABEL}}, or "probs": '
                "{LABEL: P, ...}."
            )
        return given[0], ""


class Batch:
    """Each input as a request of OpenAI's batch API; each answer as a line of its output."""

    name = "openai-batch"
    id = "custom_id"

    def keys(self, model: Any, examples: Composed) -> np.ndarray:
        return keys_of(model.requests(examples))

    def inputs(self, model: Any, examples: Composed) -> Iterator[dict[str, Any]]:
        asked: Endpoint = model
        for request in asked.requests(examples):
            yield {"method": "POST", "url": f"/v1{request.path}", "body": request.body}

    def answer(self, line: Mapping[str, Any], where: str) -> tuple[Any, str]:
        response = line.get("response")
        if line.get("error"):
            return None, f"error {_brief(line['error'])}"
        if not isinstance(response, Mapping):
            return None, "no response"
        if response.get("status_code") != 200:
            return None, f"status {_brief(response.get('status_code'))}"
        return response.get("body"), ""


FORMS: dict[str, Form] = {form.name: form for form in (Plain(), Batch())}


def _written(part: Any) -> Any:
    """A part as JSON has it: a text, a table as an object, a picture as where its bytes are."""
    if not isinstance(part, Picture):
        return part
    return {"path": part.path, "start": part.start, "size": part.size, "sha256": part.key}


def _brief(value: Any, most: int = 40) -> str:
    text = json.dumps(value)
    return text if len(text) <= most else f"{text[:most]}..."


class Distinct:
    """The distinct inputs that an evaluation may need.

    Args:
        keys: Their keys, some of them several times.

    Attributes:
        keys: uint64 [inputs], ascending.
        version: Names them all.
    """

    def __init__(self, keys: Sequence[np.ndarray]) -> None:
        self.keys = np.unique(np.concatenate([np.zeros(0, np.uint64), *keys]))
        self.version = sha256(f"{VERSION} ".encode() + self.keys.astype("<u8").tobytes()).hexdigest()[:8]

    def __len__(self) -> int:
        return len(self.keys)

    def places(self, keys: np.ndarray) -> np.ndarray:
        """Where each of these, which must be among them, stands: int64 [keys]."""
        return np.searchsorted(self.keys, keys)

    def id(self, place: int) -> str:
        """The id of one of them."""
        return f"{self.version}-{int(self.keys[place]):016x}"

    def place(self, match: re.Match[str]) -> int:
        """Where the input of an id of this version stands; -1 where there is none."""
        key = np.uint64(int(match[2], 16))
        place = int(np.searchsorted(self.keys, key))
        return place if place < len(self) and self.keys[place] == key else -1


def write(path: Path, form: Form, model: Any, distinct: Distinct, inputs: Iterator[Needed]) -> str:
    """Write inputs line by line, each once.

    Args:
        path: Where to.
        form: Of the file.
        model: Makes the keys, and what is asked.
        distinct: All of them.
        inputs: All of them, some several times.

    Returns:
        The sha256 of the file.
    """
    is_written = np.zeros(len(distinct), dtype=bool)
    sha = sha256()
    with open(path, "wb") as file:
        for some in inputs:
            places = distinct.places(form.keys(model, some.examples))
            _, first = np.unique(places, return_index=True)
            new = np.sort(first[~is_written[places[first]]])
            is_written[places[new]] = True
            for start in range(0, len(new), TOGETHER):
                batch = new[start : start + TOGETHER]
                asked = form.inputs(model, some.examples.take(batch))
                for place, line in zip(places[batch].tolist(), asked, strict=True):
                    text = json.dumps({form.id: distinct.id(place), **line}).encode() + b"\n"
                    file.write(text)
                    sha.update(text)
    return sha.hexdigest()


def beside(path: str | PathLike[str]) -> Path:
    """The file beside a file of inputs, which says what they were made of."""
    return Path(f"{fspath(path)}{BESIDE}")


def write_beside(path: str | PathLike[str], about: Mapping[str, Any]) -> None:
    """Write what a file of inputs was made of, in its order: that of parts and labels has a meaning."""
    sealed = {**about, SEAL: _seal(about)}
    with atomic_path(beside(path)) as temporary:
        temporary.write_text(json.dumps(sealed, indent=2, allow_nan=False) + "\n")


def _seal(about: Mapping[str, Any]) -> str:
    """The sha256 of what is said of a file of inputs."""
    said = {name: value for name, value in about.items() if name != SEAL}
    return sha256(json.dumps(said, allow_nan=False).encode()).hexdigest()


def read_beside(path: str | PathLike[str]) -> dict[str, Any]:
    """Read how a file of inputs was made.

    Raises:
        HeedfulError: It is not there, is of another version, or the inputs are not those that were written.
    """
    if not Path(path).is_file():
        raise DataError(f"{fspath(path)} does not exist.")
    if not beside(path).is_file():
        raise DataError(
            f"{beside(path)} does not exist, which was written beside the inputs. Keep the two files together."
        )
    made: Any = read_json(beside(path))
    if not isinstance(made, dict) or made.get("version") != VERSION or made.keys() != KNOWN | {SEAL}:
        raise RunError(f"{beside(path)} is not of this version of Heedful. Write the inputs again.")
    if made.pop(SEAL) != _seal(made):
        raise RunError(
            f"{beside(path)} is not as it was written: a setting is another. Bring the file back that was written, or "
            "begin a new run."
        )
    if file_hash(path) != made["sha256"]:
        raise ModelError(
            f"{fspath(path)} is not the file that was written: its content is another. Name the file of inputs that "
            "was answered, as it was written."
        )
    return made


def file_hash(path: str | PathLike[str]) -> str:
    """The sha256 of a file."""
    sha = sha256()
    try:
        with open_file(fspath(path)) as file:
            while piece := file.read(1 << 20):
                sha.update(piece)
    except OSError as error:
        raise unreadable(fspath(path), error) from None
    return sha.hexdigest()


@dataclass
class Reading:
    """The answers in files to some inputs, as they are read.

    Attributes:
        distinct: The inputs.
        form: Of the files.
        is_answered: Which of the inputs have an answer: bool [inputs].
        reasons: The place of an input to why its line is not an answer.
        faults: What is wrong with ids, to how many, with the first of each.
    """

    distinct: Distinct
    form: Form
    is_answered: np.ndarray = field(init=False)
    reasons: dict[int, str] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.is_answered = np.zeros(len(self.distinct), dtype=bool)

    def read(self, path: str | PathLike[str], model: Answering) -> None:
        """Give the answers in a file to a model.

        Raises:
            HeedfulError: The file is damaged, or an answer in it cannot be one.
        """
        display_name = fspath(path)
        if kind(Path(display_name)) not in ("jsonl", "json"):
            raise DataError(f"{display_name} is not a file of JSON lines. Save the answers as .jsonl.")
        rows = read(Path(display_name))
        while several := list(islice(rows, TOGETHER)):
            taken = [one for row, line in several if (one := self._taken(line, row, display_name)) is not None]
            if not taken:
                continue
            places, answers, numbers = zip(*taken, strict=True)
            unusable = model.add(self.distinct.keys[np.array(places)], answers, numbers)
            for i, why in unusable.items():
                self.is_answered[places[i]] = False
                self.reasons[places[i]] = f"{why} in row {numbers[i]} of {display_name}"

    def _taken(self, line: Mapping[str, Any], row: int, display_name: str) -> tuple[int, Any, int] | None:
        """The place of the input of a line, its answer, and the row; None where it is not the answer to an input."""
        given = line.get(self.form.id)
        match = ID.fullmatch(given) if isinstance(given, str) else None
        where = f"{display_name}, row {row}"
        place = self.distinct.place(match) if match else -1
        if match and match[1] != self.distinct.version:
            self._note(OTHER, f"{given} in row {row} of {display_name}")
            return None
        if place < 0:
            self._note(FOREIGN, f"{_brief(given)} in row {row} of {display_name}")
            return None
        answer, why = self.form.answer(line, where)
        if why:
            self.reasons.setdefault(place, f"{why} in row {row} of {display_name}")
            return None
        if self.is_answered[place]:
            self._note(REPEATED, f"{given} in row {row} of {display_name}")
            return None
        self.is_answered[place] = True
        return place, answer, row

    def _note(self, fault: str, first: str) -> None:
        self.faults[fault] += 1
        self.first.setdefault(fault, first)

    def require_own(self) -> None:
        """Refuse answers to other inputs, and two to one.

        Raises:
            HeedfulError: There are some.
        """
        if n := self.faults[OTHER]:
            wrong = f"{n:,} ids are of another version of the inputs (here they begin with {self.distinct.version})"
            raise ModelError(
                f"{wrong}: {self.first[OTHER]}. Name the file of inputs that was answered, as it was written."
            )
        if n := self.faults[FOREIGN]:
            raise ModelError(
                f"{n:,} ids are not among the inputs: {self.first[FOREIGN]}. Give the answers to these inputs alone."
            )
        if n := self.faults[REPEATED]:
            wrong = f"{n:,} answers are to inputs that have one already"
            raise ModelError(f"{wrong}: {self.first[REPEATED]}. Keep one of them.")

    @property
    def unanswered(self) -> int:
        """How many inputs have no answer."""
        return int((~self.is_answered).sum())

    @property
    def missing(self) -> str:
        """How many inputs have no answer, and the first of them, as a sentence without its full stop."""
        failed = (place for place in sorted(self.reasons) if not self.is_answered[place])
        place = next(failed, int(np.argmin(self.is_answered)))
        why = f" ({self.reasons[place]})" if place in self.reasons else ""
        told = f"{self.unanswered:,} of {len(self.distinct):,} inputs have no answer"
        return f"{told}, such as {self.distinct.id(place)}{why}"
