"""What several test files need."""

import os
import re
import shutil
import sys

import pytest

# The matrices are small and there is a process for every core, so that further threads of BLAS only wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture
def sepnmf_says(monkeypatch, capsys, tmp_path):
    """Run a command in an empty folder: exit code, standard output, standard error."""
    from sepnmf.cli import run

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sepnmf.cli._progress.FIRST_LINE", 1e9)  # no lines of progress on a slow machine

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["sepnmf", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            run()
        out, err = capsys.readouterr()
        return end.value.code, out, err

    return call


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium")
    if chromium is None:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("Chromium is not installed: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as driver:
        chrome = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"], headless=True)
        yield chrome
        chrome.close()


@pytest.fixture(scope="module")
def visit(browser, tmp_path_factory):
    """Open contents in a new tab; whatever it asks of the network or complains about fails the test."""
    pages = []

    from sepnmf.report import write_report

    def open_page(contents, **options):
        path = write_report(tmp_path_factory.mktemp("report") / "report.html", contents)
        page = browser.new_page(
            **({"viewport": {"width": 1100, "height": 800}, "reduced_motion": "reduce"} | options)
        )
        page.set_default_timeout(120_000)  # a busy machine is slow, not wrong
        page.complaints, page.requests = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (page.complaints.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: page.requests.append(request.url))
        page.route(re.compile("^(?!file:|data:)"), lambda route: route.abort())
        page.goto(path.as_uri())
        pages.append((page, path.as_uri()))
        return page

    yield open_page
    for page, address in pages:
        assert not page.complaints
        assert {url for url in page.requests if not url.startswith("data:image/png")} == {address}
        page.close()
