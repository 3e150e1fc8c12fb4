"""python -m softcheck: the softcheck command."""

import os
import pathlib
import sys


def _command() -> pathlib.Path:
    named = os.environ.get("SOFTCHECK_LIBRARY")
    return pathlib.Path(named).parent / "softcheck" if named else pathlib.Path(__file__).parent / "bin" / "softcheck"


def main() -> None:
    command = _command()
    if not command.exists():
        sys.exit(f"softcheck: need the command at {command}, got nothing there")
    os.execv(command, ["softcheck", *sys.argv[1:]])


if __name__ == "__main__":
    main()
