"""Models and data of tests/matrix.py; nothing of Heedful is imported."""

import os
import string
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import tiny_data
import tiny_models
from tiny_data import PEOPLE, PLACES, THINGS, VERBS, write_lines, write_nlvr2, write_table, write_vqa

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
    words = list(dict.fromkeys([*WORDS, *PEOPLE, *PLACES, *VERBS, *THINGS]))
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


def pairs(n: int, first: int = 0) -> list[dict[str, str]]:
    """Sentence pairs with three labels; a third of the premises occur twice."""
    rows = []
    for i in range(first, first + n):
        k = i - 1 if i % 3 == 2 else i
        person, verb, thing = PEOPLE[k % 64], VERBS[k % 10], THINGS[(k // 3) % 10]
        place, other = PLACES[(7 * k) % 30], PLACES[(7 * i + 11) % 30]
        claim = (f"a {person} {verb} {thing}", f"the {person} in the {other} {verb}", f"a {person} never {verb}")
        rows.append(
            {"id": f"p{i}", "premise": f"The {person} {verb} the {thing} in the {place} .", "kind": "ab"[i % 2]}
        )
        rows[-1] |= {"hypothesis": f"{claim[i % 3]} .", "label": ("entailment", "neutral", "contradiction")[i % 3]}
    return rows


def write_pairs(folder: Path) -> Path:
    """Folders of pairs: csv with and without labels, with two classes, with several right labels, and as HANS."""
    train, validation = pairs(96), pairs(48, 96)
    for split, rows in {"train": train, "validation": validation}.items():
        write_table(folder / "csv" / f"{split}.csv", rows)
        bare = [{name: value for name, value in row.items() if name != "label"} for row in rows]
        write_table(folder / "unlabelled" / f"{split}.csv", bare)
        two = [
            {"sentence1": r["premise"], "sentence2": r["hypothesis"], "label": int(i % 3 > 0)}
            for i, r in enumerate(rows)
        ]
        write_table(folder / "two" / f"{split}.tsv", two)
        gold = [["entailment"], ["entailment", "neutral"], ["neutral", "contradiction"], ["contradiction"]]
        write_lines(folder / "several" / f"{split}.jsonl", [r | {"label": gold[i % 4]} for i, r in enumerate(rows)])
    write_table(folder / "more.csv", pairs(24, 200))
    for split, rows in {"train": train, "evaluation": validation}.items():
        hans = [
            {"premise": r["premise"], "hypothesis": r["hypothesis"], "heuristic": ("overlap", "subsequence")[i % 2]}
            | {"label": ("entailment", "non-entailment")[i % 3 > 0], "subcase": f"s{i % 4}", "template": f"t{i % 8}"}
            for i, r in enumerate(rows)
        ]
        write_lines(folder / "hans" / f"{split}.jsonl", hans)
    return folder


def write_data(folder: Path) -> None:
    """A folder or a file for each data set."""
    folder.mkdir()
    write_pairs(folder / "pairs")
    tiny_data.write_msgs(folder / "msgs")
    tiny_data.write_squad(folder / "squad.json", 4)
    tiny_data.write_passages(folder / "rag")
    tiny_data.write_tables(folder / "tables")
    for split in ("train", "dev", "test"):
        tiny_data.write_nlixy(folder / "nlixy" / split, CONTEXTS, INSERTIONS)
    write_vqa(folder / "vqa")
    write_nlvr2(folder / "nlvr2")
    tiny_data.write_squares(folder / "squares")
