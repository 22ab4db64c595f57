"""Implementation of ``heedful matrix --prompts``."""
