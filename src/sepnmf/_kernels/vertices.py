"""Update of the weights in the vertex model, see `sepnmf._descent._likelihood`."""

import math

import numpy as np

from sepnmf._kernels._compiled import compiled
from sepnmf._kernels.exchange import Passive, nonnegative


@compiled()
def weigh(G, B, squares, owner, H, E, lo, hi, sums):  # type: ignore[no-untyped-def]
    """h_j = e_k if column j is the anchor of vertex k = owner[j], else argmin_{h ≥ 0} hᵀGh − 2b_jᵀh.

    E gets ‖m_j‖² − 2b_jᵀh + hᵀGh. Columns lo … hi − 1 only.
    """
    r = G.shape[0]
    passive = Passive(np.empty(r, np.int64), np.empty((r, r)), np.empty(r))
    z, barred = np.empty(r), np.empty(r, np.bool_)
    for j in range(lo, hi):
        k = owner[j]
        if k >= 0:
            H[j] = 0.0
            H[j, k] = 1.0
            E[j] = squares[j] - 2.0 * B[j, k] + G[k, k]
            continue
        p = nonnegative(G, B[j], math.sqrt(squares[j]), -1, H[j], passive, z, barred)
        E[j] = squares[j]
        for a in range(p):
            E[j] -= passive.y[a] * passive.y[a]
