"""Models that Heedful trains or measures, one module per family, and processors that turn examples into inputs."""

from typing import TYPE_CHECKING

from heedful.lazy import lazy_names

if TYPE_CHECKING:
    from heedful.lightning_modules.classifier import Classifier
    from heedful.lightning_modules.outputs import NO_LABEL_NUMBER, NOT_FINITE, Outputs
    from heedful.lightning_modules.predictor import Predictor
    from heedful.lightning_modules.processors.templates import TemplateProcessor
    from heedful.lightning_modules.processors.texts import TextProcessor
    from heedful.lightning_modules.processors.windows import WindowProcessor
    from heedful.lightning_modules.prompted.causal_lm import CausalLM
    from heedful.lightning_modules.prompted.endpoint import Endpoint
    from heedful.lightning_modules.text.encoder import Encoder
    from heedful.lightning_modules.text.reader import Reader
    from heedful.lightning_modules.text.seq2seq import Seq2Seq
    from heedful.lightning_modules.text.writer import Writer
    from heedful.lightning_modules.vision.blip import Blip, BlipAnswers
    from heedful.lightning_modules.vision.late_fusion import LateFusion
    from heedful.lightning_modules.vision.vilt import Vilt

__all__ = [
    "NOT_FINITE",
    "NO_LABEL_NUMBER",
    "Blip",
    "BlipAnswers",
    "CausalLM",
    "Classifier",
    "Encoder",
    "Endpoint",
    "LateFusion",
    "Outputs",
    "Predictor",
    "Reader",
    "Seq2Seq",
    "TemplateProcessor",
    "TextProcessor",
    "Vilt",
    "WindowProcessor",
    "Writer",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
