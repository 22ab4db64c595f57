"""Pairs without Lightning and without torch, in a process where neither can be imported."""

import json
import os
import subprocess
import sys

import pytest

from heedful.datamodules import PairedText
from heedful.datamodules.free_text_pairs import FreeTextPairs
from heedful.records.same import Same

from own_data import NLI, ROOT, nli_rows, set_up

ROWS, PARTS = nli_rows(20), NLI["parts"]
TRAINED = NLI | {"hold_out": 8, "augment": "counterfactual"}
SCRIPT = f"""
import json, pkgutil, sys
from importlib import import_module

class Blocked:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("pytorch_lightning", "lightning_fabric", "lightning", "torch"):
            raise ImportError(f"{{name}} is not needed")

sys.meta_path.insert(0, Blocked)
from heedful.datamodules import Pairs, loaders, sources
from heedful.datamodules.free_text_pairs import FreeTextPairs
from heedful.datamodules.prompting import Prompting
from heedful.records.parser import InMemory, construct
from heedful.records.same import Same

for package in (loaders, sources):
    for found in pkgutil.iter_modules(package.__path__, f"{{package.__name__}}."):
        import_module(found.name)
free = FreeTextPairs("rows", {PARTS!r}, Same("exact"), path={ROWS!r})
free.setup("validate")
trained = construct(Pairs, "data", {{"path": InMemory({ROWS!r}), **{TRAINED!r}}})
trained.setup("fit")
prompts = construct(Prompting, "prompt", {{"tuples": 2, "seeds": 2}}).prompts(trained)
print(json.dumps([len(prompts), len(trained.training_set()), trained.fingerprints(), free.fingerprints()]))
"""


@pytest.mark.slow
def test_they_read_and_augment_rows_where_lightning_is_not_installed():
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    trained = set_up(PairedText(path=ROWS, **TRAINED))
    free = set_up(FreeTextPairs("rows", PARTS, Same("exact"), path=ROWS), "validate")
    n = len(trained.training_set())
    assert n > 12  # with counterfactuals
    assert json.loads(ran.stdout) == [2, n, trained.fingerprints(), free.fingerprints()]


def test_a_data_module_records_the_arguments_that_its_pairs_take():
    data = PairedText("own", PARTS, NLI["labels"], None, path=ROWS, batch_size=3)
    assert data.arguments | {"default_label": "neutral"} == {**NLI, "label": None, "path": ROWS, "batch_size": 3}
    again = data.with_arguments(batch_size=4)
    assert (type(again), again.batch_size, again.trainer) == (PairedText, 4, None)
