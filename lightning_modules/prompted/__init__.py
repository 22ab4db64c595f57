"""Prompted models: a prompt has an instruction, demonstrations and the example."""
