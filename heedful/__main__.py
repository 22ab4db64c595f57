"""``python -m heedful`` is ``heedful``."""

from heedful.cli.command import run

if __name__ == "__main__":
    run()
