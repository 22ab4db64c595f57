"""Let a stock torchvision import beside a CPU-only torch.

The torchvision wheel of the package index is built for CUDA. Beside a CPU build of torch its C++ library does not load,
its operators stay undefined, and ``import torchvision`` fails with ``operator torchvision::nms does not exist``. timm,
torchmetrics, Lightning and transformers all import torchvision, so they fail as well. Defining the schema of the two
operators that torchvision registers fake kernels for is enough for the import; the operators themselves stay
unavailable, and Heedful calls neither.

Importing this module first is all there is to do: from then on ``import torchvision`` mends itself where it has to. It
does nothing where torchvision works, or is not installed, and imports neither torch nor torchvision.

Run as a program, as ``make install`` does, it has every Python session of the environment import it.
"""

import shutil
import sys
import sysconfig
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_libraries: list[Any] = []  # the definitions live as long as these objects


def mended(run: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    """Wrap what runs the code of torchvision: where its operators are missing, define them and run it again."""

    def run_mended(module: ModuleType) -> None:
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

    return run_mended


class Finder:
    """Finds torchvision where Python finds it, with a loader that mends it."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == "torchvision" else None
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = mended(spec.loader.exec_module)
        return spec


def install(folder: Path) -> None:
    """Have Python import this module whenever it starts with a folder of packages."""
    shutil.copy(__file__, folder / "torchvision_fix.py")
    (folder / "torchvision_fix.pth").write_text("import torchvision_fix\n")


if __name__ == "__main__":
    install(Path(sysconfig.get_path("purelib")))
else:
    sys.meta_path.insert(0, Finder)
