"""Models that are asked in context: by an instruction, demonstrations, and the example itself."""
