"""A browser for the tests of pages. Not one a session: its event loop would be in the way of
others."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.dash.serving import CHROMIUM_FLAGS, find_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = find_chromium()
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield found
        found.close()
