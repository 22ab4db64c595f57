"""Make torchvision importable in the environment that runs this program, if it fails to import; as make install does.

The torchvision of the package index is built for CUDA. Beside a CPU build of torch its library does not load, and
``import torchvision`` fails with "operator torchvision::nms does not exist"; so do Lightning, torchmetrics, timm and
many models of transformers, which import torchvision. The repair adds the schemas of two operators to the installed
torchvision. The operators stay unavailable; Heedful calls neither.
"""

import subprocess
import sys
import sysconfig
from pathlib import Path

BEFORE = "import torch.library\n"  # line of torchvision/_meta_registrations.py, which adds fake kernels to operators
SCHEMAS = """
_schemas = torch.library.Library("torchvision", "FRAGMENT")
for _name in ("nms", "qnms"):
    _schemas.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""


def mend(site: Path) -> bool:
    """Repair the torchvision in a folder of packages, and return whether it needed the repair."""
    for name in ("torchvision_fix.pth", "torchvision_fix.py"):  # an earlier repair, at each start of Python
        (site / name).unlink(missing_ok=True)
    imported = subprocess.run([sys.executable, "-c", "import torchvision"], capture_output=True, text=True)
    if "torchvision::nms does not exist" not in imported.stderr:
        return False
    file = site / "torchvision" / "_meta_registrations.py"
    file.write_text(file.read_text(encoding="utf-8").replace(BEFORE, BEFORE + SCHEMAS, 1), encoding="utf-8")
    return True


if __name__ == "__main__" and mend(Path(sysconfig.get_path("purelib"))):
    print("torchvision was built for another torch: repaired, so that it can be imported.")
