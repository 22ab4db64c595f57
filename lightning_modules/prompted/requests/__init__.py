"""Requests to a server: what is sent, what comes back, and what is kept of it."""
