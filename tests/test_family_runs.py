"""Runs of all families: a second process changes no byte, a killed run ends in the same bits, and runs go on."""

import json
from dataclasses import dataclass

import pytest
from tiny_data import write_nlvr2

from heedful.cli.command import evaluate, train
from heedful.records.rows import read_rows
from heedful.reports.rescore import rescored

from causal import save
from commands import QUIET, results_of, run
from run_lab import BATCH, assert_same

pytestmark = pytest.mark.slow  # whole runs, on one process and two

LIMITS = ["--trainer.max_epochs", "1", "--data.batch_size", "4", "--data.eval_batch_size", "4"]
LIMITS += ["--attentiveness.draws", "2", "--checkpoint.last_every_n_steps", "1", "--trainer.accelerator", "cpu"]
READER = ["--model.max_length", "24", "--model.overlap", "6", "--model.longest_answer", "4"]
TIMM = ["--model", "timm", "--model.image_size", "[32, 32]", "--model.hidden", "16", "--model.max_length", "32"]


@dataclass(frozen=True)
class Family:
    """The command line of a family, its tiny backbone, and its data."""

    words: list[str]
    backbone: str
    data: str


FAMILIES = {
    "Encoder": Family(["--model.max_length", "64"], "tiny_bert", "planted"),
    "Seq2Seq": Family(["--model", "t5"], "tiny_t5", "planted"),
    "Reader": Family(READER, "tiny_bert", "squad2"),
    "Writer": Family(["--model", "t5", "--model.longest_answer", "4"], "tiny_t5", "squad2"),
    "LateFusion": Family(TIMM, "tiny_bert", "squares"),
    "LateFusion, unfrozen": Family([*TIMM, "--model.freeze_vision", "false"], "tiny_bert", "squares"),
    "Vilt": Family(["--model", "vilt"], "tiny_vilt", "squares"),
    "Blip": Family(["--model", "blip", "--model.max_length", "32"], "tiny_blip", "squares"),
}
PARTS = {"planted": ("premise", "hypothesis"), "squad2": ("context", "question"), "squares": ("image", "question")}


@pytest.fixture(scope="module")
def data(tmp_path_factory, write_squad, write_squares):
    """Command lines of tiny data."""
    folder = tmp_path_factory.mktemp("data")
    squad = str(write_squad(folder / "squad.json", 4))
    squares = write_squares(folder / "squares", 16, 9)
    return {
        "planted": ["--data.n_train", "16", "--data.n_validation", "9"],
        "squad2": ["--data", "squad2", "--data.path", squad, "--data.hold_out", "20"],
        "squares": ["--data", str(squares / "data.yaml")],
        "nlvr2": ["--data", "nlvr2", "--data.path", str(write_nlvr2(folder / "nlvr2"))],
    }


@pytest.fixture
def argv_of(data, request):
    """The command line of a family on its data, or on others."""

    def argv_of(name, of=None):
        family = FAMILIES[name]
        backbone = str(request.getfixturevalue(family.backbone))
        return [*data[of or family.data], *family.words, "--model.backbone", backbone, *LIMITS]

    return argv_of


@pytest.mark.parametrize("name", FAMILIES)
def test_processes_and_kills_change_no_bit(name, lab, argv_of, tmp_path):
    lab.kinds[name] = ([], 1, argv_of(name))
    whole = lab.whole(name)

    killed = lab.killed(name, [BATCH, 3, "before"], f"killed-{name}")
    lab.resumed(name, killed)
    assert_same(whole, killed)

    checkpoint = ["--checkpoint", str(whole), "--attentiveness.draws", "2"]
    two = ["--trainer.devices", "2", "--trainer.strategy", "ddp"]
    for processes, words in ((1, []), (2, two)):
        folder = tmp_path / str(processes)
        statuses, out = lab.run(*checkpoint, *words, "--output", str(folder), command="evaluate", processes=processes)
        assert statuses == [0] * processes, out
        for path in ("results.json", *(f"rows/{file.name}" for file in (whole / "rows").iterdir())):
            assert (folder / path).read_bytes() == (whole / path).read_bytes(), path


