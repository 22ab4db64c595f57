"""Contact sheets of models that ignore a part, or never do, through the real engine."""

import hashlib
import json
import re

import numpy as np
import pytest
import torch
from PIL import Image
from pytorch_lightning.loggers import TensorBoardLogger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from benchmarks.bare_runs import fitted, measured
from heedful.callbacks import Accuracy, Answers, Attentiveness, ContactSheet
from heedful.callbacks.outputs.contact_sheet import pair_of
from heedful.datamodules import PairedData, PairedImages, Planted, Reading
from heedful.datamodules.sources.image_files import thumbnail
from heedful.lightning_modules import Classifier, Outputs
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import Context, DataError, Example, Examples, Picture, Table, TableForm, generator
from heedful.records.rows import select
from heedful.reports.figures.contact_sheet import Unchanged, unchanged

from oracles import sure_of
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

LABELS = ("entailment", "neutral", "contradiction")
PARTS = {"left": "left", "right": "right", "sentence": "sentence"}
ARROW = "\N{RIGHTWARDS ARROW}"


class Whole(Processor):
    """A processor that lets a model see the parts themselves, as text."""

    def lengths(self, examples):
        return np.ones(len(examples), dtype=np.int32)

    def __call__(self, examples):
        return {"parts": [{n: p if isinstance(p, str) else p.encode() for n, p in e.parts.items()} for e in examples]}


class Oracle(Classifier):
    """Answers as ``rule`` says of the parts; it can be trained, and learns nothing."""

    def __init__(self, rule):
        super().__init__()
        self.rule, self.weight = rule, torch.nn.Parameter(torch.zeros(1, 1))

    def prepare(self, task):
        self.task, self.processor = task, Whole()

    def require_parts(self, task):
        pass

    def export(self, folder, weights):
        pass

    def training_step(self, batch, batch_idx):
        return self.weight.sum()

    def answer(self, inputs):
        answers, labels = [self.rule(parts) for parts in inputs["parts"]], self.task.labels
        if not labels:
            return Outputs(answers=answers)
        probs, numbers = sure_of(answers, labels)
        return Outputs(torch.where(probs == 1, 0.8, 0.1), numbers)


def guess(text):
    return LABELS[int(3 * generator("test", text).random())]


def measure(rule, data, folder, *evaluations):
    """Run the engine once; returns (rows of the attentiveness test, names of what lies in figures/)."""
    evaluations = evaluations or (Accuracy(), Attentiveness())
    engine = measured(Oracle(rule), data, evaluations, outputs=[ContactSheet()], folder=folder, accelerator="cpu")
    rows, _ = engine.rows.get("attentiveness", (None, None))
    figures = folder / "figures"
    return rows, sorted(p.name for p in figures.iterdir()) if figures.exists() else []


def planted(n=60, **settings):
    return Planted(n_validation=n, eval_batch_size=16, **settings)


def reads_all(data):
    """A rule that knows the pairs of the data, and calls all others unrelated."""
    data.setup("validate")
    known = {tuple(e.parts.values()) for e in data.pool}
    return lambda parts: guess(parts["hypothesis"]) if tuple(parts.values()) in known else "neutral"


def listed(path):
    """What a sheet of texts says of each pair, without Markdown's escapes: name to text; the heading is None."""
    _, *blocks = path.read_text().split("\n## ")
    plain = [re.sub(r"\\(.)", r"\1", block) for block in blocks]
    return [
        {None: block.split("\n")[0]} | dict(re.findall(r"^- \*\*(.*?):\*\* (.*)$", block, re.MULTILINE))
        for block in plain
    ]


