"""Rankings of models by a few examples, against their accuracy on many."""
