"""The same bits on one, two and three processes, for sizes that suit none of them.

One script forks the processes of every case.
"""

import json

import numpy as np
import pytest

from heedful.datamodules import Planted
from heedful.datamodules.base.sampler import evaluation_batches
from heedful.lightning_modules import Encoder
from heedful.records.rows import read_rows, select

from refusals import refused_output

pytestmark = pytest.mark.slow  # runs on several processes

SIZES = (1, 5, 37)  # in batches of 4: most leave ranks of unequal load, some a rank without work
BATCH = 4

SCRIPT = """
import sys
import heedful
import torch
from pytorch_lightning import Callback
from benchmarks.bare_runs import measured
from heedful.callbacks import Accuracy, Attentiveness, NaturalLogic
from heedful.datamodules import PairedImages, Planted
from heedful.lightning_modules import Encoder, LateFusion
from heedful.lightning_modules.vision import late_fusion
from pathlib import Path
from ranks import fork
from heedful.records import HeedfulError

sizes, batch, backbone, nlixy = eval(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:5]
squares, output = sys.argv[5], Path(sys.argv[6])
late_fusion.BATCH = 5  # several blocks of pictures


class Drift(Callback):
    def on_validation_start(self, trainer, module):
        '''As after training, in which each process normalises other batches.'''
        for statistics in module.network.vision.buffers():
            statistics.add_(trainer.global_rank)


def validate(world, module, data, folder, *evaluations, limit=1.0):
    module.has_learned = True
    processes = {"accelerator": "cpu", "devices": world, "strategy": "ddp" if world > 1 else "auto"}
    measured(module, data, evaluations, folder=folder, limit_val_batches=limit, **processes)


def rank_of(rank, world):
    torch.set_num_threads(1)
    for n in sizes:
        torch.manual_seed(0)
        data = Planted(n_validation=n, eval_batch_size=batch, swap=["premise", "hypothesis"])
        module = Encoder(backbone, max_length=64)
        module.prepare(data.task)
        module.configure_model()
        with torch.no_grad():  # answers of every kind, each with a probability of its own
            module.network.classifier.weight.mul_(100)
        effects = NaturalLogic(nlixy, seeds=9) if n == 1 else NaturalLogic()
        validate(world, module, data, output / f"{world}-{n}", Accuracy(), Attentiveness(), effects)
    if world == 2:
        return refuse(rank)
    for frozen in (True, False):
        torch.manual_seed(0)
        parts, labels = {"image": "pictures/{file}", "question": "text"}, {"no": [], "yes": []}
        data = PairedImages("squares", parts, labels=labels, label="answer", path=squares, eval_batch_size=3)
        module = LateFusion(backbone, freeze_vision=frozen, image_size=[32, 32], hidden=16)
        module.prepare(data.task)
        module.configure_model()
        with torch.no_grad():
            module.network.head[-1].weight.mul_(20)
        drift = [] if frozen else [Drift()]
        validate(world, module, data, output / f"{world}-squares-{frozen}", Accuracy(), Attentiveness(), *drift)
    torch.manual_seed(0)
    data = Planted(n_validation=37, eval_batch_size=batch, swap=["premise", "hypothesis"])
    module = Encoder(backbone, max_length=7)  # reads two words of each part
    validate(world, module, data, output / f"{world}-limited", Accuracy(), Attentiveness(), limit=0.5)


def refuse(rank):
    other = NaturalLogic(nlixy if rank else f"{nlixy}-other", seeds=9)
    for case, data in (("planted", Planted(n_validation=9, grammar_seed=rank)), ("nlixy", Planted(n_validation=9))):
        try:
            validate(2, Encoder(backbone, max_length=64), data, output / "refused", Accuracy(), other)
        except HeedfulError as error:
            (output / f"refused-{case}-{rank}").write_text(f"evaluate.py: {error}")


for world in (1, 2, 3):
    fork(world, rank_of)
"""


@pytest.fixture(scope="module")
def results(forks, tiny_bert, tmp_path_factory, write_nlixy, write_squares):
    """A folder with the results of every size on one, two and three processes, ``<processes>-<size>``.

    Those of other kinds of data and of attributions are of one and of three.
    """
    folder = tmp_path_factory.mktemp("processes")
    contexts = [("A x ran.", "up"), ("No x ran.", "down"), ("A x sat.", "up"), ("No x sat here.", "down")]
    nlixy = write_nlixy(
        folder / "nlixy", contexts, [("boy", "child", "leq"), ("dog", "animal", "leq"), ("a", "b", "none")]
    )
    write_nlixy(folder / "nlixy-other", contexts, [("boy", "child", "leq"), ("dog", "cat", "none")])
    paths = map(str, (tiny_bert, nlixy, write_squares(folder / "squares", 0, 23), folder))
    forks.script(SCRIPT, repr(SIZES), BATCH, *paths)
    return folder