def test_what_a_model_ignores_stands_beside_what_was_swapped_in(tmp_path):
    data = planted(swap=["premise", "hypothesis"])
    rows, files = measure(lambda parts: guess(parts["hypothesis"]), data, tmp_path)
    assert files == ["unchanged-hypothesis.md", "unchanged-premise.md"]
    pool = {e.uid: e for e in data.pool}
    eligible = {uid for uid, e in pool.items() if guess(e.parts["hypothesis"]) != "neutral"}
    for part, other in (("premise", "hypothesis"), ("hypothesis", "premise")):
        swapped = {
            r["uid"]: r for r in rows.to_pylist() if (r["intervention"], r["part"], r["draw"]) == ("swap", part, 0)
        }
        stayed = {uid for uid, row in swapped.items() if row["y"] == row["y2"]}
        changed = {
            r["uid"] for r in rows.to_pylist() if (r["intervention"], r["part"]) == ("swap", part) and r["y"] != r["y2"]
        }
        text = (tmp_path / "figures" / f"unchanged-{part}.md").read_text()
        said = (
            f"planted: {len(stayed)} of {len(eligible)} examples keep their prediction with another example's {part} "
            f"in the first draw, {len(eligible - changed)} in all 5;"
        )
        assert text.startswith(f"# {said} 8 are shown.\n")
        shown = listed(tmp_path / "figures" / f"unchanged-{part}.md")
        assert len(shown) == 8
        for found in shown:
            uid, partner = found[None].split(f" with the {part} of ")
            assert uid in stayed & eligible
            assert swapped[uid]["partner"] == partner
            assert found[part] == pool[uid].parts[part]
            assert found[f"{part}, swapped in"] == pool[partner].parts[part] != pool[uid].parts[part]
            assert found[other] == pool[uid].parts[other]
            assert found["original gold"] == pool[uid].label
            y = guess(pool[uid].parts["hypothesis"])
            assert found["prediction"] == f"{y} (80.0 %) {ARROW} {y} (80.0 %)"
        if part == "premise":
            assert stayed == eligible


def test_the_sheet_of_a_model_that_reads_all_says_so_in_place_of_an_old_one(tmp_path):
    data = planted()
    measure(lambda parts: guess(parts["hypothesis"]), data, tmp_path)
    sheet = tmp_path / "figures" / "unchanged-premise.md"
    assert len(listed(sheet)) == 8
    rule = reads_all(data)
    eligible = sum(rule(e.parts) != "neutral" for e in data.pool)
    measure(rule, data, tmp_path)
    assert sheet.read_text() == (
        f"# planted: 0 of {eligible} examples keep their prediction with another example's premise in the first draw: "
        "every prediction changed.\n"
    )


def test_no_swapped_example_is_said_too(tmp_path):
    measure(lambda parts: "neutral", planted(), tmp_path)
    assert "no example got another's premise" in (tmp_path / "figures" / "unchanged-premise.md").read_text()


def test_the_same_sheet_whatever_the_batches(tmp_path):
    sheets = []
    for size in (16, 5):
        folder = tmp_path / str(size)
        measure(lambda parts: guess(parts["hypothesis"]), Planted(n_validation=60, eval_batch_size=size), folder)
        sheets.append((folder / "figures" / "unchanged-premise.md").read_bytes())
    assert sheets[0] == sheets[1]


def test_nothing_is_written_where_attentiveness_is_not_measured(tmp_path):
    assert measure(lambda parts: "neutral", planted(), tmp_path / "a", Accuracy())[1] == []
    assert measure(lambda parts: "neutral", planted(swap=[]), tmp_path / "b")[1] == []


def test_nothing_more_is_predicted(tmp_path):
    seen = []
    data = planted()
    measure(lambda parts: seen.append(1) or guess(parts["hypothesis"]), data, tmp_path)
    eligible = sum(guess(e.parts["hypothesis"]) != "neutral" for e in data.pool)
    assert len(seen) == 60 + 60 + 5 * eligible  # the base, the null control, the counterfactuals


