"""Let a stock torchvision import beside a CPU-only torch.

The torchvision wheel of the package index is built for CUDA. Beside a CPU build of torch its C++ library does not load,
its operators stay undefined, and ``import torchvision`` fails with ``operator torchvision::nms does not exist``. timm,
torchmetrics, Lightning and transformers all import torchvision, so they fail as well. Defining the schema of the two
operators that torchvision registers fake kernels for is enough for the import; the operators themselves stay
unavailable, and Heed calls neither.

Importing this module first is all there is to do. Where torchvision works, or is not installed, it does nothing.
"""

import sys

import torch

OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


def make_torchvision_importable() -> bool:
    """Import torchvision, and mend the import if its compiled operators are missing.

    Returns:
        True if the mend was needed, False if torchvision imported by itself or is not installed.

    Raises:
        RuntimeError: torchvision fails to import for another reason.
    """
    try:
        import torchvision
    except ImportError:
        return False
    except RuntimeError as error:
        if "torchvision::nms does not exist" not in str(error):
            raise
    else:
        return False
    for name in [name for name in sys.modules if name == "torchvision" or name.startswith("torchvision.")]:
        del sys.modules[name]
    global _library  # the definitions live as long as this object
    _library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in OPERATORS:
        _library.define(schema)
    import torchvision  # noqa: F401

    return True


make_torchvision_importable()
