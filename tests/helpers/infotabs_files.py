"""Tables, hypotheses, annotated rows and counterfactual tables, in files like those of InfoTabS and TabProbe."""

from pathlib import Path
from typing import Any

from tiny_data import write_table_files

from heedful.datamodules import PairedTables
from heedful.interventions.tables.allowed_transitions import LABELS

from own_data import CONFIGS

E, N, C = LABELS
TABLES = {
    "T1": {"title": ["Alpha"], "Genre": ["rock", "pop"], "Length": ["1:00"], "Label": ["XL"]},
    "T2": {"title": ["Beta"], "Genre": ["jazz"], "Producer": ["Ann"]},
    "T3": {"title": ["Gamma"], "Length": ["2:00"], "Year": ["1999"]},
}
CHANGED = {"T1_mod": TABLES["T1"] | {"Genre": ["folk"]}, "T3_mod": TABLES["T3"] | {"Year": ["2000"]}}
PAIRS = [  # table, hypothesis, label, relevant rows, as bits and one more for "none"
    ("T1", "Genre: pop", "E", "1000"),
    ("T1", "Length: 9:00", "C", "0100"),
    ("T1", "Genre+Label: rock XL", "E", "1010"),
    ("T2", "Producer: Bob", "C", "010"),
    ("T2", "Year: 1999", "N", "001"),
    ("T3", "Length: 2:00", "E", "100"),
    ("T3", "Year: 2000", "C", "001"),
]
FLIPS = [("T1", "Genre: pop", "E", "C"), ("T1", "Genre: folk", "C", "E"), ("T3", "Year: 2000", "C", "E")]


def write_infotabs(folder: Path) -> Path:
    """A folder like InfoTabS, with annotations of its training set and counterfactual tables beside it."""
    splits = dict.fromkeys(("infotabs_train", "infotabs_dev", "infotabs_test_alpha1"), [pair[:3] for pair in PAIRS])
    return write_table_files(folder, TABLES, splits, PAIRS, CHANGED, FLIPS)


def module(folder: Path, **settings: Any) -> PairedTables:
    usual = CONFIGS["infotabs"]["init_args"] | {"path": str(folder / "infotabs"), "swap": []}
    return PairedTables(**usual | settings)