@pytest.fixture(scope="module")
def nlvr2(tmp_path_factory):
    """Pairs of pictures, whose colours say which they are, with a sentence."""
    folder = tmp_path_factory.mktemp("nlvr2")
    rows = []
    for k in range(12):
        for side, (name, size) in enumerate((("left", (40, 30)), ("right", (10, 30)))):
            Image.new("RGB", size, (20 * k, 255 * side, 100)).save(folder / f"{name}{k}.png")
        rows.append({"left": f"left{k}.png", "right": f"right{k}.png", "sentence": f"s {k}", "label": LABELS[k % 3]})
    for split in ("train", "validation"):
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def pictures(nlvr2, **settings):
    names = {label: [] for label in LABELS}
    settings = {"default_label": "neutral", "path": str(nlvr2), **settings}
    return PairedImages("nlvr2", PARTS, ["left", "right"], names, **settings)


def color(k, side):
    return [20 * k, 255 * side, 100]


def test_pictures_of_the_pair_and_of_its_partner(nlvr2, tmp_path):
    data = pictures(nlvr2, swap=["left+right", "left", "sentence"])
    rows, files = measure(lambda parts: "entailment", data, tmp_path)
    assert files == ["unchanged-left+right.png", "unchanged-left.png", "unchanged-sentence.png"]
    for file in files:
        with Image.open(tmp_path / "figures" / file) as sheet:
            assert sheet.format == "PNG"
            assert min(sheet.size) > 600
    number = {e.uid: int(e.parts["sentence"].split()[1]) for e in data.pool}
    for part, swapped in (("left+right", {"left", "right"}), ("left", {"left"}), ("sentence", {"sentence"})):
        found = unchanged(rows, part, Context("d", data.seed, default_label="neutral"))
        assert (len(found.rows), found.stayed, found.swapped) == (8, 12, 12)
        for row in found.rows:
            pair = pair_of(row, data)
            i, j = number[row["uid"]], number[row["partner"]]
            assert (pair.before.keys(), pair.after.keys(), pair.others.keys()) == (
                swapped,
                swapped,
                PARTS.keys() - swapped,
            )
            for contents, k in ((pair.before, i), (pair.others, i), (pair.after, j)):
                for name, content in contents.items():
                    if name == "sentence":
                        assert content == f"s {k}"
                    else:
                        assert content.shape[:2] == ((30, 40) if name == "left" else (30, 10))
                        assert content[0, 0].tolist() == color(k, name == "right")
            assert pair.probs == pytest.approx((0.8, 0.8))
            assert i != j


def test_a_thumbnail_is_small_upright_and_of_a_known_format(tmp_path):
    turned = Image.new("RGB", (1000, 200), "red")
    turned.paste("blue", (0, 0, 500, 200))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    turned.save(tmp_path / "a.jpg", exif=exif, quality=95)
    data = (tmp_path / "a.jpg").read_bytes()
    key = hashlib.sha256(data).hexdigest()
    small = thumbnail(Picture(key, str(tmp_path / "a.jpg"), 0, len(data), "row 1"), 100)
    assert small.shape == (100, 20, 3)
    assert small.dtype == np.uint8
    assert small[10, 10, 2] > 200 > 50 > small[10, 10, 0]  # blue is above
    assert small[90, 10, 0] > 200
    Image.new("RGB", (4, 4)).save(tmp_path / "b.ico")
    data = (tmp_path / "b.ico").read_bytes()
    with refused(DataError, "row 1", tmp_path / "b.ico"):
        thumbnail(Picture(hashlib.sha256(data).hexdigest(), str(tmp_path / "b.ico"), 0, len(data), "row 1"))


