"""What ``python -m reports.ranking`` reads, computes and prints."""
