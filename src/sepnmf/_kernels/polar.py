"""Passes over the symmetric matrices of which a polar factor is computed."""

import math

import numpy as np

from sepnmf._kernels._compiled import compiled
from sepnmf._kernels.omega import SUMS


@compiled()
def distance_from_identity(G, c):  # type: ignore[no-untyped-def]
    """G ← E = I − G/c."""
    n = G.shape[0]
    for i in range(n):
        row = G[i]
        for j in range(n):
            row[j] = -row[j] / c
        row[i] += 1.0


@compiled(fastmath=SUMS)
def first_moments(E):  # type: ignore[no-untyped-def]
    """Sums of the eigenvalues of E and of their squares."""
    first, second = 0.0, 0.0
    for i in range(E.shape[0]):
        e = E[i]
        first += e[i]
        for j in range(E.shape[0]):
            second += e[j] * e[j]
    return first, second


@compiled(fastmath=SUMS)
def inner_products(A, E, square):  # type: ignore[no-untyped-def]
    """⟨A, E⟩ and ⟨A, E²⟩."""
    first, second = 0.0, 0.0
    for i in range(E.shape[0]):
        a, e, s = A[i], E[i], square[i]
        for j in range(E.shape[0]):
            first += a[j] * e[j]
            second += a[j] * s[j]
    return first, second


@compiled()
def add_multiple(A, b, B, out):  # type: ignore[no-untyped-def]
    """Write A + bB into `out`."""
    for i in range(A.shape[0]):
        a, other, row = A[i], B[i], out[i]
        for j in range(row.size):
            row[j] = a[j] + b * other[j]


@compiled()
def polynomial(scale, e, E, s, square, f, fourth):  # type: ignore[no-untyped-def]
    """E ← scale·(I + eE + s·square + f·fourth)."""
    for i in range(E.shape[0]):
        row, second, last = E[i], square[i], fourth[i]
        for j in range(row.size):
            row[j] = scale * (e * row[j] + s * second[j] + f * last[j])
        row[i] += scale


