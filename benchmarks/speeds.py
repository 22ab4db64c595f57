"""The speeds of one revision in one file: later revisions are compared with it, side by side, as ratios.

    git worktree add ../start REVISION
    python -m benchmarks.speeds --root ../start --data DIR/mnli --output benchmarks/start.json

Every figure comes from new processes that run in the checkout ``--root``: the time of commands and imports, of
``heedful.measure`` on 200 rows, and of the benchmarks engine, attentiveness, training and monitoring on samples that
take minutes. benchmarks/start.json has the figures of the revision that it names, with the kind of machine; times alone
mean nothing on another machine.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

COMMANDS = {  # name: words behind python
    "import heedful": ["-c", "import heedful"],
    "import heedful.measure": ["-c", "import heedful; heedful.measure"],
    "heedful --help": ["-m", "heedful", "--help"],
    "heedful train --help": ["-m", "heedful", "train", "--help"],
    "a mistake": ["train.py", "--data", "mnlii"],
}
MEASURE = """
import json, time, heedful
rows = [{"premise": f"A dog runs {i}.", "hypothesis": f"An animal {i % 7} moves {i}."} for i in range(200)]
def predict(inputs):
    return ["entailment" if "3" in row["hypothesis"] else "neutral" for row in inputs]
seconds = []
for _ in range(6):
    start = time.perf_counter()
    heedful.measure(predict, rows, ["premise", "hypothesis"], "neutral", trainer={"enable_progress_bar": False})
    seconds.append(time.perf_counter() - start)
print(json.dumps(seconds))
"""
BENCHMARKS = {  # name: settings of a run that takes minutes
    "engine": ["--sizes", "20000", "--processes", "1", "2", "--repeats", "3"],
    "attentiveness": ["--examples", "120", "--train-examples", "120", "--repeats", "3", "--only", "a", "n", "m", "d"],
    "training": ["--examples", "96", "--repeats", "3"],
    "monitoring": ["--examples", "96", "--validation-examples", "48", "--repeats", "3"],
}


def run(root: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run Python in a checkout, on one thread, without the network."""
    env = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "COLUMNS": "80"}
    return subprocess.run([sys.executable, *words], cwd=root, env=env, capture_output=True, text=True)


def command_seconds(root: Path, words: list[str], repeats: int) -> dict[str, float]:
    """Median, least and most seconds of a command, after one that fills caches."""
    run(root, words)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run(root, words)
        seconds.append(time.perf_counter() - start)
    return {"median": statistics.median(seconds), "least": min(seconds), "most": max(seconds)}


def benchmark(root: Path, name: str, data: str) -> dict[str, Any]:
    """The JSON result of a benchmark of the checkout.

    Raises:
        SystemExit: It failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "result.json"
        words = ["-m", f"benchmarks.{name}", "--data", data, "--threads", "1", "--output", str(output)]
        done = run(root, [*words, *BENCHMARKS[name]])
        if not output.is_file():
            raise SystemExit(f"benchmarks.{name} failed: {done.stderr[-2000:]}")
        return json.loads(output.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).parents[1], help="the checkout; by default this one"
    )
    parser.add_argument("--data", required="HEEDFUL_DATA" not in os.environ, help="folder of MNLI")
    parser.add_argument("--only", nargs="*", choices=["commands", "measure", *BENCHMARKS], help="by default all")
    parser.add_argument("--repeats", type=int, default=5, help="runs per command")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    root, data = options.root.resolve(), options.data or f"{os.environ['HEEDFUL_DATA']}/mnli"
    wanted = set(options.only or ["commands", "measure", *BENCHMARKS])
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True).stdout.strip()
    machine = f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}"
    result: dict[str, Any] = {"revision": revision, "machine": machine}
    if "commands" in wanted:
        result["commands"] = {name: command_seconds(root, words, options.repeats) for name, words in COMMANDS.items()}
    if "measure" in wanted:
        first, *warm = json.loads(run(root, ["-c", MEASURE]).stdout.splitlines()[-1])
        result["measure of 200 rows"] = {"first": first, "warm": statistics.median(warm)}
    result |= {name: benchmark(root, name, data) for name in BENCHMARKS if name in wanted}
    text = json.dumps(result, indent=1)
    print(text)
    if options.output:
        options.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
