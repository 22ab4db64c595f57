"""Prompts: how models that are asked in context are asked."""
