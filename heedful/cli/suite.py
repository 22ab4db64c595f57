"""The command that runs a recipe: finished steps are skipped, and stopped ones go on.

A recipe is a YAML file of steps, in their order, and of values for their placeholders:

    values:
      seed: [0, 1]
      part: {p: premise, h: hypothesis}
    steps:
      models/<part>-<seed>: train --data mnli --data.path $DATA/mnli --partial <part.value> --seed <seed>
      dev/<part>-<seed>: evaluate --checkpoint @models/<part>-<seed>
      table: compare @dev/*

A step is a command of ``heedful``, and its name is its folder below the folder of the recipe. A report, such as
``compare`` or ``rank``, goes to ``NAME.txt`` instead, and runs each time. ``<part>`` is a key of values and
``<part.value>`` its value, ``@`` refers to earlier steps, ``$DATA`` is --data_path, ``$OUT`` the folder of the recipe.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from heedful.records import HeedfulError, RunError, SettingError, read_json, stopping, write_json
from heedful.records.command_lines import CommandParser, called
from heedful.records.errors import guess
from heedful.records.storage.folder_names import FIT, is_folder_name
from heedful.records.storage.named_configs import named_configs
from heedful.records.storage.yaml_files import read_yaml

RUNS, REPORTS = ("train", "evaluate"), ("compare", "matrix", "page", "rank")
QUIET = ["--trainer.enable_progress_bar", "false"]
PLACEHOLDER = re.compile(r"<(\w+)([.]value)?>")
REMEDY = "Move the folder away, or name another one with --output."
LAUNCHER = re.compile(  # by these srun and torchrun number processes; SLURM_JOB_ID and the like only describe a job
    r"((LOCAL|GROUP|NODE|ROLE)_)?(RANK|WORLD_SIZE)|MASTER_(ADDR|PORT)|ROLE_NAME|TORCHELASTIC_.*"
    r"|SLURM_(STEP_)?(NTASKS|NPROCS|NUM_TASKS|PROCID|LOCALID|NODEID|TASKS_PER_NODE|NTASKS_PER_.*)"
    r"|(JSM_NAMESPACE|OMPI_COMM_WORLD|PMI|PMIX)_.*"
)


class Step(NamedTuple):
    """One command of a recipe.

    Attributes:
        name: The path of its folder below the folder of the recipe.
        folder: Its results; log, record and lock lie beside it.
        command: Its words.
        needs: The steps that it refers to.
    """

    name: str
    folder: Path
    command: list[str]
    needs: list["Step"]

    @property
    def label(self) -> str:
        """Command and name."""
        return f"{self.command[0]} {self.name}"

    def beside(self, ending: str) -> Path:
        """A file next to the folder."""
        return self.folder.with_name(f"{self.folder.name}{ending}")

    def weights(self) -> str | None:
        """The hash of the measured weights; None without results."""
        results = self.folder / "results.json"
        return read_json(results)["identity"]["weights"] if results.is_file() else None

    def record(self, finished: bool) -> None:
        """Write the command, and the weights of the steps that it needs."""
        weights = {need.name: need.weights() for need in self.needs}
        write_json(self.beside(".json"), {"command": self.command, "weights": weights, "finished": finished})

    def is_done(self) -> bool:
        """Whether the step is finished.

        Raises:
            RunError: The folder has results of another command or of other weights.
        """
        if not self.beside(".json").is_file():
            if self.folder.exists():
                raise RunError(f"{self.folder} is not of this recipe. {REMEDY}")
            return False
        record = read_json(self.beside(".json"))
        if record["command"] != self.command:
            before, now = shlex.join(record["command"]), shlex.join(self.command)
            raise RunError(f"{self.folder} was made by {before}, and the recipe has {now}. {REMEDY}")
        for need in self.needs:
            if need.weights() not in (None, record["weights"][need.name]):
                raise RunError(f"{self.folder} was made of other weights than {need.folder} has. {REMEDY}")
        return bool(record["finished"]) and self.folder.is_dir()


def read_recipe(path: Path, data: str | None, output: Path) -> list[Step]:
    """The steps of a recipe in their order: one for each combination of the values that a name has placeholders for.

    Raises:
        HeedfulError: The file cannot be read, or does not make sense; the message says where.
    """
    recipe = read_yaml(str(path), str(path))
    is_recipe = isinstance(recipe, Mapping) and isinstance(recipe.get("steps"), Mapping)
    if not is_recipe or {*recipe} - {"steps", "values"}:
        raise SettingError(f"{path} is not a recipe. Write steps: names and their commands, and values: if they vary.")
    choices = {str(name): _choices(given) for name, given in (recipe.get("values") or {}).items()}
    steps: dict[str, Step] = {}
    for pattern, text in ((str(name), str(command)) for name, command in recipe["steps"].items()):
        varied = list(dict.fromkeys(name for name, _ in PLACEHOLDER.findall(pattern)))
        try:
            if unknown := {name for name, _ in PLACEHOLDER.findall(text)} - {*varied} or {*varied} - {*choices}:
                raise SettingError(f"<{min(unknown)}> has to be in the name of the step and among the values.")
            if "$DATA" in text and data is None:
                raise SettingError("$DATA is not known. Name that folder with --data_path DIR (or make ... DATA=DIR).")
            for chosen in product(*(choices[name] for name in varied)):
                name, command = (_fill(each, dict(zip(varied, chosen, strict=True))) for each in (pattern, text))
                words = [word.replace("$DATA", str(data)).replace("$OUT", str(output)) for word in shlex.split(command)]
                steps[name] = _step(name, output / name, words, steps)
        except (HeedfulError, ValueError) as error:
            raise SettingError(str(error)).at(f"{path}: steps: {pattern}") from None
    return [*steps.values()]


def _choices(given: Any) -> list[tuple[str, str]]:
    """The keys of the values of a placeholder, and what they stand for."""
    if not isinstance(given, Mapping):
        given = {each: each for each in (given if isinstance(given, list) else [given])}
    return [(str(key), "" if value is None else str(value)) for key, value in given.items()]


def _fill(text: str, values: Mapping[str, tuple[str, str]]) -> str:
    return PLACEHOLDER.sub(lambda found: values[found[1]][bool(found[2])], text)


def _step(name: str, folder: Path, words: list[str], earlier: Mapping[str, Step]) -> Step:
    kind = words[0] if words else ""
    if kind not in (*RUNS, *REPORTS):
        raise SettingError(f"{kind!r} is no command of a recipe. {guess(kind, (*RUNS, *REPORTS))}")
    if name in earlier or not all(map(is_folder_name, name.split("/"))):
        raise SettingError(f"{name} names two steps, or cannot name a folder. Rename one, with {FIT}.")
    command: list[str] = []
    needs: dict[str, Step] = {}
    for word in words:
        before, at, pattern = word.partition("@")
        found = {other: step for other, step in earlier.items() if at and fnmatchcase(other, pattern)}
        if at and not found:
            raise SettingError(f"@{pattern} is no earlier step. {guess(pattern, earlier)}")
        folders = [str(step.folder) for step in found.values()]
        command += folders if at and not before else [before + ",".join(folders)]
        needs |= found
    command += QUIET if kind in RUNS else []
    return Step(name, folder, command, [*needs.values()])


def share(steps: Sequence[Step], number: int, count: int) -> list[Step]:
    """The runs of shard ``number`` of ``count``, in their order; no shard has reports.

    Models that begin from one another stay together, with their evaluations. The longest of these groups goes first to
    the shard with the fewest runs, so that a share depends on the recipe alone.
    """
    first: dict[str, str] = {}  # the run with which the group of a run begins
    groups: dict[str, list[Step]] = {}
    for step in steps:
        if step.command[0] in RUNS:
            first[step.name] = first[step.needs[0].name] if step.needs else step.name
            groups.setdefault(first[step.name], []).append(step)
    shares: list[list[Step]] = [[] for _ in range(count)]
    for group in sorted(groups.values(), key=len, reverse=True):
        min(shares, key=len).extend(group)
    return [step for step in steps if step in shares[number - 1]]


def run(steps: Sequence[Step]) -> None:
    """Run the steps that are not done yet, with a line on the terminal for each.

    Raises:
        HeedfulError: A step fails or lacks a run that it needs, another process runs it, or its folder has the results
            of something else.
    """
    for step in steps:
        step.is_done()  # an error comes before the first step runs
    for number, step in enumerate(steps, 1):
        step.folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(step.folder.with_name(f".{step.folder.name}.lock"), timeout=0):
                _run(step, f"[{number}/{len(steps)}] {step.label}")
        except Timeout:
            raise RunError(f"Another process runs {step.name} in {step.folder}. Wait until it has ended.") from None


def _run(step: Step, line: str) -> None:
    if step.is_done():
        print(f"{line}: done before", flush=True)
        return
    if missing := [need.name for need in step.needs if not need.is_done()]:
        raise RunError(f"{step.name} needs {', '.join(missing)}: not finished. Run these first, without --only.")
    print(line, end="", flush=True)
    start = time.monotonic()
    try:
        if step.command[0] in REPORTS:
            step.beside(".txt").unlink(missing_ok=True)
            _execute(step.command, step.beside(".txt"))
        else:
            _model(step)
    finally:
        print(f": {time.monotonic() - start:,.0f} s", flush=True)
    if step.command[0] in REPORTS:
        print(f"\n{step.beside('.txt').read_text(encoding='utf-8')}", end="")


def _model(step: Step) -> None:
    """Train or evaluate; a training that was stopped resumes."""
    step.record(finished=False)
    words = step.command
    if resumes := words[0] == "train" and (step.folder / "config.yaml").is_file():
        place = words.index("--init_from") if "--init_from" in words else len(words)
        words = [*words[:place], *words[place + 2 :]]  # the checkpoint has these weights
    elif step.folder.exists():
        shutil.rmtree(step.folder)
    _execute([*words, "--resume" if resumes else "--output", str(step.folder)], step.beside(".log"))
    step.record(finished=True)


def _execute(words: Sequence[str], log: Path) -> None:
    """Run a command; a signal that ends this process ends the command first, which saves its state.

    The command is not one of the processes that a launcher such as srun has started.

    Raises:
        RunError: It fails.
    """
    environment = {name: value for name, value in os.environ.items() if not LAUNCHER.fullmatch(name)}
    environment |= {"COLUMNS": "80", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "heedful", *words]
    with log.open("ab") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)
        try:
            status = child.wait()
        except (KeyboardInterrupt, stopping.Stopped):
            child.terminate()
            child.wait()
            raise
    if status:
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip().rstrip(".") for line in reversed(lines) if line.strip()), "no output")
        raise RunError(f"{log.stem} ended with status {status}: {last}. See {log}; the same command resumes it.")


def main(argv: list[str]) -> None:
    """Run the steps of a recipe that are left."""
    options = _parser().parse_args(argv)
    path = named_configs("recipe").get(options.recipe, Path(options.recipe))
    output = Path(options.output or Path("runs", "suites", path.stem))
    recipe = read_recipe(path, options.data_path, output.absolute())
    only = (options.only or "").split(",")
    if unknown := [word for word in only if not any(word in step.label for step in recipe)]:
        raise SettingError(f"--only {unknown[0]} is in no command or name of a step.")
    shard = share(recipe, *options.shard) if options.shard else recipe
    stopping.listen()
    try:
        run([step for step in shard if any(word in step.label for word in only)])
    except (KeyboardInterrupt, stopping.Stopped) as stop:
        name, status = ("SIGTERM", stop.code) if isinstance(stop, stopping.Stopped) else ("Ctrl-C", 130)
        print(f"\n{called()}: stopped by {name}: the same command resumes.", file=sys.stderr)
        sys.exit(status)
    if options.shard:
        print("Reports are left: after all shards, the same command without --shard runs them.")


def _shard(text: str) -> tuple[int, int]:
    """The number of a shard, from 1, and their count."""
    number, count = map(int, text.split("/"))
    if not 1 <= number <= count:
        raise ArgumentTypeError(f"there is no shard {text}")
    return number, count


def _parser() -> CommandParser:
    examples = [
        ("msgs --data_path DIR", "a known recipe; DIR is the folder of all data"),
        ("msgs --data_path DIR --only train,morph", "some of its steps"),
        ("msgs --data_path DIR --shard 3/8", "the third of eight shares, which run side by side"),
    ]
    about = "Run the steps of a recipe: train, evaluate and rank many models. The same command resumes a stopped one."
    parser = CommandParser("suite", about, examples)
    parser.add_argument("recipe", help=f"a YAML file, or one of {', '.join(named_configs('recipe'))}")
    parser.add_argument("--data_path", metavar="DIR", help="folder of all data, $DATA in the file")
    parser.add_argument("--output", metavar="DIR", help="folder of the recipe, by default runs/suites/NAME")
    parser.add_argument("--only", metavar="NAMES", help="steps with one of these words in command or name")
    parser.add_argument("--shard", metavar="I/N", type=_shard, help="share I of N of the runs, without reports")
    return parser
