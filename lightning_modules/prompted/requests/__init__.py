"""Requests to a server, replies, and the file of answers."""
