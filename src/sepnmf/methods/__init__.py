"""How: each method is one file with one function (M, r, …) -> Selection."""
