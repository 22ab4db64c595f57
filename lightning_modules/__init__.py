"""Classifiers, one small module for each model family, and the processors that turn examples into tensors."""

import torchvision_fix  # noqa: F401

from lightning_modules.classifier import Classifier
from lightning_modules.outputs import NO_LABEL_NUMBER, NOT_FINITE, Outputs
from lightning_modules.processors.templates import TemplateProcessor
from lightning_modules.processors.texts import TextProcessor
from lightning_modules.processors.windows import WindowProcessor
from lightning_modules.prompted.causal_lm import CausalLM
from lightning_modules.prompted.endpoint import Endpoint
from lightning_modules.text.encoder import Encoder
from lightning_modules.text.reader import Reader
from lightning_modules.text.seq2seq import Seq2Seq
from lightning_modules.text.writer import Writer
from lightning_modules.vision.blip import Blip
from lightning_modules.vision.blip_answers import BlipAnswers
from lightning_modules.vision.late_fusion import LateFusion
from lightning_modules.vision.vilt import Vilt

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
    "Reader",
    "Seq2Seq",
    "TemplateProcessor",
    "TextProcessor",
    "Vilt",
    "WindowProcessor",
    "Writer",
]
