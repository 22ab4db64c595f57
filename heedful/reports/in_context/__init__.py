"""What ``python -m heedful.reports.in_context`` reads, computes and prints."""
