"""Settings against the type hints of what takes them: what is wrong with them, and what is made of them."""
