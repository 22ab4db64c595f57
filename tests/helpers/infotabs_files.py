"""Tables, hypotheses, annotated rows and counterfactual tables, in files like those of InfoTabS and TabProbe."""

import csv
import json
from pathlib import Path
from typing import Any

import yaml

from heedful.datamodules import PairedTables
from heedful.interventions.tables.allowed_transitions import LABELS

ROOT = Path(__file__).parents[2]
SETTINGS = yaml.safe_load((ROOT / "configs" / "data" / "infotabs.yaml").read_text())["init_args"]
E, N, C = LABELS
TABLES = {
    "T1": {"title": ["Alpha"], "Genre": ["rock", "pop"], "Length": ["1:00"], "Label": ["XL"]},
    "T2": {"title": ["Beta"], "Genre": ["jazz"], "Producer": ["Ann"]},
    "T3": {"title": ["Gamma"], "Length": ["2:00"], "Year": ["1999"]},
}
PAIRS = [  # table, hypothesis, label, relevant rows, as bits and one more for "none"
    ("T1", "Genre: pop", "E", "1000"),
    ("T1", "Length: 9:00", "C", "0100"),
    ("T1", "Genre+Label: rock XL", "E", "1010"),
    ("T2", "Producer: Bob", "C", "010"),
    ("T2", "Year: 1999", "N", "001"),
    ("T3", "Length: 2:00", "E", "100"),
    ("T3", "Year: 2000", "C", "001"),
]


def write_infotabs(tmp_path: Path) -> Path:
    """Write a folder like that of InfoTabS, with annotations of its training set and counterfactuals beside it."""
    made = tmp_path / "infotabs"
    (made / "maindata").mkdir(parents=True)
    (made / "tables" / "json").mkdir(parents=True)
    rows = ["annotater_id\ttable_id\thypothesis\tlabel", *(f"GW1\t{t}\t{h}\t{label}" for t, h, label, _ in PAIRS)]
    for name in ("infotabs_train", "infotabs_dev", "infotabs_test_alpha1"):
        (made / "maindata" / f"{name}.tsv").write_text("\n".join([*rows, ""]))
    for name, table in TABLES.items():
        (made / "tables" / "json" / f"{name}.json").write_text(json.dumps(table))
    with (tmp_path / "relevant.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["Table ID", "Hypothesis", "Truth Label", "Labels", "Majority Label", "JSON"])
        for table, hypothesis, label, bits in PAIRS:
            keys = [*(key for key in TABLES[table] if key != "title"), "none"]
            marks = json.dumps(dict(zip(keys, bits, strict=True)))
            writer.writerow([table, hypothesis, label, f"['{bits}']", bits, marks])
    probe = tmp_path / "flips"
    for name, tables in {
        "tables_json": TABLES,
        "tables_mod_json": {"T1_mod": TABLES["T1"] | {"Genre": ["folk"]}, "T3_mod": TABLES["T3"] | {"Year": ["2000"]}},
    }.items():
        (probe / name).mkdir(parents=True)
        for table, rows in tables.items():
            (probe / name / f"{table}.json").write_text(json.dumps(rows))
    header = [f"{side}_{what}" for side in ("original", "modified") for what in ("tableid", "hypothesis", "label")]
    flips = [("T1", "Genre: pop", "E", "C"), ("T1", "Genre: folk", "C", "E"), ("T3", "Year: 2000", "C", "E")]
    lines = ["\t".join([t, h, old, f"{t}_mod", h, new]) for t, h, old, new in flips]
    (probe / "flips.tsv").write_text("\n".join(["\t".join(header), *lines, ""]))
    return tmp_path


def module(folder: Path, **others: Any) -> PairedTables:
    return PairedTables(**SETTINGS | {"path": str(folder / "infotabs"), "swap": []} | others)
