"""Benchmarks that compare the time of Heedful with the time of scripts without it.

``python -m benchmarks.NAME`` runs its variants in turns, several times, and reports medians and ratios. A ratio holds
on other machines too; a time does not. docs/results.md has the results.
"""
