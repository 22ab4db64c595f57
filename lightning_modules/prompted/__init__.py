"""Models that answer prompts, which consist of an instruction, demonstrations and a question about the example."""
