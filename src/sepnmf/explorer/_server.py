"""A server on this machine only, whose every path begins with a random token."""

import asyncio
import hmac
import secrets
import socket
from collections.abc import Callable
from typing import Any

import panel as pn
from bokeh.application import Application
from bokeh.application.handlers import FunctionHandler
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.routing import Router
from tornado.web import Application as WebApplication
from tornado.web import ErrorHandler, RequestHandler

ADDRESS = "127.0.0.1"
TOKEN_BYTES = 32


def silent(_handler: RequestHandler) -> None:
    """Log nothing: requests are not the business of the terminal."""


FORBIDDEN = WebApplication(
    default_handler_class=ErrorHandler, default_handler_args={"status_code": 403}, log_function=silent
)


class Guard(Router):  # type: ignore[misc]
    """Passes requests on that name this machine and the token; refuses all others.

    A page of another site cannot know the token. If its host name is made to point to this machine (DNS
    rebinding), the Host header gives it away, and the Origin header if it opens a websocket.
    """

    def __init__(self, application: WebApplication, token: str, port: int) -> None:
        self.application = application
        self.token = token.encode()
        self.hosts = {f"{ADDRESS}:{port}", f"localhost:{port}"}

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        """Return what answers the request; None answers that there is nothing (404)."""
        origin = request.headers.get("Origin")
        if request.host not in self.hosts or not (origin is None or origin == f"http://{request.host}"):
            return FORBIDDEN.find_handler(request, **kwargs)
        first = request.path.lstrip("/").partition("/")[0]
        if not hmac.compare_digest(first.encode(), self.token):
            return None
        return self.application.find_handler(request, **kwargs)


async def serve(
    view: Callable[[Any, IOLoop], pn.viewable.Viewable],
    title: str,
    port: int,
    on_ready: Callable[[str], None],
) -> None:
    """Serve a page until the task is cancelled; then close the port and all connections.

    Parameters
    ----------
    view : callable
        Makes what is shown in a window of the browser from the document of Bokeh that it goes into, and
        the loop of the server. It may be called in any thread.
    title : str
        Title of the page.
    port : int
        Port to listen on; 0 for any that is free.
    on_ready : callable
        Is called with the address, which contains the token, once the server listens.

    Raises
    ------
    OSError
        If the port cannot be used.
    """

    def fill(document: Any) -> None:
        document.template_variables["app_favicon"] = "data:,"
        view(document, loop).server_doc(document, title=title)

    loop = IOLoop.current()
    token = secrets.token_urlsafe(TOKEN_BYTES)
    try:
        listening = socket.create_server((ADDRESS, port))
    except OSError as error:
        raise OSError(f"Port {port} cannot be used ({error.strerror}): choose another one.") from None
    listening.setblocking(False)
    port = listening.getsockname()[1]
    hosts = [f"{ADDRESS}:{port}", f"localhost:{port}"]
    application = BokehTornado(
        {"/": Application(FunctionHandler(fill))},
        prefix=f"/{token}",
        extra_websocket_origins=hosts,
        log_function=silent,
    )
    http = HTTPServer(Guard(application, token, port))
    http.add_socket(listening)
    server = BaseServer(loop, application, http)
    server.start()
    try:
        on_ready(f"http://{ADDRESS}:{port}/{token}/")
        await asyncio.Event().wait()
    finally:
        server.stop(wait=False)
        await http.close_all_connections()
