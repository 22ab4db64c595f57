"""The costs of Heedful, compared with a script without it; run as ``python -m benchmarks.NAME``.

Every benchmark compares its variants in one run, interleaved, and reports medians and ratios: a ratio holds on other
machines too, a time does not. docs/results.md has the results.
"""

import heedful.torchvision_fix  # noqa: F401
