"""The explorer: look at data and their anchors, change the anchors, and write the result."""

from typing import Any

from sepnmf.matrix import MatrixLike

__all__ = ["explore"]


def explore(M: MatrixLike, r: int | None = None, method: str = "auto", **options: Any) -> Any:
    """Look at data in a notebook, and change their anchors by hand.

    Shows the scene or the columns, the anchors, and how well they explain the data. Anchors can be added,
    replaced, dropped, locked and named. The same page in the browser: ``sepnmf explore FILE``.

    Parameters
    ----------
    M : path or matrix_like of shape (m, n)
        A file that `sepnmf.io.read` reads, or any container that `sepnmf.select` takes.
    r : int, optional
        Number of anchors at first; by default it is estimated.
    method : str, default "auto"
        A name in `sepnmf.METHODS`.
    **options
        ``random_state`` (default 0), ``negative`` (default "error"), and for a file ``axis`` and the options
        of `sepnmf.io.read`.

    Returns
    -------
    panel.Column
        What the notebook shows. It needs Panel: ``pip install 'sepnmf[explore]'``.

    Raises
    ------
    ValueError
        If Panel is not installed, if M cannot be read, or an argument is not as described.
    """
    from sepnmf.io._guards import needed

    pn = needed("panel")
    from sepnmf.explorer._explorer import Explorer
    from sepnmf.explorer._session import Session
    from sepnmf.explorer._views import View

    pn.extension("tabulator")
    return View(Explorer(Session.open(M, r, method, **options))).layout
