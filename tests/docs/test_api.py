"""The page of the public API lists what there is, with a docstring each."""

import re
from importlib import import_module

import pytest

from tests.docs.blocks import ROOT

ROW = re.compile(r"^\| `(vecchess[\w.]*)` \| (.*?) \|", re.MULTILINE)
LISTED = {
    module: re.findall(r"`(\w+)`", names)
    for module, names in ROW.findall((ROOT / "docs" / "api.md").read_text())
}


@pytest.mark.parametrize("module", LISTED)
def test_every_public_name_exists(module: str) -> None:
    imported = import_module(module)
    assert LISTED[module]
    assert imported.__doc__
    for name in LISTED[module]:
        value = getattr(imported, name)
        if callable(value) and getattr(value, "__module__", "").startswith("vecchess"):
            assert value.__doc__, name


@pytest.mark.parametrize("module", ["vecchess.env", "vecchess.search"])
def test_packages_with_a_public_face_export_what_is_listed(module: str) -> None:
    assert sorted(import_module(module).__all__) == sorted(LISTED[module])
