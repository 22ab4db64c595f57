"""Models that are asked in context: by a prompt, without training."""
