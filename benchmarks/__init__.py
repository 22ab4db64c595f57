"""What Heedful costs, beside what one would write without it; run as ``python -m benchmarks.NAME``.

Every benchmark compares its variants in one run, interleaved, and reports medians and ratios: a ratio holds on other
machines too, a time does not. docs/results.md has what they show.
"""

import heedful.torchvision_fix  # noqa: F401
