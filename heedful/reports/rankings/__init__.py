"""What ``heedful rank`` reads, computes and prints."""