@pytest.mark.parametrize("name", FAMILIES)
def test_the_model_of_a_run_goes_on(name, lab, data, argv_of, tmp_path):
    """Its export is measured alike; each part is put to it alone; training goes on with it, and with one part."""
    lab.kinds.setdefault(name, ([], 1, argv_of(name)))
    whole, of = lab.whole(name), FAMILIES[name].data
    metrics = results_of(whole)["metrics"]
    assert metrics[f"null/{of}/flips"]["value"] == 0
    assert rescored(whole) == (whole / "results.json").read_text()
    assert (whole / "figures" / "attentiveness.png").is_file()
    backbone = ["--model.backbone", whole / "checkpoints" / "backbone"]
    run(evaluate, *argv_of(name)[: len(data[of]) + len(FAMILIES[name].words)], *backbone, "--attentiveness.draws",
        2, "--data.eval_batch_size", 4, "--output", tmp_path / "exported")  # fmt: skip
    assert results_of(tmp_path / "exported")["metrics"] == metrics
    naive = ["--checkpoint", whole, "--evaluations", "naive_partial", "--output", tmp_path / "naive"]
    run(evaluate, *naive)
    found = results_of(tmp_path / "naive")["metrics"]
    n = metrics[f"null/{of}/flips"]["n"]
    assert {found[f"naive_partial/{of}/{part}"]["n"] for part in PARTS[of]} == {n}
    more = ["--init_from", whole, *data[of], *LIMITS]
    run(train, *more, "--partial", PARTS[of][1], "--output", tmp_path / "more")
    after = results_of(tmp_path / "more")["metrics"]
    assert after[f"null/{of}/flips"]["n"] == n
    assert not [metric for metric in after if metric.startswith("attentiveness")]


@pytest.mark.parametrize("name", ["LateFusion", "Vilt", "Blip"])
@pytest.mark.parametrize("partial", [None, "left+right", "sentence"])
def test_two_pictures_and_each_part_of_them(name, argv_of, tmp_path, partial):
    words = ["--partial", partial] if partial else []
    run(train, *argv_of(name, "nlvr2"), *words, "--output", tmp_path / "run")
    metrics = results_of(tmp_path / "run")["metrics"]
    assert (metrics["accuracy/nlvr2"]["n"], metrics["accuracy/nlvr2/majority"]["value"]) == (24, 0.5)
    assert metrics["null/nlvr2/flips"]["value"] == 0
    swapped = {metric.split("/")[2] for metric in metrics if metric.startswith("attentiveness")}
    assert swapped == (set() if partial else {"left+right", "sentence"})
    draws = [] if partial else ["--attentiveness.draws", "2"]
    run(evaluate, "--checkpoint", tmp_path / "run", *draws, "--output", tmp_path / "again")
    assert (tmp_path / "again" / "results.json").read_bytes() == (tmp_path / "run" / "results.json").read_bytes()


def test_two_processes_prompt_a_causal_model_alike(forks, tmp_path):
    argv = ["--model", save(tmp_path / "tiny-llama"), "--data.n_train", "40", "--data.n_validation", "12", *QUIET]
    for world in (1, 2):
        more = ["--trainer.devices", str(world), "--trainer.strategy", "ddp"] if world > 1 else []
        output = ["--prompt.tuples", "1", "--prompt.seeds", "2", "--output", tmp_path / str(world)]
        statuses, out = forks.run(*argv, *more, *output, command="evaluate", processes=world)
        assert statuses == [0] * world, out
    for seed in range(2):
        for file in ("results.json", "rows/accuracy.parquet", "rows/attentiveness.parquet"):
            one, other = (tmp_path / str(world) / f"plain-plain-k1-seed{seed}" / file for world in (1, 2))
            assert one.read_bytes() == other.read_bytes()
    assert read_rows(one)[0].num_rows > 12
    assert json.loads((one.parents[1] / "run.json").read_text())["prompt"]["seed"] == 1
