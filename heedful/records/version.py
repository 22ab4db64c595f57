"""The version of Heedful, which setup.cfg reads from here, and what a citation calls it."""

VERSION = "0.1.0"
TITLE = "Heedful: does a classifier heed every part of its input?"
AUTHORS = "Heedful developers"
