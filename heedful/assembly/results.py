"""The results of a run or of an evaluation: its numbers, its rows, its folder; and differences between two results."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from heedful.assembly.numbers import NoSuchNumber, Numbers, words_of_name
from heedful.records import HeedfulError, MetricName, RunError, printable, writing
from heedful.records.messages import in_notebook
from heedful.records.rows import read_rows
from heedful.records.storage.files import WRITING, write_json
from heedful.records.storage.results import (
    CONFIG,
    LOCK,
    RUN,
    measurements_by_name,
    read_results,
    rows_file,
    write_results,
)
from heedful.records.storage.run_settings import run_settings
from heedful.reports.alike import CHANGES, DEFAULT, notes
from heedful.reports.compare import run_differences
from heedful.reports.frame import frame_of
from heedful.reports.page.contents import Provider
from heedful.reports.page.examples import write_examples
from heedful.reports.page.writing import REPORT, write_page
from heedful.reports.results import Evaluated
from heedful.reports.runs import UNKNOWN_WORTH, read_runs
from heedful.reports.tables import Cells, as_html, emit, number
from heedful.reports.terminal.table import build, footnotes, print_table

if TYPE_CHECKING:
    import pandas as pd

NOTHING = "Nothing was measured."
CONTROLS = ("majority", "null_")  # beginnings of statistics that do not compare two models


@dataclass(frozen=True)
class Unsaved:
    """The content of the files that :meth:`Results.save` will write, for results in memory."""

    name: str  # of the prompt; "" if there is only one
    write_config: Callable[[Path], None]  # to a path
    about: Mapping[str, Any]  # content of run.json
    rows: Mapping[str, Evaluated]  # rows and metadata by evaluation
    contents: Provider  # of the texts of examples, for the HTML page


@dataclass(frozen=True, repr=False)
class Results(Numbers):
    """The results of an evaluation.

    Names look up numbers, as in ``result["attentiveness", "premise"].value``; see ``Numbers.__getitem__``.

    Attributes:
        folder: Folder of results.json and the rows; None for results in memory.
        content: Content of results.json without the hashes of the rows.
        unsaved: Content of the files of results in memory.

    Examples:
        >>> import heedful, tempfile
        >>> rows = [{"premise": f"Dog {i} runs.", "hypothesis": f"Animal {i} moves."} for i in range(40)]
        >>> def predict(inputs):
        ...     return ["entailment" if "1" in x["hypothesis"] else "neutral" for x in inputs]
        >>> quiet = {"enable_progress_bar": False}
        >>> result = heedful.measure(predict, rows, ["premise", "hypothesis"], "neutral", trainer=quiet)
        >>> result["attentiveness", "premise"].value, ("attentiveness", "title") in result
        (0.0, False)
        >>> saved = result.save(tempfile.mkdtemp() + "/saved")
        >>> saved.require("attentiveness premise <= 30 %").rows.column_names[:2]
        ['evaluation', 'uid']
        >>> (result - saved)["attentiveness", "premise"].value
        0.0
    """

    folder: Path | None
    content: Mapping[str, Any]
    unsaved: Unsaved | None = field(default=None, kw_only=True, compare=False)

    def __repr__(self) -> str:
        names = {str(name): words_of_name(name) for name in self.numbers}
        headlines = self.content["headlines"] if self.content else []
        heads = [text for text in headlines if text in names][:4]
        numbers = [f"{names[text]} {number(self.content['metrics'][text], ci95=True)}" for text in heads]
        inside = ", ".join(numbers) if self.content else NOTHING
        return f"<{type(self).__name__} {printable(str(self.folder or 'in memory'))}: {printable(inside)}>"

    @property
    def display_name(self) -> str:  # type: ignore[override]
        """Name of the results in messages: the folder, or "memory" and the name of the prompt."""
        return str(self.folder or f"memory {self.unsaved.name if self.unsaved else ''}".strip())

    @contextmanager
    def in_folder(self, with_examples: bool = False) -> Iterator[Path]:
        """Yield a folder with the files of the results: a temporary one, optionally with texts, for those in memory."""
        if self.folder is not None or self.unsaved is None:
            yield self._written
            return
        with tempfile.TemporaryDirectory(prefix="heedful-") as temporary:
            self.unsaved.write_config(Path(temporary, CONFIG))
            write_json(Path(temporary, RUN), self.unsaved.about)
            write_results(temporary, self.content, self.unsaved.rows)
            if with_examples:
                write_examples(Path(temporary), self.unsaved.contents)
            yield Path(temporary)

    @property
    def numbers(self) -> dict[MetricName, dict[str, Any]]:  # type: ignore[override]
        """The numbers by metric name; each is a mapping with value, n, ci95, flags and more, as in results.json."""
        return measurements_by_name(self.content) if self.content else {}

    @property
    def rows(self) -> pa.Table:
        """The rows of all evaluations in one table, a row per prediction, whose first column names the evaluation.

        A column is null in the rows of evaluations that lack it.
        """
        tables = []
        for evaluation, rows in self._tables().items():
            rows = rows.cast(pa.schema([_any_length(column) for column in rows.schema]))
            tables.append(rows.add_column(0, "evaluation", pa.array([evaluation] * rows.num_rows, pa.string())))
        return pa.concat_tables(tables, promote_options="default")

    def rows_of(self, evaluation: str) -> pa.Table:
        """Return the rows (one per prediction) from which the numbers of an evaluation are computed.

        Args:
            evaluation: Name of the evaluation, such as "attentiveness".
        """
        if evaluation not in (tables := self._tables(evaluation)):
            raise NoSuchNumber(f"{self.display_name} has no rows of {evaluation!r}.")
        return tables[evaluation]

    def _tables(self, only: str | None = None) -> dict[str, pa.Table]:
        """Return the rows by evaluation, or of a single one; the hashes of saved files are checked once."""
        if self.unsaved is not None:
            return {name: rows for name, (rows, _) in self.unsaved.rows.items()}
        names = [name for name in read_results(self._written)["rows"] if only in (None, name)]
        return {name: read_rows(rows_file(self._written, name))[0] for name in names}

    @property
    def _written(self) -> Path:
        if self.folder is None:
            raise RunError("The rows of these results are in the memory of rank 0. Measure with output=FOLDER.")
        return self.folder

    def show(self) -> None:
        """Print the numbers as a table (HTML in a notebook)."""
        if not self.content:
            print(NOTHING)
        elif in_notebook():
            from IPython.display import display

            display(self)
        else:
            print_table({self.display_name: self.content})

    def _repr_html_(self) -> str:
        if not self.content:
            return as_html(Cells("", [repr(self)], []))
        cells = build({self.display_name: self.content})
        worth = [f"No gold labels: {UNKNOWN_WORTH}."] if self.content["counts"].get("unlabelled") else []
        captions = [*worth, *footnotes(self.content), *([f"in {self.folder}"] if self.folder else [])]
        header = [cells.header[0], f"{self.content['data']}, {self.content['split']}"]
        return as_html(Cells("", header, cells.rows, "\n".join(captions)))

    def save(self, folder: str | PathLike[str]) -> "Results":
        """Write the results into a folder, for ``heedful.load`` and reports, and return the saved results.

        Args:
            folder: A new or empty folder.
        """
        to = Path(folder)
        require_writable(to)
        if self.folder is not None and to.resolve().is_relative_to(self.folder.resolve()):
            raise RunError(f"{to} is inside {self.folder}, the folder of the results. Name another folder.")
        with self.in_folder(with_examples=True) as source, writing(to):
            read_results(source)
            to.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}.") as parent:
                complete = Path(parent) / "results"
                complete.mkdir()
                mode = complete.stat().st_mode  # copytree would set the mode of the source
                ignored = shutil.ignore_patterns(LOCK, f"*{WRITING}")
                shutil.copytree(source, complete, ignore=ignored, symlinks=True, dirs_exist_ok=True)
                complete.chmod(mode)
                complete.replace(to)
        return replace(load(to), unsaved=self.unsaved)

    def page(self, path: str | PathLike[str] | None = None, examples: bool = True) -> Path:
        """Write a self-contained HTML page (numbers, how to read them, examples), and return its path.

        Args:
            path: Path of the page; by default report.html in the folder of the results.
            examples: Whether to include texts and pictures of examples.
        """
        if path is None and self.folder is None:
            raise RunError("These results are not saved. Name a file, as in page('report.html'), or save them first.")
        with self.in_folder(with_examples=examples) as folder:
            return write_page([folder], folder / REPORT if path is None else Path(path), examples)

    def __sub__(self, other: "Results") -> "Differences":
        """Subtract the numbers of other results on the same examples, with paired 95 % intervals."""
        if not isinstance(other, Results):
            return NotImplemented
        titles = [str(results.folder or name) for results, name in ((self, "the first"), (other, "the second"))]
        with self.in_folder() as after, other.in_folder() as before:

            def renamed(text: str) -> str:
                return text.replace(str(after), titles[0]).replace(str(before), titles[1])

            runs = [run for folder in (before, after) for run in read_runs([str(folder)])]
            try:
                changes, reasons = run_differences(*runs), notes(runs, (DEFAULT, CHANGES))
            except HeedfulError as error:  # its message names temporary folders of results in memory
                raise type(error)(renamed(str(error))) from None
            omitted = tuple(f"Left out: {renamed(text)}" for text in reasons)
        numbers, subtracted = {}, other.numbers
        for name, m in self.numbers.items():
            if name in subtracted and str(name) in changes:
                flags = dict.fromkeys([*m["flags"], *subtracted[name]["flags"]])
                numbers[name] = changes[str(name)].as_dict() | {"flags": [*flags]}
        return Differences(numbers, " minus ".join(titles), omitted)


@dataclass(frozen=True, repr=False)
class Differences(Numbers):
    """The differences between the numbers of two runs on the same examples, with paired 95 % intervals.

    A difference has the flags of both numbers. ``n`` is the number of paired examples, or the smaller number if the
    runs have different eligible examples. A number is omitted if the runs made different swaps, as with two seeds;
    ``notes`` say why.
    """

    numbers: Mapping[MetricName, dict[str, Any]]
    title: str  # names of the two runs
    notes: tuple[str, ...] = ()
    _least = -1.0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {printable(self.title)}: {len(self.numbers)} numbers>"

    @property
    def display_name(self) -> str:  # type: ignore[override]
        """The names of the two runs."""
        return self.title

    def show(self) -> None:
        """Print the differences as a table, without the majority share and the null control."""
        emit([self._cells()], notes=self.notes)

    def _repr_html_(self) -> str:
        cells = self._cells()
        return as_html(Cells("", cells.header, cells.rows, " ".join([cells.heading, *self.notes])))

    def _cells(self) -> Cells:
        rows = [
            [words_of_name(name), number(m, "+", ci95=True) + "".join(f" ({flag})" for flag in m["flags"]), str(m["n"])]
            for name, m in self.numbers.items()
            if name.family != "null" and not name.statistic.startswith(CONTROLS)
        ]
        return Cells(self.title, ["difference", "points [paired 95 %]", "n"], rows)


@dataclass(frozen=True, repr=False)
class Run(Results):
    """The results of a training run, measured with its best checkpoint.

    Attributes:
        checkpoint: Path of the measured checkpoint; None if this call trained nothing, and with fast_dev_run.
        was_finished: Whether the run was already finished, so that this call trained nothing.
    """

    checkpoint: Path | None = None
    was_finished: bool = False

    @classmethod
    def finished(cls, folder: Path) -> "Run":
        """Read the results in the folder of a finished run."""
        return cls(folder, read_results(folder), was_finished=True)


def require_writable(folder: Path) -> None:
    """Raise RunError for a folder of new results that is not empty or cannot be created."""
    with writing(folder):
        if folder.is_symlink() or (folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))):
            raise RunError(f"{folder} is not empty. Name another folder.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}."):
            pass


def load(folder: str | PathLike[str]) -> Results:
    """Read the results in the folder of a run or of an evaluation; raise HeedfulError if its files were changed.

    Args:
        folder: Path of the folder.

    Returns:
        The results; a ``Run`` for a training run.
    """
    path = Path(fspath(folder))
    return Run.finished(path) if run_settings(path).get("trained") else Results(path, read_results(path))


def frame(runs: Iterable["str | PathLike[str] | Numbers"]) -> "pd.DataFrame":
    """Return the numbers of runs in one long pandas frame, for tables and figures; ``heedful.measure`` has an example.

    Args:
        runs: Folders of runs or of evaluations, :class:`Results` and :class:`Differences`.

    Returns:
        A row for each run and number. The columns are run (the folder, or the name of results in memory), data,
        evaluation (the first word of the name of the number), part, statistic and slice ("" for none); value, low and
        high (the ends of the 95 % interval), n, flags (joined by commas) and unit ("share" for numbers between 0 and 1,
        "ratio" for others); clusters, std, draws, and reason, why a number is undefined. Missing numbers are NaN.

    Raises:
        RunError: A folder has no results, or its files were changed.
    """
    loaded = [run if isinstance(run, Numbers) else load(run) for run in runs]
    return frame_of([(run.display_name, run.numbers) for run in loaded])


def _any_length(column: pa.Field) -> pa.Field:
    """Return the column with lists of any length: the number of labels may differ between evaluations."""
    fixed = isinstance(column.type, pa.FixedSizeListType)
    return column.with_type(pa.list_(column.type.value_type)) if fixed else column
