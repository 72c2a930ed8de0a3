"""A real Chromium, the one of the system, and what a page did in it."""

import shutil
from dataclasses import dataclass, field

import pytest
from pages import learn

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: make large")
    pytest.importorskip("vl_convert", reason="needs the extra `report`")
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page that was loaded from disk, and everything it should not have done."""

    page: object
    messages: list = field(default_factory=list)
    requests: list = field(default_factory=list)
    dialogs: list = field(default_factory=list)

    def __getattr__(self, name):
        return getattr(self.page, name)

    def text(self, selector):
        return self.page.inner_text(selector)

    def check_quiet(self):
        assert self.messages == []
        assert len(self.requests) == 1  # the page itself
        assert self.dialogs == []


@pytest.fixture(scope="session")
def open_page(browser):
    """Open a file; width, colour scheme and the like are those of a browser context. The page that
    was opened before is closed, unless it was to be kept."""
    contexts = []

    def opened(path, keep=False, **options):
        while contexts:
            contexts.pop().close()
        context = browser.new_context(**options)
        context.set_default_timeout(120_000)  # a busy machine is no failure
        if not keep:
            contexts.append(context)
        found = Opened(context.new_page())
        found.page.on("console", lambda message: found.messages.append(message.text))
        found.page.on("pageerror", lambda error: found.messages.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))

        def dismiss(dialog):
            found.dialogs.append(dialog.message)
            dialog.dismiss()

        found.page.on("dialog", dismiss)
        found.page.goto(path.resolve().as_uri())
        found.page.evaluate("() => window.voltReport.ready")
        return found

    return opened


@pytest.fixture(scope="session")
def learned(tmp_path_factory):
    """A folder and its result, by default settings."""
    return learn(tmp_path_factory.mktemp("learned"))


@pytest.fixture(scope="module")
def page(learned, open_page):
    size = {"width": 1200, "height": 900}
    return open_page(learned[0] / "report.html", keep=True, viewport=size)
