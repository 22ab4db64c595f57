"""Classifiers, one small module for each model family, and the processors that turn examples into tensors."""

import torchvision_fix  # noqa: F401

from lightning_modules.blip import Blip
from lightning_modules.blip_answers import BlipAnswers
from lightning_modules.classifier import Classifier
from lightning_modules.encoder import Encoder
from lightning_modules.late_fusion import LateFusion
from lightning_modules.pictures import PictureProcessor, PictureStore
from lightning_modules.processors import Processor, TextProcessor
from lightning_modules.reader import Reader
from lightning_modules.seq2seq import Seq2Seq
from lightning_modules.seq2seq_processor import TemplateProcessor
from lightning_modules.vilt import Vilt
from lightning_modules.windows import WindowProcessor
from lightning_modules.writer import Writer

__all__ = [
    "Blip",
    "BlipAnswers",
    "Classifier",
    "Encoder",
    "LateFusion",
    "PictureProcessor",
    "PictureStore",
    "Processor",
    "Reader",
    "Seq2Seq",
    "TemplateProcessor",
    "TextProcessor",
    "Vilt",
    "WindowProcessor",
    "Writer",
]
