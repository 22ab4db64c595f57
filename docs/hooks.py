"""Hooks of mkdocs: the page of settings is written when the site is built."""

from typing import Any

from mkdocs.structure.files import File, Files

from heedful.cli.reference import page


def on_files(files: Files, config: Any) -> Files:
    """Add settings.md."""
    files.append(File.generated(config, "settings.md", content=page()))
    return files
