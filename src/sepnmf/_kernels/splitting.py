"""Fused passes of DCA's inner loop over blocks of rows.

The multiplier of the inner loop is not stored: Z = D − V, where D = X + Z (with the last X and Z) is the
point at which V was computed.
"""

from sepnmf._kernels._compiled import compiled
from sepnmf._kernels.omega import SUMS


@compiled(forceinline=True, fastmath=SUMS)
def lengths(x, y):  # type: ignore[no-untyped-def]
    """Σ (x_j − y_j)² and Σ x_j²."""
    zero = x.dtype.type(0)
    gap, whole = zero, zero
    for j in range(x.size):
        gap += (x[j] - y[j]) ** 2
        whole += x[j] * x[j]
    return gap, whole


@compiled()
def advance(X_k, X_last, V, D, mix, X, lo, hi, sums):  # type: ignore[no-untyped-def]
    """X ← X + x·X_k + v·(V − Z) and D ← X + Z, where Z = D − V and (x, v) = mix.

    Sums: ‖X − X_last‖² and ‖X‖².
    """
    x, v = mix
    gap, whole = 0.0, 0.0
    for i in range(lo, hi):
        Xi, Ki, Vi, Di = X[i], X_k[i], V[i], D[i]
        for j in range(Xi.size):
            new = Xi[j] + (x * Ki[j] + v * (2 * Vi[j] - Di[j]))
            Xi[j] = new
            Di[j] = new + (Di[j] - Vi[j])
        row = lengths(Xi, X_last[i])
        gap += row[0]
        whole += row[1]
    sums[0] = gap
    sums[1] = whole


@compiled()
def compare(X, X_k, V, lo, hi, sums):  # type: ignore[no-untyped-def]
    """‖X − X_k‖² and ‖X − V‖²."""
    moved, apart = 0.0, 0.0
    for i in range(lo, hi):
        moved += lengths(X[i], X_k[i])[0]
        apart += lengths(X[i], V[i])[0]
    sums[0] = moved
    sums[1] = apart
