"""Prompts: the input texts of generative models that are not fine-tuned."""
