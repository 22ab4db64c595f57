"""Sentences to train tokenizers on, with apostrophes, digits, accents, CJK characters and emoji."""

SENTENCES = [
    "The dog's 2nd walk (today)!",
    "È vero — 100 % sicuro, disse l'uomo.",
    "A cat sat on the mat, and looked at 3 dogs.",
    "Every old carpenter in the village apparently bought two hammers on Monday.",
    "Who's there? Nobody knows; not even the #1 detective.",
    "猫が好きです。 🙂 naïve café",
]
IN_TEMPLATES = [
    "The dog's 2nd walk (today)!",
    "È vero — 100 % sicuro, disse l'uomo.",
    "Every old carpenter in the village apparently bought two hammers on Monday.",
    "mnli hypothesis: premise: Genre: Length: Title:",
    "猫が好きです。 🙂 naïve café",
]
