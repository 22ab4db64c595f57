"""Measure a model that runs elsewhere, by files of its inputs and of its answers."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import chain, starmap
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from heedful.assembly.loading import load_data, load_model
from heedful.assembly.measuring import measure
from heedful.assembly.results import Results
from heedful.datamodules import PairedData
from heedful.datamodules.sources.readers import read
from heedful.datamodules.sources.values import brief
from heedful.lightning_modules import Endpoint
from heedful.lightning_modules.function import SHORT
from heedful.lightning_modules.prompted.endpoint import BatchEndpoint
from heedful.lightning_modules.prompted.requests.replies import Request
from heedful.records import Composed, DataError, SettingError, atomic_path, listing, read_json
from heedful.records.arguments import IN_MEMORY, class_path, expressible

META = ".meta.json"  # suffix of the file of settings for ``score``


def write_inputs(
    rows: Any,
    path: str | PathLike[str],
    parts: Sequence[str] | Mapping[str, str] | None = None,
    default_label: str | int | None = None,
    *,
    endpoint: Endpoint | None = None,
    **settings: Any,
) -> int:
    """Write each distinct input that ``measure`` may need to a file, for a model that runs elsewhere.

    A line of the file is ``{"id": ..., "parts": {...}}``; the id is a hash of the content.

    Args:
        rows: The examples, as for ``heedful.measure``. ``parts`` and ``default_label`` are also as for
            ``heedful.measure``.
        path: The file to write. A second file, PATH.meta.json, stores the settings for ``score``.
        endpoint: A model from ``heedful.Endpoint``. The lines are then requests for OpenAI's batch API; none is sent.
        **settings: Further arguments of ``heedful.measure``, but no objects in memory, such as functions.

    Returns:
        The number of inputs in the file.

    Examples:
        >>> import heedful, tempfile
        >>> data = heedful.load_data("planted", n_validation=9)
        >>> heedful.write_inputs(data, f"{tempfile.mkdtemp()}/inputs.jsonl", evaluations="accuracy")
        9
    """
    if Path(path).exists() and not Path(f"{fspath(path)}{META}").exists():
        raise SettingError(f"{fspath(path)} exists, and is not a file of inputs. Name another file.")
    settings = expressible({"parts": parts, "default_label": default_label, **settings})
    of_endpoint = None if endpoint is None else expressible(endpoint.arguments)
    about = {"rows": _saved_rows(rows), "endpoint": of_endpoint, "settings": settings}
    requests: Any = measure(endpoint or RecordedAnswers("", {}), rows, **settings, dry_run=True)
    ids = set()
    with atomic_path(Path(path).absolute()) as temporary, open(temporary, "w", encoding="utf-8") as file:
        for content in chain.from_iterable(starmap(_input_lines, requests.inputs())):
            if (identity := _id(content)) not in ids:
                ids.add(identity)
                line = {"id" if endpoint is None else "custom_id": identity, **content}
                file.write(json.dumps(line, default=vars) + "\n")
    with atomic_path(f"{fspath(path)}{META}") as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n")  # without sort_keys: parts and labels have an order
    return len(ids)


def score(
    inputs: str | PathLike[str],
    answers: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    rows: Any = None,
    output: str | PathLike[str] | None = None,
    trainer: Mapping[str, Any] | None = None,
) -> Results:
    """Measure a model by its answers to the inputs that :func:`write_inputs` wrote.

    A line of the answers is ``{"id": ..., "answer": label or text}`` or ``{"id": ..., "probs": {label: p, ...}}``, in
    any order; ``"answer": ""`` if the model wrote nothing. A line with an "error", with the answer null, or with only
    an id records a failed request; another line has to answer the same input. Output files of OpenAI's batch API can be
    read as well.

    Args:
        inputs: The file of inputs; INPUTS.meta.json is needed as well.
        answers: One or several files of answers.
        rows: The rows, if they were in memory when the inputs were written.
        output: Folder of the results, as for ``heedful.measure``.
        trainer: Settings of Lightning's Trainer, such as {"enable_progress_bar": False}.

    Returns:
        The same results as ``heedful.measure`` of a function with these answers.

    Raises:
        HeedfulError: No line or several lines answer an input (failed requests do not count), an id is unknown, an
            answer is not a label, or the data have changed.
    """
    about = read_json(f"{fspath(inputs)}{META}")
    recorded = _read_answers(fspath(inputs), [answers] if isinstance(answers, str | PathLike) else answers)
    if rows is None and (rows := about["rows"]) is None:
        raise SettingError(f"{fspath(inputs)} was written from rows in memory. Pass the same rows as rows=.")
    if rows is about["rows"] and isinstance(rows, Mapping):
        rows = load_data(rows)
    model: Any = recorded
    if about["endpoint"] is not None:
        section = {"class_path": class_path(BatchEndpoint), "init_args": about["endpoint"]}
        model = load_model(section, responses=recorded.response)
    settings = about["settings"] | {"output": output, "trainer": trainer}
    return measure(model, rows, **settings)


def _saved_rows(rows: Any) -> Any:
    """Return what :func:`score` can load the rows from; None for rows in memory."""
    section = expressible(rows)
    if isinstance(rows, PairedData):
        section["init_args"].pop("seed", None)  # measure sets the seed
        return None if IN_MEMORY in str(section) else section
    return section if isinstance(rows, str | PathLike) else None


def _input_lines(model: Any, examples: Composed) -> Iterable[dict[str, Any]]:
    if isinstance(model, Endpoint):
        return map(_request, model.requests(examples))
    return ({"parts": row} for row in model.processor(examples)["function"].rows)


def _request(request: Request) -> dict[str, Any]:
    return {"method": "POST", "url": f"/v1{request.path}", "body": request.body}


def _id(content: Mapping[str, Any]) -> str:
    return sha256(json.dumps(content, default=lambda picture: picture.key).encode()).hexdigest()[:16]


class RecordedAnswers:
    """A callable model that looks up recorded answers instead of predicting."""

    __name__ = "The model"  # name of the model in messages
    is_recorded = True  # no null control: each input has one answer

    def __init__(self, inputs: str, answers: Mapping[str, tuple[Any, str]]) -> None:
        self.inputs = inputs  # path of their file, for messages
        self.answers = answers  # by id: an answer, or the response of a server; and its location in a file

    def __call__(self, rows: Sequence[dict[str, Any]]) -> list[Any]:
        return [self._find({"parts": row}, row)[0] for row in rows]

    def quote(self, row: dict[str, Any]) -> str:
        """Return the location of an answer and the id of its input, for messages."""
        return f"{self._find({'parts': row}, row)[1]}, id {_id({'parts': row})}"

    def response(self, request: Request) -> tuple[Any, str]:
        """Return the recorded response to a request, and its location."""
        return self._find(_request(request), request.body)

    def _find(self, content: Mapping[str, Any], quotation: Mapping[str, Any]) -> tuple[Any, str]:
        if (answer := self.answers.get(_id(content))) is None:
            raise DataError(
                f"{self.inputs} lacks the input {SHORT.repr(quotation)}. The data or settings have changed."
            )
        return answer


def _read_answers(inputs: str, files: Sequence[str | PathLike[str]]) -> RecordedAnswers:
    """Read the answers to all inputs; raise DataError for missing, repeated and unknown ids."""
    row_of = {_id_in(line): row for row, line in read(Path(inputs))}
    answer_of: dict[str, tuple[Any, str]] = {}
    failures: dict[str, str] = {}
    for file in files:
        for row, line in read(Path(file)):
            where, identity = f"{fspath(file)}, row {row}", _id_in(line)
            answer, failure = _parse_answer(line, where)
            if identity not in row_of:
                raise DataError(f"{where}: the id {identity} is not in {inputs}.")
            if failure:
                failures[identity] = f"{where}, id {identity}: {failure}"
            elif identity in answer_of:
                raise DataError(f"{where}: the id {identity} has two answers, see {answer_of[identity][1]}. Keep one.")
            else:
                answer_of[identity] = answer, where
    if missing := [identity for identity in row_of if identity not in answer_of]:
        unknown = f"{inputs}, row {row_of[missing[0]]}, id {missing[0]}: no answer"
        why = next((failures[identity] for identity in missing if identity in failures), unknown)
        raise DataError(f"{why}. {len(missing):,} of {len(row_of):,} inputs have no answer. Add a file with answers.")
    return RecordedAnswers(inputs, answer_of)


def _id_in(line: Mapping[str, Any]) -> str:
    return str(line.get("custom_id", line.get("id")))


def _parse_answer(line: Mapping[str, Any], where: str) -> tuple[Any, str]:
    """Return the answer, or the response of a server, in a line; or None and the reason."""
    if line.get("error"):
        return None, f"error {brief(line['error'])}"
    response = line["response"] if isinstance(line.get("response"), dict) else {}
    if (status := response.get("status_code")) not in (None, 200):
        return None, f"status {brief(status)}"
    if len(line) > 1 and not line.keys() & {"answer", "probs", "response", "error"}:
        raise DataError(f'{where} has neither "answer" nor "probs", but {listing(list(map(str, line)))}.')
    kinds = {"answer": str | int | float, "probs": list | dict}
    answers = {name: line[name] for name in kinds if line.get(name) is not None}
    if len(answers) > 1 or not all(isinstance(value, kinds[name]) for name, value in answers.items()):
        raise DataError(f'{where}: write one answer, as "answer": LABEL, or "probs": {{LABEL: P, ...}}.')
    values = (*answers.values(), response.get("body"))
    return next(((value, "") for value in values if value is not None), (None, "no answer"))
