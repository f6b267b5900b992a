"""The command explore, which serves a page on this machine."""

import asyncio
from typing import Annotated, Any

import typer

from sepnmf.cli import _options as opt
from sepnmf.cli import _work as work
from sepnmf.cli._app import INTERRUPTED, UserError, app, print_error, print_line
from sepnmf.cli._options import Axis, Sign
from sepnmf.cli._progress import stage

ENDED = "The explorer has ended. What was exported is kept."

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 for a free one.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")]


@app.command()
@opt.reading(opt.TABLE, before="port")
def explore(
    file: opt.File,
    anchors: opt.Anchors = "auto",
    method: opt.Method = "auto",
    axis: opt.Along = Axis.columns,
    negative: opt.Negative = Sign.error,
    port: Port = 0,
    browser: Browser = True,
    seed: opt.Seed = 0,
    memory: opt.Memory = None,
    **reading: Any,
) -> None:
    """Look at data in the browser, and change their anchors by hand.

    Serves a page on this machine only, under an address with a random token, until Ctrl-C. The page shows
    the scene or the columns, the anchors and how well they explain the data. Anchors can be added, replaced,
    dropped, locked and named, and the results written, with the command that gives them again.
    """
    from sepnmf.io._guards import needed

    work.check_request(file, anchors, method, {}, memory=memory, others=[reading.get("mask")])
    needed("panel")
    import webbrowser

    from sepnmf.explorer._explorer import Explorer
    from sepnmf.explorer._server import serve
    from sepnmf.explorer._session import Session
    from sepnmf.explorer._views import View

    with stage(f"opening {file.name}"):
        session = Session.open(
            file,
            work.check_anchors(anchors),
            method,
            seed,
            negative=negative.value,
            axis=axis.value,
            memory=memory,
            **work.reading_options(**reading),
        )
    data = session.data
    for sentence in (*data.left_out, *data.assumptions, *data.warnings):
        print_error(sentence)
    explorer = Explorer(session)

    def window(document: Any, loop: Any) -> Any:
        return View(explorer, document, loop).layout

    def ready(address: str) -> None:
        print_line(f"Exploring {file.name} at {address} (Ctrl-C ends it).")
        if browser:
            webbrowser.open(address)

    try:
        asyncio.run(serve(window, file.name, port, ready))
    except KeyboardInterrupt:
        raise UserError(ENDED, INTERRUPTED) from None
