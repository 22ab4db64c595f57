"""What ``python -m reports.in_context`` reads, computes and prints."""