def test_each_epoch_of_training_is_in_tensorboard(nlvr2, tmp_path):
    of_pictures = pictures(nlvr2, batch_size=4, swap=["left+right"], validate_on_train=True)
    for name, data in (("text", planted(20, n_train=64)), ("pictures", of_pictures)):
        folder, logger = tmp_path / name, TensorBoardLogger(str(tmp_path / name), name="", version="")
        model = Oracle(lambda parts: "entailment")
        settings = {"accelerator": "cpu", "logger": logger, "log_every_n_steps": 1, "num_sanity_val_steps": 2}
        fitted(model, data, [Accuracy(), Attentiveness()], [ContactSheet()], folder, **settings)
        run = model.trainer
        steps = run.global_step
        run.validate(model, data, verbose=False)  # as train.py does at the end: shows nothing again
        logger.experiment.flush()
        events = EventAccumulator(str(folder)).Reload()
        expected = [steps // 2 - 1, steps - 1]
        if name == "text":
            found = events.Tensors("unchanged/premise/text_summary")
            assert [event.step for event in found] == expected
            text = found[-1].tensor_proto.string_val[0].decode()
            assert text == (folder / "figures" / "unchanged-premise.md").read_text()
        else:
            assert [event.step for event in events.Images("unchanged/left+right")] == expected


def test_answers_that_are_texts_have_no_probabilities(write_squad, tmp_path):
    parts = {"context": "context", "question": "question"}
    squad = str(write_squad(tmp_path / "squad.json", 4))
    data = Reading("squad2", parts, path=squad, uid="id", groups=["title"], hold_out=20, swap=["context", "question"])

    def rule(parts):  # reads the question alone; of some there is no answer
        return "" if guess(parts["question"]) == "neutral" else f"the {guess(parts['question'])}_place"

    _, files = measure(rule, data, tmp_path, Answers(), Attentiveness())
    assert files == ["unchanged-context.md", "unchanged-question.md"]
    pool = {e.uid: e for e in data.pool}
    shown = listed(tmp_path / "figures" / "unchanged-context.md")
    assert shown
    for found in shown:
        uid, partner = found[None].split(" with the context of ")
        answer = rule(pool[uid].parts)
        assert answer
        assert found["prediction"] == f"{answer} {ARROW} {answer}"
        assert found["original gold"] == (" / ".join(json.loads(pool[uid].label)) or "no answer")
        assert found["context, swapped in"] == pool[partner].parts["context"]


UNITS = ("km", "years")


class Tables(PairedData):
    """Six tables with a hypothesis each."""

    def __init__(self, **settings):
        super().__init__("d", ("premise", "hypothesis"), LABELS, "neutral", **settings)

    def load(self, split):
        tables = [Table(f"T{i}", (("Length", (f"{i} km",)), ("Age | *", (f"{i} years",)))) for i in range(6)]
        pairs = [{"premise": table, "hypothesis": f"It is {UNITS[i % 2]}."} for i, table in enumerate(tables)]
        return Examples.of([Example(f"d/v/{i}", parts, "entailment", {}) for i, parts in enumerate(pairs)])


def test_tables_are_put_into_words_as_the_task_has_it(tmp_path):
    data = Tables()
    data.full_task = data.full_task.__class__(**vars(data.full_task) | {"form": TableForm("structure", keep=1)})
    measure(lambda parts: "entailment", data, tmp_path)
    shown = listed(tmp_path / "figures" / "unchanged-premise.md")
    assert len(shown) == 6
    for found in shown:
        i, j = (int(uid.rpartition("/")[2]) for uid in found[None].split(" with the premise of "))
        row = ("Length: {} km", "Age | *: {} years")[i % 2]  # the one with a word of the hypothesis beside it
        assert found["premise"] == f"Title: T{i}; {row.format(i)}"
        assert found["premise, swapped in"] == f"Title: T{j}; {row.format(j)}"
        assert found["hypothesis"] == f"It is {UNITS[i % 2]}."


def test_a_label_that_is_none_has_no_probability_and_is_not_shown(tmp_path):
    data = planted(4)
    rows, _ = measure(lambda parts: "(no label)", data, tmp_path)
    assert unchanged(rows, "premise", Context("d", default_label="neutral")) == Unchanged((), 0, 0)
    row = select(rows, intervention="swap").to_pylist()[0]
    assert (pair_of(row, data).answer, pair_of(row, data).probs) == ("(no label)", None)
