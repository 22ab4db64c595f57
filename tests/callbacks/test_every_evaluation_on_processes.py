"""Every evaluation that there is gives the same bytes on one and on two processes; one that is added must be here.

One script forks the processes of every case. test_processes.py has the hard cases of the engine: sizes that suit no
number of processes, limits, pictures, windows and refusals.
"""

import csv
import json
from pathlib import Path

import pytest

from heedful.callbacks import EVALUATIONS
from heedful.records.rows import read_rows

from infotabs_files import write_infotabs

pytestmark = pytest.mark.slow  # runs on several processes

CASES = {  # what is evaluated: the evaluations of it, each with rows that the case must have
    "planted": {
        "accuracy": ["base", "null"],
        "attentiveness": ["base", "swap"],
        "default_label": ["base", "null", "swap"],
        "natural_logic": ["I0", "I1", "I2", "I3", "base"],
        "naive_partial": ["base", "keep"],
        "two_class": ["base"],
        "attributions": ["gradients", "shap"],
    },
    "tables": {
        "accuracy": ["base", "null"],
        "table_rows": ["base", "delete", "insert", "permute", "update"],
        "evidence": ["base", "delete", "values"],
        "challenge": ["base", "perturb/numbers/flipped", "perturb/numbers/preserved", "title"],
        "counterfactual_tables": ["annotated/flipped", "base"],
    },
    "passages": {"answers": ["base", "null"], "attentiveness": ["base", "swap"]},
}
HYPOTHESES = (
    ("T1", "Alpha is a rock album of 2 genres.", "E"),
    ("T1", "Alpha has 12 songs and is not jazz.", "N"),
    ("T2", "Beta was produced by 3 people.", "C"),
    ("T3", "Gamma is 2 minutes long.", "E"),
    ("T4", "Delta is folk.", "E"),
    ("T3", "Gamma has a length of over 9 minutes.", "C"),
)

SCRIPT = """
import sys
import heedful
import torch
from dataclasses import replace
from benchmarks.bare_runs import measured
from heedful.callbacks import (
    Accuracy, Answers, Attentiveness, Attributions, Challenge, CounterfactualTables, DefaultLabel, Evidence,
    NaivePartial, NaturalLogic, TableRows, TwoClass,
)
from heedful.datamodules import Planted, Reading
from heedful.lightning_modules import Encoder, Reader
from infotabs_files import module
from pathlib import Path
from ranks import fork

cases, backbone, nlixy, squad, tables, output = eval(sys.argv[1]), *sys.argv[2:5], *map(Path, sys.argv[5:])


class Benchmark(TwoClass):
    '''Reads the data that the command line would read.'''

    def plan(self, setting):
        return super().plan(replace(setting, read=lambda name, path: planted(17, "benchmark")))


def planted(n, name="planted"):
    data = Planted(n_validation=n, n_train=8, eval_batch_size=3, swap=["premise", "hypothesis"])
    data.setup("validate")
    data.name = name
    return data


def ready(module, data):
    '''The model, with answers of every kind, each with a probability of its own.'''
    module.prepare(data.task)
    module.configure_model()
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(15 if weight.dim() == 2 else 1)
    module.has_learned = True
    return module


def rank_of(rank, world):
    torch.set_num_threads(1)
    processes = {"accelerator": "cpu", "devices": world, "strategy": "ddp" if world > 1 else "auto"}

    def validate(case, model, data, *evaluations):
        measured(model, data, evaluations, only=list(cases[case]), folder=output / f"{world}-{case}", **processes)

    torch.manual_seed(5)
    data = planted(19)
    attributions = Attributions(["shap", "gradients"], samples=30, steps=3, shown=1)
    of_pairs = [Accuracy(), Attentiveness(), DefaultLabel(2), NaturalLogic(nlixy, seeds=9), NaivePartial()]
    of_pairs += [Benchmark({"benchmark": None}), attributions]
    validate("planted", ready(Encoder(backbone, max_length=64), data), data, *of_pairs)

    torch.manual_seed(5)
    data = module(tables, eval_batch_size=3)
    data.setup("validate")
    probes = [Evidence(str(tables / "relevant.csv")), CounterfactualTables([str(tables / "flips")])]
    of_tables = [Accuracy(), TableRows(), *probes, Challenge()]
    validate("tables", ready(Encoder(backbone, max_length=64), data), data, *of_tables)

    torch.manual_seed(5)
    parts = {"context": "context", "question": "question"}
    data = Reading("squad2", parts, path=squad, uid="id", groups=["title"], hold_out=20, eval_batch_size=3)
    data.setup("validate")
    reader = Reader(backbone, max_length=24, overlap=6, longest_answer=4)
    validate("passages", ready(reader, data), data, Answers(), Attentiveness())


for world in (1, 2):
    fork(world, rank_of)
"""


@pytest.fixture(scope="module")
def results(forks, tiny_bert, tmp_path_factory, write_nlixy, write_squad):
    """A folder with the results of each case, ``<processes>-<case>``."""
    folder = tmp_path_factory.mktemp("evaluations")
    contexts = [("A x ran.", "up"), ("No x ran.", "down"), ("A x sat.", "up"), ("No x sat here.", "down")]
    nlixy = write_nlixy(folder / "nlixy", contexts, [("boy", "child", "leq"), ("a", "b", "none")])
    tables = write_infotabs(folder / "tables")
    lender = {"title": ["Delta"], "Genre": ["folk"], "Length": ["3:00"], "Label": ["S"]}
    (tables / "infotabs" / "tables" / "json" / "T4.json").write_text(json.dumps(lender))
    for split in ("train", "dev"):
        with (tables / "infotabs" / "maindata" / f"infotabs_{split}.tsv").open("a") as pairs:
            pairs.writelines(f"GW1\t{table}\t{hypothesis}\t{label}\n" for table, hypothesis, label in HYPOTHESES)
    with (tables / "relevant.csv").open("a", newline="") as annotated:
        marks = json.dumps({"Genre": "1", "Length": "0", "Label": "0", "none": "0"})
        csv.writer(annotated).writerow([*HYPOTHESES[0], "['1000']", "1000", marks])
    paths = (tiny_bert, nlixy, write_squad(folder / "squad.json", 4), tables, folder)
    forks.script(SCRIPT, repr(CASES), *map(str, paths))
    return folder


def test_every_evaluation_is_here():
    assert set().union(*CASES.values()) == set(EVALUATIONS)


@pytest.mark.parametrize(("case", "evaluation"), [(case, name) for case, names in CASES.items() for name in names])
def test_the_same_rows_on_two_processes(results: Path, case: str, evaluation: str) -> None:
    one, two = (results / f"{processes}-{case}" / "rows" / f"{evaluation}.parquet" for processes in (1, 2))
    assert one.read_bytes() == two.read_bytes()
    rows, _ = read_rows(two)
    assert set(CASES[case][evaluation]) <= set(rows["intervention"].to_pylist())
    predicted = rows["phi" if evaluation == "attributions" else "y" if case == "passages" else "p"]
    assert len(set(map(str, predicted.to_pylist()))) > 2  # a model that heeds what it reads


@pytest.mark.parametrize("case", CASES)
def test_the_same_results_on_two_processes(results: Path, case: str) -> None:
    one, two = (results / f"{processes}-{case}" for processes in (1, 2))
    assert (one / "results.json").read_bytes() == (two / "results.json").read_bytes()
    assert {path.stem for path in (two / "rows").iterdir()} == CASES[case].keys()
