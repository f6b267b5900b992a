"""Compiled loops, and nothing else.

A kernel is a pure function of contiguous arrays and numbers. It writes into the arrays it is given,
returns numbers, allocates nothing and knows no other part of the library. All are compiled on first
call, cached on disk, and run without the interpreter's lock.
"""
