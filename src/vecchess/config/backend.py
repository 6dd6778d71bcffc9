"""How a network is computed: the name of a backend, or a factory that opens one.

cpu    my_module:open_my_backend    bench.fake_device:open_fake?latency=2ms&lost_after=500
"""

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator

from vecchess.errors import ConfigError
from vecchess.spec import Spec, is_function

OwnBackend = Literal["auto", "cpu", "cuda", "reference"]
BACKENDS: tuple[str, ...] = get_args(OwnBackend)


def is_factory(backend: str) -> bool:
    """Whether ``backend`` is no name, but a factory with or without settings."""
    return ":" in backend


def _check_name(backend: str) -> str:
    """Validator: the name of a backend, or a factory."""
    if is_factory(backend):
        try:
            spec = Spec.parse(backend)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        if not is_function(spec.head):
            raise ValueError(f"{spec.head} is not module:factory")
    elif backend == "torch":
        raise ValueError("should be 'reference', as plain torch is called now")
    elif backend not in BACKENDS:
        names = ", ".join(repr(name) for name in BACKENDS)
        raise ValueError(f"should be one of {names}, or module:factory")
    return backend


BackendName = Annotated[str, AfterValidator(_check_name)]
"""A backend as above, for settings."""
