"""Make a stock torchvision importable with a CPU-only torch.

The torchvision wheel of the package index is built for CUDA. With a CPU build of torch, ``import torchvision`` fails
with ``operator torchvision::nms does not exist``. timm, torchmetrics, Lightning and transformers import torchvision,
and fail as well. This module defines the schemas of two operators, so that the import succeeds. The operators stay
unavailable; Heedful calls neither.

Import this module first: it patches later imports of torchvision if necessary. It does nothing if torchvision works or
is not installed. Run as a program, as ``make install`` does, it installs itself for every Python session.
"""

import shutil
import sys
import sysconfig
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

# The CUDA library does not load, and leaves undefined the operators to which torchvision adds fake kernels
OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_libraries: list[Any] = []  # the definitions live as long as these objects


def patched(run: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    """Wrap ``run``, the function that executes the module torchvision: if operators are missing, the result defines
    them and executes the module again.
    """

    def run_patched(module: ModuleType) -> None:
        try:
            run(module)
        except RuntimeError as error:
            if "torchvision::nms does not exist" not in str(error):
                raise
            import torch

            for name in [name for name in sys.modules if name.startswith("torchvision.")]:
                del sys.modules[name]
            _libraries.append(torch.library.Library("torchvision", "FRAGMENT"))
            for schema in OPERATORS:
                _libraries[-1].define(schema)
            run(module)

    return run_patched


class Finder:
    """Import finder that finds torchvision as Python does, and patches its loader."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == "torchvision" else None
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = patched(spec.loader.exec_module)
        return spec


def install(folder: Path) -> None:
    """Copy this module to a folder of packages, with a .pth file, so that Python imports it at every start."""
    shutil.copy(__file__, folder / "torchvision_fix.py")
    (folder / "torchvision_fix.pth").write_text("import torchvision_fix\n")


if __name__ == "__main__":
    install(Path(sysconfig.get_path("purelib")))
else:
    sys.meta_path.insert(0, Finder)
