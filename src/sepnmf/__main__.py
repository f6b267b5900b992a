"""The command line, as ``python -m sepnmf``."""

from sepnmf.cli import run

if __name__ == "__main__":
    run()
