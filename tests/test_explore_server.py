"""The server of the explorer answers only who knows its token, on this machine, and leaves nothing behind."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

pytest.importorskip("panel")

from exploring import open_table, served, write_table

TOKEN = "{token}"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with served(open_table(tmp_path_factory.mktemp("served"))) as (address, _):
        yield urlsplit(address)


def asked(page, path, **headers):
    """Send a request; the status of the answer and its text. `{token}` in a path is the token."""
    # A busy machine is slow, not wrong.
    connection = http.client.HTTPConnection(page.hostname, page.port, timeout=120)
    try:
        host = headers.pop("Host", page.netloc)
        connection.putrequest("GET", path.replace(TOKEN, page.path.strip("/")), skip_host=True)
        for name, value in ({"Host": host} | headers).items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        status = answer.status
        return status, "" if status == 101 else answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


def upgrade(page, **headers):
    """Ask for a websocket; the status of the answer."""
    session = re.search(r'"token":"([^"]+)"', asked(page, f"/{TOKEN}/")[1])[1]
    protocol = {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    protocol |= {"Connection": "Upgrade", "Upgrade": "websocket"}
    protocol |= {"Sec-WebSocket-Protocol": f"bokeh, {session}"}
    return asked(page, headers.pop("path", f"/{TOKEN}/ws"), **protocol, **headers)[0]


def test_who_knows_the_token_gets_the_page(page):
    status, text = asked(page, f"/{TOKEN}/")
    assert status == 200
    assert "<title>data</title>" in text
    assert len(page.path.strip("/")) >= 43  # 32 random bytes
    assert asked(page, f"/{TOKEN}/", Host=f"localhost:{page.port}")[0] == 200


def test_everything_that_the_page_loads_is_below_the_token(page):
    text = asked(page, f"/{TOKEN}/")[1]
    addresses = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert len(addresses) > 5
    assert not [address for address in addresses if re.match("(?:https?:)?/", address)]
    scripts = [address for address in addresses if address.startswith("static/js/")]
    assert [asked(page, f"/{TOKEN}/{script}")[0] for script in scripts] == [200] * len(scripts)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/favicon.ico",
        "/ws",
        "/static/js/bokeh.min.js",
        "/autoload.js",
        "/metadata",
        "/wrong/",
        f"/{TOKEN}x/",
        f"/x/{TOKEN}/",
        f"/?{TOKEN}",
        f"/../{TOKEN}x/",
        "/%2e%2e/",
    ],
)
def test_requests_without_the_token_are_refused(page, path):
    status, text = asked(page, path)
    assert status == 404
    assert "Bokeh" not in text


def test_a_part_of_the_token_is_not_enough(page):
    token = page.path.strip("/")
    assert asked(page, f"/{token[:-1]}/")[0] == 404
    assert asked(page, f"/{token.swapcase()}/")[0] == 404


@pytest.mark.parametrize(
    "path", ["etc/passwd", "static/../../../../../../etc/passwd", "admin", "rest", "static/"]
)
def test_other_paths_are_refused(page, path):
    status, text = asked(page, f"/{TOKEN}/{path}")
    assert status in {403, 404}
    assert "root:" not in text


@pytest.mark.parametrize(
    "host", ["evil.example:{port}", "127.0.0.1", "localhost:1", "[::1]:{port}", "0.0.0.0:{port}"]
)
def test_other_host_names_are_refused(page, host):
    assert asked(page, f"/{TOKEN}/", Host=host.format(port=page.port))[0] == 403
    assert upgrade(page, Host=host.format(port=page.port)) == 403


def test_websockets_need_the_token_and_the_origin_of_the_page(page):
    own = f"http://{page.netloc}"
    assert upgrade(page, Origin=own) == 101
    assert upgrade(page, Origin=own, path="/ws") == 404
    for origin in ("http://evil.example", f"https://{page.netloc}", "null", f"http://localhost:{page.port}"):
        assert upgrade(page, Origin=origin) == 403


def test_an_environment_variable_does_not_open_websockets_to_other_origins(page, monkeypatch):
    monkeypatch.setenv("BOKEH_ALLOW_WS_ORIGIN", "*")
    assert upgrade(page, Origin="http://evil.example") == 403


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address of this machine")
def test_it_listens_on_127_0_0_1_only(page):
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.2", page.port))


def test_two_explorers_do_not_meet(page, tmp_path):
    with served(open_table(tmp_path), "other") as (address, explorer):
        other = urlsplit(address)
        assert other.port != page.port
        assert other.path != page.path
        assert "<title>other</title>" in asked(other, f"/{TOKEN}/")[1]
        assert asked(other, page.path)[0] == 404
        assert asked(page, other.path)[0] == 404
        assert upgrade(other, Origin=f"http://{page.netloc}") == 403
        explorer.session.rename(0, "mine")
        assert "<title>data</title>" in asked(page, f"/{TOKEN}/")[1]
    with pytest.raises(ConnectionRefusedError):
        asked(other, "/")


# The command ---------------------------------------------------------------------------------------------


@contextmanager
def started(folder, *words):
    """Run `sepnmf explore` in a process of its own; the process and the address that it prints."""
    file = write_table(folder / "minerals.csv")
    command = [sys.executable, "-m", "sepnmf", "explore", str(file), "-r", "3", "--no-browser", *words]
    # A shell that runs the tests in the background has them, and their children, ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            yield process, re.search(r"http://\S+/", process.stdout.readline())[0]
        finally:
            process.kill()


def closes(page, seconds):
    """Whether a port refuses connections within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            socket.create_connection((page.hostname, page.port), timeout=seconds).close()
        except ConnectionRefusedError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(os.name == "nt", reason="sends a signal of POSIX")
