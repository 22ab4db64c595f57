"""Pairs without Lightning and without torch, in a process where neither can be imported."""

import json
import os
import subprocess
import sys

import pytest

from heedful.datamodules import PairedText
from heedful.datamodules.free_text_pairs import FreeTextPairs
from heedful.records.same import Same

from own_data import ROOT, set_up

ROWS = [{"premise": f"p {i}", "hypothesis": f"h {i % 7}", "label": ["yes", "no"][i % 2]} for i in range(20)]
PARTS = {"premise": "premise", "hypothesis": "hypothesis"}
NLI = {"name": "rows", "parts": PARTS, "labels": {"yes": [], "no": []}}
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
from heedful.records import SettingError
from heedful.records.parser import InMemory, construct, require_types
from heedful.records.same import Same

for package in (loaders, sources):
    for found in pkgutil.iter_modules(package.__path__, f"{{package.__name__}}."):
        import_module(found.name)
rows = {ROWS!r}
plain = Pairs(path=rows, **{NLI!r})
built = construct(Pairs, "data", {{"path": InMemory(rows), **{NLI!r}}})
free = FreeTextPairs("rows", {PARTS!r}, Same("exact"), path=rows)
trained = Pairs(path=rows, hold_out=8, augment="counterfactual", default_label="no", **{NLI!r})
for data, stage in ((plain, "validate"), (built, "validate"), (free, "validate"), (trained, "fit")):
    data.setup(stage)
prompts = construct(Prompting, "prompt", {{"tuples": 2, "seeds": 2}}).prompts(trained)
facts = [len(prompts), len(trained.training_set())]
for check in (
    lambda: construct(Pairs, "data", {{"batch_size": "many", **{NLI!r}}}),
    lambda: require_types(FreeTextPairs, {{"name": "rows", "parts": {PARTS!r}, "fold": "first"}}, ("same",)),
):
    try:
        check()
    except SettingError as error:
        facts.append(str(error))
print(json.dumps(facts))
print(json.dumps([data.fingerprints() for data in (plain, built, free, trained)]))
"""


@pytest.mark.slow
def test_they_read_and_augment_rows_where_lightning_is_not_installed():
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    facts, found = map(json.loads, ran.stdout.splitlines())
    trained = set_up(PairedText(path=ROWS, hold_out=8, augment="counterfactual", default_label="no", **NLI))
    labelled = set_up(PairedText(path=ROWS, **NLI), "validate")
    free = set_up(FreeTextPairs("rows", PARTS, Same("exact"), path=ROWS), "validate")
    assert facts[2:] == ["data.batch_size: many is not int.", "fold: first is not int or None."]
    assert facts[:2] == [2, len(trained.training_set())]
    assert facts[1] > 12  # with counterfactuals
    assert found == [data.fingerprints() for data in (labelled, labelled, free, trained)]


def test_a_data_module_records_the_arguments_that_its_pairs_take():
    data = PairedText("rows", PARTS, NLI["labels"], None, path=ROWS, batch_size=3)
    assert data.arguments == {**NLI, "label": None, "path": ROWS, "batch_size": 3}
    again = data.with_arguments(batch_size=4)
    assert (type(again), again.batch_size, again.trainer) == (PairedText, 4, None)
