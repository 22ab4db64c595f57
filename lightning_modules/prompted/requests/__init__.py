"""Requests to a server, its replies, and the file in which replies are cached."""
