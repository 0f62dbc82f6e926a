"""The command line: `python -m counterpoint`, and the console script `counterpoint`."""

from __future__ import annotations

import sys

from . import _counterpoint


def main() -> int:
    """Runs the program with the arguments of the process and returns its exit code."""
    sys.stdout.flush()
    return _counterpoint.run(["counterpoint", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
