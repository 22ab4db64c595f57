"""The mend of torchvision beside a CPU-only torch."""

import subprocess
import sys
from importlib.machinery import PathFinder

import pytest

from heedful import torchvision_fix

MISSING = "operator torchvision::nms does not exist"


@pytest.mark.slow
def test_a_plain_session_of_an_installed_environment_loads_what_a_run_exports(tmp_path):
    import transformers

    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = transformers.BertConfig(vocab_size=50, **size)
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path / "backbone")
    torchvision_fix.install(tmp_path)
    code = f"""
import site
site.addsitedir({str(tmp_path)!r})
from transformers import AutoModelForSequenceClassification
model = AutoModelForSequenceClassification.from_pretrained("backbone")
import torchvision.transforms, timm, torchmetrics
print(type(model).__name__)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)  # Heedful is not in this folder
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "BertForSequenceClassification"


def test_torchvision_stands_in_this_process_as_it_was_found():
    import torchvision

    assert torchvision.__spec__.origin == PathFinder.find_spec("torchvision").origin


def test_the_import_imports_neither_torch_nor_torchvision():
    code = "import sys, torchvision_fix; sys.exit('torch' in sys.modules or 'torchvision' in sys.modules)"
    folder = torchvision_fix.__file__.rsplit("/", 1)[0]
    assert subprocess.run([sys.executable, "-c", code], cwd=folder).returncode == 0


def test_what_works_is_run_once_and_left_alone():
    modules = []
    torchvision_fix.patched(modules.append)(sys)
    assert modules == [sys]


def test_what_misses_the_operators_is_run_again(monkeypatch):
    modules, defined = [], []
    monkeypatch.setattr(
        "torch.library.Library", lambda *_: type("L", (), {"define": lambda self, s: defined.append(s)})()
    )
    monkeypatch.setattr(sys, "modules", sys.modules | {"torchvision.half_done": sys})

    def run(module):
        modules.append("torchvision.half_done" in sys.modules)
        if len(modules) == 1:
            raise RuntimeError(MISSING)

    torchvision_fix.patched(run)(sys)
    assert modules == [True, False]
    assert defined == list(torchvision_fix.OPERATORS)


def test_another_error_is_not_hidden():
    def run(module):
        raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        torchvision_fix.patched(run)(sys)
