"""python -m softcheck: the softcheck command; "run field", which is Python, is python -m softcheck.field."""

import os
import pathlib
import sys


def _command() -> pathlib.Path:
    named = os.environ.get("SOFTCHECK_LIBRARY")
    return pathlib.Path(named).parent / "softcheck" if named else pathlib.Path(__file__).parent / "bin" / "softcheck"


def main() -> None:
    if sys.argv[1:3] == ["run", "field"]:
        from softcheck.field.__main__ import main as field

        del sys.argv[1:3]
        sys.exit(field())
    command = _command()
    if not command.exists():
        sys.exit(f"softcheck: need the command at {command}, got nothing there")
    os.execv(command, ["softcheck", *sys.argv[1:]])


if __name__ == "__main__":
    main()
