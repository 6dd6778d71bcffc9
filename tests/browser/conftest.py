"""The browser of the dashboard's tests."""

from tests.dash.conftest import browser

__all__ = ["browser"]
