"""Prompts of models that are not fine-tuned."""