@compiled()
def find_cluster(squares, widest, single, most_sweeps):  # type: ignore[no-untyped-def]
    """First and last index of the squared singular values (falling) that form a cluster; 0, 0 if none do.

    Up to a quarter of the values, and at most 24, may be outside it. The cost of what follows, in products
    of n × n matrices, decides how many are.
    """
    n = squares.size
    best, found = 9.0, (0, 0)
    for k in range(min(n // 4, 24) + 1):
        first, least = 0, math.inf
        for i in range(k + 1):
            if not squares[i] > 0.0:  # singular values of zero are no cluster
                break
            width = (squares[i] - squares[i + n - k - 1]) / (squares[i] + squares[i + n - k - 1])
            if width < least:
                first, least = i, width
        if not least < widest:
            continue
        centre = 0.5 * (squares[first] + squares[first + n - k - 1])
        fourth = 0.0
        for i in range(first, first + n - k):
            fourth += (1.0 - squares[i] / centre) ** 4
        bound = fourth**0.25
        cost = 2.0 if bound < 0.1 * single else 2.5 if bound < single else 4.5 if bound < 0.2 else 7.0
        if k > 0:
            nearest = math.inf
            for i in (first - 1, first + n - k):
                if 0 <= i < n:
                    nearest = min(nearest, abs(1.0 - squares[i] / centre))
            # Subspace iteration converges by this factor a sweep; singular vectors move by 1e-3, say.
            sweeps = 1.0 - 20.0 / math.log(max(least, 1e-12) / nearest) if least < nearest else math.inf
            if sweeps > most_sweeps:
                continue
            cost += 0.5 + sweeps * (0.2 + 2.0 * k / n)
        if bound < widest and cost < best:
            best, found = cost, (first, first + n - k)
    return found


@compiled(forceinline=True, fastmath=SUMS)
def dot(a, b):  # type: ignore[no-untyped-def]
    """⟨a, b⟩."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@compiled()
def orthonormalise(W):  # type: ignore[no-untyped-def]
    """Make the rows of W orthonormal, by Gram and Schmidt; return whether they are linearly independent."""
    for i in range(W.shape[0]):
        row = W[i]
        before = dot(row, row)
        for _ in range(3):
            for k in range(i):
                other = W[k]
                along = dot(row, other)
                for j in range(row.size):
                    row[j] -= along * other[j]
            square = dot(row, row)
            if 2.0 * square > before:  # little was taken away, so little precision was lost
                break
            before = square
        if not square > 1e-290:
            return False
        scale = 1.0 / math.sqrt(square)
        for j in range(row.size):
            row[j] *= scale
    return True


@compiled()
def diagonalise(T, J):  # type: ignore[no-untyped-def]
    """Eigenvalues of the symmetric T in its diagonal, eigenvectors in the rows of J, by Jacobi rotations."""
    k = T.shape[0]
    for a in range(k):
        for b in range(k):
            J[a, b] = 1.0 if a == b else 0.0
    for _ in range(30):
        rotated = False
        for a in range(k - 1):
            for b in range(a + 1, k):
                off = T[a, b]
                if abs(off) <= 1e-17 * (abs(T[a, a]) + abs(T[b, b])) or off == 0.0:
                    continue
                rotated = True
                ratio = (T[b, b] - T[a, a]) / (2.0 * off)
                t = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                c = 1.0 / math.sqrt(1.0 + t * t)
                s = t * c
                for j in range(k):
                    x, y = T[a, j], T[b, j]
                    T[a, j], T[b, j] = c * x - s * y, s * x + c * y
                for j in range(k):
                    x, y = T[j, a], T[j, b]
                    T[j, a], T[j, b] = c * x - s * y, s * x + c * y
                    x, y = J[a, j], J[b, j]
                    J[a, j], J[b, j] = c * x - s * y, s * x + c * y
                T[a, b] = T[b, a] = 0.0
        if not rotated:
            break


@compiled()
def rotate(W, Y, ritz, values, residuals):  # type: ignore[no-untyped-def]
    """Ritz vectors in the rows of `ritz`, given orthonormal rows W and Y = WK with a symmetric K.

    Y becomes their product with K. Also written are the Ritz values and the norms of the residuals.
    """
    k, n = W.shape
    T, J = np.empty((k, k)), np.empty((k, k))
    for a in range(k):
        for b in range(a + 1):
            T[a, b] = T[b, a] = 0.5 * (dot(W[a], Y[b]) + dot(W[b], Y[a]))
    diagonalise(T, J)
    for a in range(k):
        values[a] = T[a, a]
        row = ritz[a]
        row[:] = 0.0
        for b in range(k):
            f, other = J[a, b], W[b]
            for j in range(n):
                row[j] += f * other[j]
    for a in range(k):  # W is not needed any more
        row = W[a]
        row[:] = 0.0
        for b in range(k):
            f, other = J[a, b], Y[b]
            for j in range(n):
                row[j] += f * other[j]
    for a in range(k):
        w, y, row = ritz[a], Y[a], W[a]
        total = 0.0
        for j in range(n):
            y[j] = row[j]
            total += (row[j] - values[a] * w[j]) ** 2
        residuals[a] = math.sqrt(total)


@compiled()
def outlying(e, residuals, root, tau, sigma, inverse):  # type: ignore[no-untyped-def]
    """σ and 1/max(σ, τ) of outliers with eigenvalues e of E, and the error due to their residuals."""
    total = 0.0
    for j in range(e.size):
        sigma[j] = root * math.sqrt(max(1.0 - e[j], 0.0))
        inverse[j] = 1.0 / max(sigma[j], tau, 1e-8 * root)
        gap = e[j] if abs(e[j]) > 1e-8 else 1e-8
        total += (residuals[j] * ((root * inverse[j] - 1.0) / gap - 0.5)) ** 2
    return math.sqrt(total)
