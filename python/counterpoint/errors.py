"""What goes wrong, where, and what to do about it."""

from __future__ import annotations

from typing import Any


class Error(ValueError):
    """An error of the library: its sentence, and as data the row, the column and the remedy.

    Examples:
        >>> import counterpoint as cp
        >>> try:
        ...     cp.Log({"x": [0.0, 1.0]}, action=[1.0, 2.0], reward=[0.0, 1.0], propensity=[0.5, 0.0])
        ... except cp.Error as e:
        ...     e.row, e.column
        (2, 'propensity')
    """

    def __init__(
        self,
        what: str,
        *,
        kind: str = "data",
        row: int | None = None,
        column: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.kind = kind
        self.row = row
        self.column = column
        self.remedy = remedy

    def __str__(self) -> str:
        return self.what if self.remedy is None else f"{self.what}\nhint: {self.remedy}"

    def __reduce__(self) -> Any:
        facts = {"kind": self.kind, "row": self.row, "column": self.column, "remedy": self.remedy}
        return _again, (type(self), self.what, facts)


def _again(kind: type[Error], what: str, facts: dict[str, Any]) -> Error:
    return kind(what, **facts)


class Unsupported(Error):
    """No policy of those tried is supported by the log: an answer, not a mistake."""


class FileError(Error, OSError):
    """A file cannot be read or written."""


class PropensityWarning(UserWarning):
    """What is logged as propensities is perhaps no density."""
