"""The one exception for what a user can mend."""


class HeedError(Exception):
    """A mistake in the input or in the settings.

    The message is one sentence (or two) that says what was wrong, where (file, row, column, flag) and what to do.
    The command line prints it without a traceback.
    """
