"""Reports on prompted models, with means over seeds of demonstrations."""
