"""Version (which setup.cfg reads), title and authors of Heedful."""

VERSION = "0.1.0"
TITLE = "Heedful: does a classifier heed every part of its input?"
AUTHORS = "Heedful developers"
