"""``heedful suite`` runs a recipe; finished steps are skipped, and stopped steps resume.

A recipe is a YAML file with steps, in order, and values of their placeholders:

    values:
      seed: [0, 1]
      part: {p: premise, h: hypothesis}
    steps:
      models/<part>-<seed>: train --data mnli --data.path $DATA/mnli --partial <part.value> --seed <seed>
      dev/<part>-<seed>: evaluate --checkpoint @models/<part>-<seed>
      table: compare @dev/*

A step is a command of ``heedful``, and its name is its folder in the folder of the recipe. Reports, such as
``compare``, run each time and write ``NAME.txt``. ``<part>`` is a key of values and ``<part.value>`` its value; ``@``
refers to earlier steps; ``$DATA`` is --data_path, and ``$OUT`` the folder of the recipe.
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
from typing import NamedTuple

from filelock import FileLock, Timeout

from heedful.command_lines import CommandParser, command_name
from heedful.records import HeedfulError, RunError, SettingError, read_json, write_json
from heedful.records.errors import suggestion
from heedful.records.storage.named_configs import named_configs
from heedful.records.storage.results import FIT, is_folder_name
from heedful.records.storage.yaml_files import read_yaml
from heedful.stopping import Stopped, listen

OPTION = {"train": "--resume", "evaluate": "--output"}  # by which a command gets its folder
REPORTS = ("compare", "matrix", "page", "rank")
QUIET = ["--trainer.enable_progress_bar", "false"]
PLACEHOLDER = re.compile(r"<(\w+)([.]value)?>")
LAUNCHER = re.compile(  # variables by which srun and torchrun number processes
    r"((LOCAL|GROUP|NODE|ROLE)_)?(RANK|WORLD_SIZE)|MASTER_(ADDR|PORT)|ROLE_NAME|TORCHELASTIC_.*"
    r"|SLURM_(STEP_)?(NTASKS|NPROCS|NUM_TASKS|PROCID|LOCALID|NODEID|TASKS_PER_NODE|NTASKS_PER_.*)"
    r"|(JSM_NAMESPACE|OMPI_COMM_WORLD|PMI|PMIX)_.*"
)


class Step(NamedTuple):
    """A step of a recipe: a command of ``heedful``, and its results."""

    name: str  # path of the folder, relative to the folder of the recipe
    folder: Path  # log, record and lock are next to it
    command: list[str]
    needs: list["Step"]  # earlier steps that the command refers to

    @property
    def label(self) -> str:
        return f"{self.command[0]} {self.name}"

    def beside(self, ending: str) -> Path:
        return self.folder.with_name(f"{self.folder.name}{ending}")

    def weights(self) -> str | None:
        """Return the hash of the weights in the results; None if there are none yet."""
        results = self.folder / "results.json"
        return read_json(results)["identity"]["weights"] if results.is_file() else None

    def record(self, finished: bool) -> None:
        """Write the command and the weights that it needs into a file next to the folder."""
        weights = {need.name: need.weights() for need in self.needs}
        write_json(self.beside(".json"), {"command": self.command, "weights": weights, "finished": finished})

    def is_done(self) -> bool:
        """Whether the step is finished; raise RunError if its folder is of another command or of other weights."""
        do = "Move the folder away, or name another with --output."
        if not self.beside(".json").is_file():
            if self.folder.exists():
                raise RunError(f"{self.folder} is not a folder of this recipe. {do}")
            return False
        record = read_json(self.beside(".json"))
        if record["command"] != self.command:
            old, new = shlex.join(record["command"]), shlex.join(self.command)
            raise RunError(f"{self.folder} has results of {old}, and the recipe has {new}. {do}")
        for need in self.needs:
            if need.weights() not in (None, record["weights"][need.name]):
                raise RunError(f"{self.folder} has results of other weights than {need.folder}. {do}")
        return bool(record["finished"]) and self.folder.is_dir()


def read_recipe(path: Path, data: str | None, output: Path) -> list[Step]:
    """Read the steps of a recipe in order; ``data`` replaces $DATA, and ``output`` replaces $OUT."""
    recipe = read_yaml(str(path), str(path))
    is_recipe = isinstance(recipe, Mapping) and isinstance(recipe.get("steps"), Mapping)
    if not is_recipe or {*recipe} - {"steps", "values"}:
        raise SettingError(f"{path} is not a recipe. Write steps: names and commands, and values: for placeholders.")
    choices = {}  # pairs of key and value by placeholder; without a mapping, a value is its own key
    for name, values in (recipe.get("values") or {}).items():
        if not isinstance(values, Mapping):
            values = {value: value for value in (values if isinstance(values, list) else [values])}
        choices[str(name)] = [(str(key), "" if value is None else str(value)) for key, value in values.items()]
    steps: dict[str, Step] = {}
    for pattern, text in recipe["steps"].items():
        pattern, text = str(pattern), str(text)
        varied, used = (dict.fromkeys(name for name, _ in PLACEHOLDER.findall(words)) for words in (pattern, text))
        try:
            if unknown := used.keys() - varied or varied.keys() - choices:
                raise SettingError(f"<{min(unknown)}> must be in the name of the step and in values.")
            if "$DATA" in text and data is None:
                raise SettingError("$DATA is unknown. Set --data_path DIR (or make ... DATA=DIR).")
            for combination in product(*(choices[name] for name in varied)):
                values = dict(zip(varied, combination, strict=True))
                name, command = (
                    PLACEHOLDER.sub(lambda match, values=values: values[match[1]][bool(match[2])], template)
                    for template in (pattern, text)
                )
                words = [word.replace("$DATA", str(data)).replace("$OUT", str(output)) for word in shlex.split(command)]
                steps[name] = _step(name, output / name, words, steps)
        except (HeedfulError, ValueError) as error:
            raise SettingError(str(error)).at(f"{path}: steps: {pattern}") from None
    return [*steps.values()]


def _step(name: str, folder: Path, words: list[str], earlier: Mapping[str, Step]) -> Step:
    kind = words[0] if words else ""
    if kind not in (*OPTION, *REPORTS):
        raise SettingError(f"{kind!r} is not a command of recipes. {suggestion(kind, (*OPTION, *REPORTS))}")
    if name in earlier or not all(map(is_folder_name, name.split("/"))):
        raise SettingError(f"{name} is repeated, or is not the name of a folder. Rename the step, with {FIT}.")
    command: list[str] = []
    needs: dict[str, Step] = {}
    for word in words:
        before, at, pattern = word.partition("@")
        matching = {key: step for key, step in earlier.items() if at and fnmatchcase(key, pattern)}
        if at and not matching:
            raise SettingError(f"@{pattern} is not an earlier step. {suggestion(pattern, earlier)}")
        folders = [str(step.folder) for step in matching.values()]
        command += folders if at and not before else [before + ",".join(folders)]
        needs |= matching
    return Step(name, folder, command + (QUIET if kind in OPTION else []), [*needs.values()])


def steps_of_shard(steps: Sequence[Step], number: int, count: int) -> list[Step]:
    """Select the steps of shard ``number``, from 1 to ``count``: steps that train or evaluate, but no reports.

    A model, its evaluations and the models that start from it are in the same shard. The shard with the fewest steps
    gets the largest remaining group of such steps.
    """
    groups: dict[str, list[Step]] = {}  # by the name of each of their steps
    for step in steps:
        if step.command[0] in OPTION:
            groups[step.name] = groups[step.needs[0].name] if step.needs else []
            groups[step.name].append(step)
    shares: list[list[Step]] = [[] for _ in range(count)]
    for group in sorted({id(group): group for group in groups.values()}.values(), key=len, reverse=True):
        min(shares, key=len).extend(group)
    return [step for step in steps if step in shares[number - 1]]


def run(steps: Sequence[Step]) -> None:
    """Run the unfinished steps, and print a line for each step."""
    for step in steps:
        step.is_done()  # raises before the first step runs
    for number, step in enumerate(steps, 1):
        step.folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(step.folder.with_name(f".{step.folder.name}.lock"), timeout=0):
                _run(step, f"[{number}/{len(steps)}] {step.label}")
        except Timeout:
            raise RunError(f"Another process runs {step.name} in {step.folder}. Wait for it.") from None


def _run(step: Step, line: str) -> None:
    if step.is_done():
        print(f"{line}: done before", flush=True)
        return
    if missing := [need.name for need in step.needs if not need.is_done()]:
        raise RunError(f"{step.name} needs {', '.join(missing)}. Run these steps first, without --only.")
    print(line, end="", flush=True)
    start, report, kind = time.monotonic(), step.beside(".txt"), step.command[0]
    try:
        if kind in REPORTS:
            report.unlink(missing_ok=True)
            _execute(step.command, report)
        else:
            step.record(finished=False)
            if kind == "evaluate":
                shutil.rmtree(step.folder, ignore_errors=True)
            _execute([*step.command, OPTION[kind], str(step.folder)], step.beside(".log"))
            step.record(finished=True)
    finally:
        print(f": {time.monotonic() - start:,.0f} s", flush=True)
    if kind in REPORTS:
        print(f"\n{report.read_text(encoding='utf-8')}", end="")


def _execute(words: Sequence[str], log: Path) -> None:
    """Run a command in a new process; when it is stopped, it saves its state."""
    environment = {name: value for name, value in os.environ.items() if not LAUNCHER.fullmatch(name)}
    environment |= {"COLUMNS": "80", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "heedful", *words]
    with log.open("ab") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)
        try:
            status = child.wait()
        except (KeyboardInterrupt, Stopped):
            child.terminate()
            child.wait()
            raise
    if status:
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip().rstrip(".") for line in reversed(lines) if line.strip()), "no output")
        raise RunError(f"{log.stem} exited with status {status}: {last}. See {log}; the same command resumes it.")


def main(argv: list[str]) -> None:
    """Run the unfinished steps of a recipe."""
    examples = [
        ("msgs --data_path DIR", "the recipe configs/recipe/msgs.yaml; DIR is the folder of all data"),
        ("msgs --data_path DIR --only train,morph", "some of its steps"),
        ("msgs --data_path DIR --shard 3/8", "the third of eight shards, which run in parallel"),
    ]
    about = "Run a recipe: train, evaluate and rank many models. The same command resumes a stopped recipe."
    parser = CommandParser("suite", about, examples)
    parser.add_argument("recipe", help=f"a YAML file, or one of {', '.join(named_configs('recipe'))}")
    parser.add_argument("--data_path", metavar="DIR", help="folder of all data, $DATA in the recipe")
    parser.add_argument("--output", metavar="DIR", help="folder of the results (runs/suites/NAME)")
    parser.add_argument("--only", metavar="NAMES", help="steps whose command or name has one of these words")
    parser.add_argument("--shard", metavar="I/N", type=_shard, help="shard I of N, without reports")
    options = parser.parse_args(argv)
    path = named_configs("recipe").get(options.recipe, Path(options.recipe))
    output = Path(options.output or Path("runs", "suites", path.stem))
    recipe = read_recipe(path, options.data_path, output.absolute())
    only = (options.only or "").split(",")
    if unknown := [word for word in only if not any(word in step.label for step in recipe)]:
        raise SettingError(f"--only {unknown[0]} matches no step.")
    shard = steps_of_shard(recipe, *options.shard) if options.shard else recipe
    listen()
    try:
        run([step for step in shard if any(word in step.label for word in only)])
    except (KeyboardInterrupt, Stopped) as stop:
        name, status = ("SIGTERM", stop.code) if isinstance(stop, Stopped) else ("Ctrl-C", 130)
        print(f"\n{command_name()}: stopped by {name}: the same command resumes.", file=sys.stderr)
        sys.exit(status)
    if options.shard:
        print("After all shards, run the reports: the same command without --shard.")


def _shard(text: str) -> tuple[int, int]:
    number, count = map(int, text.split("/"))
    if not 1 <= number <= count:
        raise ArgumentTypeError(f"there is no shard {text}")
    return number, count
