"""Results have the same bytes on one, two and three processes. One script forks the processes of every case."""

import csv
import json
from pathlib import Path

import pytest

from heedful.records.rows import read_rows, select

from infotabs_files import write_infotabs
from refusals import refused_output
from registered import CLASSES

pytestmark = pytest.mark.slow  # runs on several processes

SIZES = (1, 5, 37)  # in batches of 4: most leave ranks of unequal load, some a rank without work
CASES = {  # data, their evaluations, and the interventions that must be among the rows of each
    "planted": {
        "accuracy": ["base", "null"],
        "attentiveness": ["base", "swap"],
        "default_label": ["base", "null", "swap"],
        "natural_logic": ["I0", "I1", "I2", "I3", "base"],
        "naive_partial": ["base", "keep"],
        "interaction": ["base", "empty", "swap"],
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
    "options": {"accuracy": ["base", "null"], "order": ["base", "order"]},
    "edited": {"accuracy": ["base", "null"], "counterpart": ["base", "counterpart"]},
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
from pathlib import Path
from pytorch_lightning import Callback
from benchmarks.bare_runs import measured
from heedful.callbacks import (
    Accuracy, Answers, Attentiveness, Attributions, Challenge, CounterfactualTables, Counterparts, DefaultLabel,
    Evidence, Interaction, NaivePartial, NaturalLogic, TableRows, TwoClass,
)
from heedful.callbacks.evaluations.order import order
from heedful.datamodules import PairedImages, PairedText, Planted, PlantedOptions, Reading
from heedful.lightning_modules import Encoder, LateFusion, Reader
from heedful.lightning_modules.vision import late_fusion
from heedful.records import HeedfulError
from infotabs_files import module
from ranks import fork

sizes, cases, backbone, nlixy, squad, squares = eval(sys.argv[1]), eval(sys.argv[2]), *sys.argv[3:7]
tables, output = map(Path, sys.argv[7:])
late_fusion.BATCH = 5  # several blocks of pictures


class Benchmark(TwoClass):
    '''Reads the data that the command line would read.'''

    def plan(self, setting):
        return super().plan(replace(setting, read=lambda name, path: planted(17, name="benchmark")))


class Drift(Callback):
    '''Gives each process other statistics of batches, as training does.'''

    def on_validation_start(self, trainer, module):
        for statistics in module.network.vision.buffers():
            statistics.add_(trainer.global_rank)


def planted(n, name="planted", kind=Planted, **settings):
    data = kind(n_validation=n, n_train=8, eval_batch_size=4, swap=["premise", kind.second], **settings)
    data.setup("validate")
    data.name = name
    return data


def ready(module, data, weights=lambda network: network.parameters()):
    '''The model with larger weights: all answers occur, each with a probability of its own.'''
    torch.manual_seed(5)
    module.bind(data.task)
    module.configure_model()
    with torch.no_grad():
        for weight in weights(module.network):
            weight.mul_(15 if weight.dim() == 2 else 1)
    module.has_learned = True
    return module


def rank_of(rank, world):
    torch.set_num_threads(1)

    def validate(name, model, data, *evaluations, **settings):
        processes = {"accelerator": "cpu", "devices": world, "strategy": "ddp" if world > 1 else "auto"}
        measured(model, data, evaluations, folder=output / f"{world}-{name}", **processes, **settings)

    for n in sizes:
        data = planted(n)
        validate(n, ready(Encoder(backbone, max_length=64), data), data, Accuracy(), Attentiveness())
    data.eval_tokens = 150
    validate("tokens", ready(Encoder(backbone, max_length=64), data), data, Accuracy(), Attentiveness())
    if world == 2:
        for n, name, path in ((rank, "planted", nlixy), (0, "nlixy", nlixy if rank else f"{nlixy}-other")):
            data = Planted(n_validation=9, grammar_seed=n)
            try:
                model = ready(Encoder(backbone, max_length=64), data)
                validate("refused", model, data, Accuracy(), NaturalLogic(path, seeds=9))
            except HeedfulError as error:
                (output / f"refused-{name}-{rank}").write_text(f"evaluate.py: {error}")
    else:
        for frozen in (True, False):
            parts, labels = {"image": "pictures/{file}", "question": "text"}, {"no": [], "yes": []}
            data = PairedImages("squares", parts, labels=labels, label="answer", path=squares, eval_batch_size=3)
            data.setup("validate")
            model = LateFusion(backbone, freeze_vision=frozen, image_size=[32, 32], hidden=16)
            model = ready(model, data, lambda network: [network.head[-1].weight])
            validate(f"squares-{frozen}", model, data, Accuracy(), Attentiveness(), *([] if frozen else [Drift()]))
        data = planted(37)
        model = ready(Encoder(backbone, max_length=7), data)  # reads two words of each part
        validate("limited", model, data, Accuracy(), Attentiveness(), limit_val_batches=0.5)
    if world == 3:
        return

    data = planted(19)
    pairs = [Accuracy(), Attentiveness(), DefaultLabel(2), NaturalLogic(nlixy, seeds=9), NaivePartial(), Interaction(2)]
    pairs += [Benchmark({"benchmark": None}), Attributions(["shap", "gradients"], samples=30, steps=3, shown=1)]
    validate("planted", ready(Encoder(backbone, max_length=64), data), data, *pairs, only=list(cases["planted"]))

    data = planted(19, name="planted-options", kind=PlantedOptions)
    validate("options", ready(Encoder(backbone, max_length=64), data), data, Accuracy(), order())

    parts = {"premise": "premise", "hypothesis": "hypothesis"}
    rows = [dict(e.parts, label=e.label, set=i // 4) for i, e in enumerate(planted(37).pool)]
    data = PairedText("edited", parts, list(planted(1).task.labels), path=rows, eval_batch_size=4,
                      counterpart={"group": "set"})
    data.setup("validate")
    model = ready(Encoder(backbone, max_length=64), data)
    validate("edited", model, data, Accuracy(), Counterparts(), only=list(cases["edited"]))

    data = module(tables, eval_batch_size=3)
    data.setup("validate")
    probes = [Evidence(str(tables / "relevant.csv")), CounterfactualTables([str(tables / "flips")])]
    model = ready(Encoder(backbone, max_length=64), data)
    validate("tables", model, data, Accuracy(), TableRows(), *probes, Challenge(), only=list(cases["tables"]))

    parts = {"context": "context", "question": "question"}
    data = Reading("squad2", parts, path=squad, uid="id", groups=["title"], hold_out=20, eval_batch_size=3)
    data.setup("validate")
    model = ready(Reader(backbone, max_length=24, overlap=6, longest_answer=4), data)
    validate("passages", model, data, Answers(), Attentiveness(), only=list(cases["passages"]))


for world in (1, 2, 3):
    fork(world, rank_of)
"""


@pytest.fixture(scope="module")
def results(forks, tiny_bert, tmp_path_factory, write_nlixy, write_squad, write_squares):
    """A folder with the results of each case, ``<processes>-<case>``."""
    folder = tmp_path_factory.mktemp("processes")
    contexts = [("A x ran.", "up"), ("No x ran.", "down"), ("A x sat.", "up"), ("No x sat here.", "down")]
    nlixy = write_nlixy(folder / "nlixy", contexts, [("boy", "child", "leq"), ("a", "b", "none")])
    write_nlixy(folder / "nlixy-other", contexts, [("boy", "child", "leq"), ("dog", "cat", "none")])
    tables = write_infotabs(folder / "tables")
    lender = {"title": ["Delta"], "Genre": ["folk"], "Length": ["3:00"], "Label": ["S"]}
    (tables / "infotabs" / "tables" / "json" / "T4.json").write_text(json.dumps(lender))
    for split in ("train", "dev"):
        with (tables / "infotabs" / "maindata" / f"infotabs_{split}.tsv").open("a") as pairs:
            pairs.writelines(f"GW1\t{table}\t{hypothesis}\t{label}\n" for table, hypothesis, label in HYPOTHESES)
    with (tables / "relevant.csv").open("a", newline="") as annotated:
        marks = json.dumps({"Genre": "1", "Length": "0", "Label": "0", "none": "0"})
        csv.writer(annotated).writerow([*HYPOTHESES[0], "['1000']", "1000", marks])
    squares = write_squares(folder / "squares", 0, 23)
    paths = tiny_bert, nlixy, write_squad(folder / "squad.json", 4), squares, tables, folder
    forks.script(SCRIPT, repr(SIZES), repr(CASES), *map(str, paths))
    return folder


def rows_of(folder: Path, evaluation: str = "attentiveness"):
    return read_rows(folder / "rows" / f"{evaluation}.parquet")[0]


@pytest.mark.parametrize(
    ("processes", "case"),
    [(n, size) for n in (2, 3) for size in SIZES]
    + [(3, "limited"), (2, "tokens"), (3, "tokens"), (3, "squares-True"), (3, "squares-False")]
    + [(2, case) for case in CASES],
)
def test_results_and_rows_have_the_same_bytes(results, processes, case):
    one, several = results / f"1-{case}", results / f"{processes}-{case}"
    files = ["results.json", *(f"rows/{path.name}" for path in (one / "rows").iterdir())]
    for name in files:
        assert (one / name).read_bytes() == (several / name).read_bytes(), name
    for evaluation, interventions in CASES.get(case, dict.fromkeys(("accuracy", "attentiveness"), [])).items():
        rows = rows_of(several, evaluation)
        assert set(interventions) <= set(rows["intervention"].to_pylist())
        predicted = rows["phi" if evaluation == "attributions" else "y" if case == "passages" else "p"]
        assert case == 1 or len(set(map(str, predicted.to_pylist()))) > 2, "the model reads its input"


def test_every_evaluation_is_among_the_cases():
    assert set().union(*CASES.values()) == CLASSES


def test_no_example_is_lost_or_repeated(results):
    for size in SIZES:
        folder = results / f"3-{size}"
        uids = select(rows_of(folder), intervention="base")["uid"].to_pylist()
        assert uids == sorted(f"planted/validation/{i}" for i in range(size))
        counts = json.loads((folder / "results.json").read_text())["counts"]
        assert (counts["examples"], counts["not_predicted"]) == (size, 0)


def test_a_limit_leaves_the_same_examples(results):
    counts = json.loads((results / "3-limited" / "results.json").read_text())["counts"]
    assert (counts["examples"], counts["not_predicted"], counts["truncated"]) == (20, 17, 37)
    rows = rows_of(results / "3-limited")
    unread = len(select(rows, unread=True))
    assert 0 < unread < counts["attentiveness/identical"] < len(select(rows, intervention="swap"))


@pytest.mark.parametrize("frozen", [True, False])
def test_each_picture_has_its_own_prediction(results, frozen):
    rows = rows_of(results / f"3-squares-{frozen}")
    assert len({tuple(p) for p in rows["p"].to_pylist()}) == 23
    assert len({tuple(p) for p in select(rows, part="image")["p2"].to_pylist()}) > 23


@pytest.mark.parametrize(
    ("case", "what"),
    [("planted", "planted: the validation examples"), ("nlixy", "examples of the evaluations natural_logic")],
)
def test_processes_with_different_data_are_refused(results, case, what):
    for rank in (0, 1):
        refused_output((results / f"refused-{case}-{rank}").read_text(), what, "process 1", "process 0")
