"""Runs of all families: a second process changes no byte, and a killed run ends in the same bits."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from run_lab import BATCH, Lab, assert_same

pytestmark = pytest.mark.slow  # whole runs, on one process and two

LIMITS = ["--trainer.max_epochs", "1", "--data.batch_size", "4", "--data.eval_batch_size", "4"]
LIMITS += ["--attentiveness.draws", "2", "--checkpoint.last_every_n_steps", "1", "--trainer.accelerator", "cpu"]
READER = ["--model.max_length", "24", "--model.overlap", "6"]
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
    "Reader": Family(READER, "tiny_bert", "passages"),
    "Writer": Family(["--model", "t5"], "tiny_t5", "passages"),
    "LateFusion": Family(TIMM, "tiny_bert", "squares"),
    "LateFusion, unfrozen": Family([*TIMM, "--model.freeze_vision", "false"], "tiny_bert", "squares"),
    "Vilt": Family(["--model", "vilt"], "tiny_vilt", "squares"),
    "Blip": Family(["--model", "blip", "--model.max_length", "32"], "tiny_blip", "squares"),
}


@pytest.fixture(scope="module")
def data(
    tmp_path_factory: pytest.TempPathFactory, write_squad: Callable[..., Path], write_squares: Callable[..., Path]
) -> dict[str, list[str]]:
    """Command lines of tiny data."""
    folder = tmp_path_factory.mktemp("data")
    squad = str(write_squad(folder / "squad.json", 3))
    squares = write_squares(folder / "squares", 16, 9)
    return {
        "planted": ["--data.n_train", "16", "--data.n_validation", "9"],
        "passages": ["--data", "squad2", "--data.path", squad, "--data.hold_out", "20", "--model.longest_answer", "4"],
        "squares": ["--data", str(squares / "data.yaml")],
    }


@pytest.mark.parametrize("name", FAMILIES)
def test_processes_and_kills_change_no_bit(
    name: str, lab: Lab, data: dict[str, list[str]], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    family = FAMILIES[name]
    backbone = str(request.getfixturevalue(family.backbone))
    argv = [*data[family.data], *family.words, "--model.backbone", backbone, *LIMITS]
    lab.kinds[name] = ([], 1, argv)
    whole = lab.whole(name)

    killed = lab.killed(name, [BATCH, 3, "before"], f"killed-{name}")
    lab.resumed(name, killed)
    assert_same(whole, killed)

    evaluate = ["--checkpoint", str(whole), "--attentiveness.draws", "2"]
    two = ["--trainer.devices", "2", "--trainer.strategy", "ddp"]
    for processes, words in ((1, []), (2, two)):
        folder = tmp_path / str(processes)
        statuses, out = lab.run(*evaluate, *words, "--output", str(folder), command="evaluate", processes=processes)
        assert statuses == [0] * processes, out
        for path in ("results.json", *(f"rows/{file.name}" for file in (whole / "rows").iterdir())):
            assert (folder / path).read_bytes() == (whole / path).read_bytes(), path
