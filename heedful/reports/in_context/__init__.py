"""What ``heedful matrix --prompts`` reads, computes and prints."""
