"""What ``python -m heedful.reports.ranking`` reads, computes and prints."""
