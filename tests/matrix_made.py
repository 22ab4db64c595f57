"""Models and data of tests/matrix.py; nothing of Heedful is imported."""

import os
import string
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import tiny_data
import tiny_models
from tiny_data import write_nlvr2, write_vqa

LABELS = ("entailment", "neutral", "contradiction")
# words of the planted data beside people, places, verbs and things
WORDS = """the in . , a about after airport apparently argument at athlete because bet big bright broke by charity
cheap clean clever clumsy common concealed cook craftsman crying curiosity dark debt destroyed diligent dirty
discovered dry dull eight elegant eleven evening expensive family famous fifteen first five fixed flowers foolish for
forgot four fourteen friend friday fruits garments generous happy heavy help impress instruments january july lazy
light long lost may midnight money monday morning never neighbors nervous new nine noisy noon of official old on out
pale pears please polite poor praised project promise purchased quiet rare reading real relative reportedly rich rough
rude sad saturday save school scientist settle seven short six small smooth stingy stranger strong sunday supposedly
surprise take tall teacher ten thirty three thursday time timid to tools traveler tuesday twelve twenty two ugly
unknown used vegetables vehicles weak wednesday wet win with young genre year label producer length album made sold
rome was it is rock jazz pop not songs over dogs cats every ran sat girl boy ing red green blue white yes no animal
child dog cat tree plant""".split()
CONTEXTS = [
    ("A x ran.", "up"),
    ("No x ran.", "down"),
    ("A x sat.", "up"),
    ("No x sat here.", "down"),
    ("A x is red.", "up"),
]
INSERTIONS = [("dog", "animal", "leq"), ("boy", "child", "leq"), ("cat", "child", "none"), ("tree", "plant", "leq")]


def write_models(folder: Path) -> None:
    """A folder for each model."""
    words = list(dict.fromkeys([*WORDS, *tiny_data.PEOPLE, *tiny_data.PLACES, *tiny_data.VERBS, *tiny_data.THINGS]))
    words += [*string.digits, *(f"##{digit}" for digit in string.digits), *"?:;-"]
    texts = [" ".join(words), " ".join(word.capitalize() for word in words), "mnli rte premise: hypothesis: question:"]
    texts += ["context: sentence1: sentence2: entailment neutral contradiction not_entailment unanswerable"]
    tiny_models.bert(folder / "bert", words, 0.4)
    tiny_models.bert_classifier(folder / "nli", words, LABELS)
    tiny_models.bert_classifier(folder / "other", words, reversed(LABELS), seed=1)
    tiny_models.t5(folder / "t5", texts, 3.0)
    tiny_models.vilt(folder / "vilt", 0.4)
    tiny_models.blip(folder / "blip", 0.4)
    tiny_models.causal(folder / "llama")
    tiny_models.causal(folder / "gpt2", "gpt2", chat=False)


def write_data(folder: Path) -> None:
    """A folder or a file for each data set."""
    folder.mkdir()
    tiny_data.write_pairs(folder / "pairs")
    tiny_data.write_msgs(folder / "msgs")
    tiny_data.write_squad(folder / "squad.json", 4)
    tiny_data.write_passages(folder / "rag")
    tiny_data.write_tables(folder / "tables")
    for split in ("train", "dev", "test"):
        tiny_data.write_nlixy(folder / "nlixy" / split, CONTEXTS, INSERTIONS)
    write_vqa(folder / "vqa")
    write_nlvr2(folder / "nlvr2")
    tiny_data.write_squares(folder / "squares")
