"""A command that cannot go on for a reason of its own, told to people."""


class CommandFailed(Exception):
    """`title` in a few words, `message` one sentence, `hint` what to do next, `code` the exit code."""

    def __init__(self, title: str, message: str, hint: str = "", *, code: int = 1) -> None:
        super().__init__(message)
        self.title = title
        self.message = message
        self.hint = hint
        self.code = code
