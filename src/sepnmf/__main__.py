"""The command line, as ``python -m sepnmf``."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; Ctrl-C before it is imported is one line too."""
    try:
        from sepnmf.cli import run
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
