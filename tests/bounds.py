"""Reading of files in another process, where time and memory are measured."""

import subprocess
import sys

CODE = """
import resource, sys
import h5py, numcodecs, pyarrow.parquet, xarray
from sepnmf.io import read

start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[2:]:
    try:
        read(path)
    except ValueError as error:
        assert str(error) and "\\n" not in str(error), error
    else:
        raise AssertionError(f"{path} is accepted")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start
    assert grown < int(sys.argv[1]), (path, grown)
"""


def assert_refused_in_little_memory(paths, mib=100, seconds=60):
    """All files are refused in one line, within these seconds and mebibytes."""
    words = [sys.executable, "-c", CODE, str(1024 * mib), *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
