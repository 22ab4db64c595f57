"""Numbers of models that are asked in context, from the rows of one prompt."""
