"""The mend of torchvision beside a CPU-only torch."""

import subprocess
import sys
from pathlib import Path

import torchvision_fix

import pytest

ROOT = Path(__file__).parents[1]


def test_torchvision_imports_in_a_fresh_process():
    code = "import torchvision_fix, torchvision.transforms, timm, torchmetrics; print(torchvision.__version__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_it_does_nothing_where_torchvision_works():
    import torchvision

    assert torchvision_fix.make_torchvision_importable() is False
    assert sys.modules["torchvision"] is torchvision


def test_another_error_is_not_hidden(monkeypatch):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "torchvision":
                raise RuntimeError("something else")

    monkeypatch.delitem(sys.modules, "torchvision")
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(RuntimeError, match="something else"):
        torchvision_fix.make_torchvision_importable()
