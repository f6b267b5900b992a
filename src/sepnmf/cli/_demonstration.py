"""The demonstration: anchors of generated data, compared with the true ones, in a figure and a report."""

from itertools import combinations
from pathlib import Path

import numpy as np

from sepnmf._overview import compare, curve_of_residuals, doubts, summary
from sepnmf._typing import Floats, Ints
from sepnmf.cli._app import command_line, print_line, show_table, versions
from sepnmf.cli._pictures import pyplot, save
from sepnmf.datasets import make_midpoint
from sepnmf.io._data import Data
from sepnmf.methods import admm
from sepnmf.metrics import rae
from sepnmf.report import Contents, write_report
from sepnmf.selection import Selection

R = 10
COMPARED = ("auto", "spa", "snpa", "xray", "vca", "fgnsr", "merit")


def demonstrate(folder: Path) -> None:
    """Print a table of the anchors, and write anchors.png and report.html."""
    M, true = make_midpoint(noise=0.03, random_state=0)
    M = np.maximum(M, 0)
    sel = admm(M, R, p=2, norm="rows", lam=1e-3, rho=(0.01, 0.01, 0.01))
    print_line(
        f"M is {M.shape[0]} × {M.shape[1]}: {R} anchors, and the noisy midpoints of all pairs of anchors."
    )
    rows = [
        [str(rank), str(column), f"{sel.scores[column]:.4f}", "yes" if column in true else "NO"]
        for rank, column in enumerate(sel.anchors.tolist(), start=1)
    ]
    show_table({"rank": "right", "column": "right", "score x_ii": "right", "a true anchor?": "left"}, rows)
    next_best = np.delete(sel.scores, sel.anchors).max()
    print_line(f"The best column that was not selected has score {next_best:.4f}.")
    print_line(
        f"{len(set(sel.anchors) & set(true))} of {R} true anchors found; {sel.status} after "
        f"{sel.n_outer} outer iterations, {sel.seconds:.2f} s; λR + fit = {sel.history['objective'][-1]:.4g}."
    )
    picture = draw(folder / "anchors.png", M, true, sel)
    report = write_report(folder / "report.html", contents(M, true, sel))
    print_line(f"Figure: {picture}   Report: {report}")


def column_names(M: Floats, true: Ints) -> tuple[str, ...]:
    """Return "pure k" for the k-th true anchor, and "j+k" for the column nearest to a midpoint of two."""
    names = np.empty(M.shape[1], dtype=object)
    names[true] = [f"pure {k}" for k in range(1, len(true) + 1)]
    midpoints = np.delete(np.arange(M.shape[1]), true)
    for j, k in combinations(range(len(true)), 2):
        midpoint = M[:, true[[j, k]]].mean(axis=1, keepdims=True)
        nearest = np.linalg.norm(M[:, midpoints] - midpoint, axis=0).argmin()
        names[midpoints[nearest]] = f"{j + 1}+{k + 1}"
    return tuple(names)


def contents(M: Floats, true: Ints, sel: Selection) -> Contents:
    """Return the contents of the report."""
    data = Data(M, Path("generated"), column_names=column_names(M, true))
    fit = rae(M, sel.anchors)
    return Contents(
        data=data,
        selection=sel,
        labels=tuple(data.column_labels(sel.anchors)),
        anchor_columns=M[:, sel.anchors],
        summary=summary(data),
        fit=fit,
        curve=curve_of_residuals(M),
        comparison=compare(M, R, COMPARED, label=data.column_label),
        warnings=doubts(sel, fit),
        command=command_line(),
        versions=versions(),
    )


def draw(path: Path, M: Floats, true: Ints, sel: Selection) -> Path:
    """Draw the columns in a plane, and the scores of all columns."""
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(11, 4.8), layout="constrained")

    # In the plane of the two leading principal components, anchors are corners of the set of columns.
    centred = M - M.mean(axis=1, keepdims=True)
    plane = np.linalg.svd(centred, full_matrices=False)[0][:, :2].T @ centred
    left.scatter(*plane, s=22, color="0.65", label="columns of M")
    left.scatter(
        *plane[:, true], s=150, facecolors="none", edgecolors="#0072b2", linewidths=1.6, label="true anchors"
    )
    left.scatter(
        *plane[:, sel.anchors], s=36, color="#d55e00", marker="x", linewidths=1.8, label="anchors found"
    )
    left.set(title="Columns, in their two leading principal components", xticks=[], yticks=[])
    left.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, frameon=False)
    left.spines[:].set_visible(False)

    order = np.argsort(-sel.scores)
    colours = np.where(np.isin(order, true), "#0072b2", "0.65")
    right.bar(np.arange(order.size), sel.scores[order], color=colours, width=0.85)
    right.axvline(R - 0.5, color="#d55e00", linestyle="--", linewidth=1.2)
    right.annotate(f"r = {R}", (R - 0.2, sel.scores.max()), color="#d55e00", va="top")
    right.set(
        title="Score of every column (blue: true anchors)", xlabel="columns, best first", ylabel="$x_{ii}$"
    )
    right.spines[["top", "right"]].set_visible(False)
    return save(figure, path)
