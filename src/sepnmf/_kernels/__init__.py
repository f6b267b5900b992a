"""Compiled loops, and nothing else.

A kernel is a function of contiguous arrays and numbers. It writes into the arrays it is given, returns
numbers, and depends on no other part of the library; it allocates at most its workspace, before its loops.
All kernels are compiled on first call, cached on disk, and run without the interpreter's lock: `compiled` in
`_compiled.py` is their decorator.

Arguments that belong together are passed as one tuple: a NamedTuple where a call takes long, a plain tuple
where calls are short (a few µs). From Python, numba's dispatch takes 1 to 2 µs for each NamedTuple and next
to nothing for a plain one; between kernels both are free.

A kernel whose sums may be reordered (`fastmath`) is inlined into its callers (`forceinline`), and so is what
stands between it and the kernel that Python calls. Otherwise there would be two machine codes for one sum:
the function's own, and a copy in the caller that is optimised again and may add in another order. A process
that compiles the kernels would run the first, and one that loads them from the cache the second.
"""

from importlib import import_module

from sepnmf._kernels._apart import apart

# Also if it is in sys.modules: after Ctrl-C, another thread may still be importing it. What this thread would
# import of it could be interrupted again, while it holds the lock of LLVM.
apart(lambda: import_module("numba"))