def test_ctrl_c_ends_it_and_frees_the_port(tmp_path):
    with started(tmp_path) as (process, address):
        page = urlsplit(address)
        assert asked(page, f"/{TOKEN}/")[0] == 200
        idle = socket.create_connection((page.hostname, page.port))  # a browser that keeps its connection
        process.send_signal(signal.SIGINT)
        assert closes(page, 10)  # it takes a millisecond, but a busy machine is slow
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "The explorer has ended. What was exported is kept."
    assert "Traceback" not in said
    idle.close()
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind((page.hostname, page.port))


def test_a_port_that_is_taken_is_one_sentence(sepnmf_says, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        file = write_table(tmp_path / "minerals.csv")
        code, _, said = sepnmf_says("explore", file, "-r", 3, "--no-browser", "--port", port)
    assert code == 2
    assert said.splitlines()[-1].startswith(f"Port {port} cannot be used (")


def test_without_panel_the_command_says_what_to_install(sepnmf_says, tmp_path, monkeypatch):
    file = write_table(tmp_path / "minerals.csv")
    monkeypatch.setitem(sys.modules, "panel", None)
    assert sepnmf_says("explore", file)[::2] == (
        2,
        "panel is not installed: pip install 'sepnmf[explore]'.\n",
    )


def test_a_file_that_cannot_be_read_is_one_sentence(sepnmf_says, tmp_path):
    assert sepnmf_says("explore", tmp_path / "none.csv")[0] == 2
    (tmp_path / "bad.npy").write_bytes(b"no array")
    code, _, said = sepnmf_says("explore", tmp_path / "bad.npy", "--no-browser")
    assert code == 2
    assert len(said.splitlines()) == 1


def test_the_browser_is_opened_at_the_address(sepnmf_says, tmp_path, monkeypatch):
    opened = []

    def once(address):
        opened.append(address)
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", once)
    code, out, said = sepnmf_says("explore", write_table(tmp_path / "minerals.csv"), "-r", 3)
    assert code == 130
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", opened[0])
    assert opened[0] in out
    assert "Traceback" not in said


def test_explore_is_a_function_and_loads_panel_only_when_it_is_called():
    code = (
        "import sys, sepnmf, sepnmf.explorer, sepnmf.cli\n"
        "assert callable(sepnmf.explore) and sepnmf.explore is sepnmf.explorer.explore\n"
        "assert not {'panel', 'bokeh', 'tornado'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
