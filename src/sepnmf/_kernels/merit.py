"""Sparse iterates of the Frank–Wolfe method on n simplices.

After t steps of size 2/(t + 1) a column of C is a weighted mean of the t vertices chosen for it, the s-th
with weight 2s/(t(t + 1)). So C = V·2/(t(t + 1)) with a matrix V of integers: v_ij is the sum of the numbers s
of the steps in which vertex i was chosen for column j. In the kernels V is a tuple of arrays (index, value,
count, peak, used): column j has `count[j]` nonzeros, at rows `index[j]` with values `value[j]`; `peak[i]` is
the largest entry of row i and `used[i]` the number of its nonzeros.
"""

import math

from sepnmf._kernels._compiled import compiled


@compiled()
def add_vertices(choice, t, V):  # type: ignore[no-untyped-def]
    """Add step t, in which vertex i = choice[j] was chosen for column j: v_ij += t.

    There must be room for one more nonzero in each column.
    """
    index, value, count, peak, used = V
    for j in range(choice.size):
        i = choice[j]
        k = 0
        while k < count[j] and index[j, k] != i:
            k += 1
        if k == count[j]:
            index[j, k] = i
            value[j, k] = 0
            count[j] += 1
            used[i] += 1
        value[j, k] += t
        peak[i] = max(peak[i], value[j, k])


@compiled()
def row_sums(V, scale, total):  # type: ignore[no-untyped-def]
    """Write Σ_j exp(scale·(v_ij − peak_i)), over all n columns, into `total`."""
    index, value, count, peak, used = V
    n = peak.size
    for i in range(n):
        total[i] = (n - used[i]) * math.exp(-scale * peak[i])
    for j in range(n):
        for k in range(count[j]):
            i = index[j, k]
            total[i] += math.exp(scale * (value[j, k] - peak[i]))


@compiled()
def penalise(H, first, V, total, scale, lam, inner):  # type: ignore[no-untyped-def]
    """Add to H, at the nonzeros of V, the penalty's gradient less that at a zero of the same row.

    Row k of H belongs to column first + k of C, and so does `inner`, which receives Σ_i v_ij e_ij, where
    e_ij = exp(scale·(v_ij − peak_i))/total_i is the gradient of the smoothed maximum of row i.
    """
    index, value, count, peak, _ = V
    for k in range(H.shape[0]):
        j = first + k
        inner[j] = 0.0
        for place in range(count[j]):
            i = index[j, place]
            share = math.exp(scale * (value[j, place] - peak[i])) / total[i]
            H[k, i] += lam * (share - math.exp(-scale * peak[i]) / total[i])
            inner[j] += value[j, place] * share
