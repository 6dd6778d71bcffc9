"""How a network is computed: the name of a backend, or a factory that opens one.

cpu    my_module:open_my_backend    bench.fake_device:open_fake?latency=2ms&lost_after=500
"""

import re
from typing import Annotated

from pydantic import AfterValidator

BACKENDS = ("auto", "cpu", "cuda", "torch", "reference")
MOST_SLOTS = 1 << 20


def is_factory(backend: str) -> bool:
    """True for ``module:factory``, with or without settings."""
    return ":" in backend.partition("?")[0]


def parse_factory(backend: str) -> tuple[str, str, dict[str, str]]:
    """Module, name and settings of "module:factory?key=value&key=value"; raises ValueError."""
    path, _, query = backend.partition("?")
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", path) is None:
        raise ValueError(f"{path} is not module:factory")
    settings: dict[str, str] = {}
    for pair in query.split("&") if query else []:
        key, equals, value = pair.partition("=")
        if not equals or key in settings:
            raise ValueError(f"{backend}: {key}: give key=value, each key once")
        settings[key] = value
    module, _, factory = path.partition(":")
    return module, factory, settings


def _check_name(backend: str) -> str:
    """Validator: the name of a backend, or the address of a factory."""
    if is_factory(backend):
        parse_factory(backend)
    elif backend not in BACKENDS:
        names = ", ".join(repr(name) for name in BACKENDS)
        raise ValueError(f"should be one of {names}, or module:factory")
    return backend


BackendName = Annotated[str, AfterValidator(_check_name)]
"""A backend as above, for settings."""