CASES = [(n, str(size)) for n in (2, 3) for size in SIZES]
CASES += [(3, "limited"), (3, "squares-True"), (3, "squares-False")]


@pytest.mark.parametrize(("processes", "case"), CASES)
def test_the_same_bytes_on_several_processes(results, processes, case):
    one, several = results / f"1-{case}", results / f"{processes}-{case}"
    names = ["results.json", *(f"rows/{path.name}" for path in (one / "rows").iterdir())]
    assert len(names) == (4 if case == "1" else 3)
    for name in names:
        assert (one / name).read_bytes() == (several / name).read_bytes(), name


def test_a_limit_leaves_the_same_examples(results):
    several = results / "3-limited"
    counts = json.loads((several / "results.json").read_text())["counts"]
    assert (counts["examples"], counts["not_predicted"]) == (20, 17)
    assert counts["truncated"] == 37
    rows, _ = read_rows(several / "rows" / "attentiveness.parquet")
    unread = len(select(rows, unread=True))
    assert 0 < unread < counts["attentiveness/identical"] < len(select(rows, intervention="swap"))


@pytest.mark.parametrize(
    ("case", "what"),
    [("planted", "planted: the validation examples"), ("nlixy", "examples of the evaluations natural_logic")],
)
def test_processes_that_read_other_data_are_told_so(results, case, what):
    for rank in (0, 1):
        refused_output((results / f"refused-{case}-{rank}").read_text(), what, "process 1", "process 0")


@pytest.mark.parametrize("frozen", [True, False])
def test_pictures_have_predictions_of_their_own(results, frozen):
    several = results / f"3-squares-{frozen}"
    rows, _ = read_rows(several / "rows" / "attentiveness.parquet")
    assert len({tuple(p) for p in rows["p"].to_pylist()}) == 23
    assert len({tuple(p) for p in select(rows, part="image")["p2"].to_pylist()}) > 23


def test_no_example_is_lost_or_repeated(results):
    for size in SIZES:
        rows, _ = read_rows(results / f"3-{size}" / "rows" / "attentiveness.parquet")
        assert select(rows, intervention="base")["uid"].to_pylist() == sorted(
            f"planted/validation/{i}" for i in range(size)
        )
        found = json.loads((results / f"3-{size}" / "results.json").read_text())["counts"]
        assert (found["examples"], found["not_predicted"]) == (size, 0)


def test_a_pool_of_its_own_is_predicted_by_all(results):
    rows, _ = read_rows(results / "3-1" / "rows" / "natural_logic.parquet")
    assert (
        len(select(rows, intervention="base")) == len(set(select(rows, intervention="base")["uid"].to_pylist())) == 24
    )
    assert all(len(select(rows, intervention=name)) for name in ("I0", "I1", "I2", "I3"))
    assert len({tuple(p) for p in rows["p"].to_pylist()}) > 12


def test_the_cases_are_hard_ones(results, tiny_bert):
    """Ranks without an example, and ranks with unequal numbers of predictions that are not the default label."""
    loads = []
    for size in SIZES:
        rows = select(read_rows(results / f"3-{size}" / "rows" / "attentiveness.parquet")[0], intervention="base")
        answers = dict(zip(rows["uid"].to_pylist(), rows["y"].to_pylist(), strict=True))
        assert len({tuple(p) for p in rows["p"].to_pylist()}) > size / 2
        data, module = Planted(n_validation=size), Encoder(str(tiny_bert), max_length=64)
        data.setup("validate")
        module.prepare(data.task)
        lengths = module.processor.lengths(data.pool)
        batches = evaluation_batches(lengths, np.argsort(data.pool.uid_order), BATCH)
        of_rank = [[answers[data.pool.uid(i)] for b in batches[rank::3] for i in b] for rank in range(3)]
        loads.append([sum(answer != "neutral" for answer in answers) for answers in of_rank])
    assert any(0 < min(load) < max(load) for load in loads)
    assert any(min(load) == 0 < max(load) for load in loads)
    assert loads[0].count(0) >= 2  # one example: two ranks have no batch at all
