"""Run the command ``heedful``, as ``python -m heedful``."""

from heedful.cli.command import run

if __name__ == "__main__":
    run()
