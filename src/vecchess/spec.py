"""What users name on the command line together with its settings: a head, and what follows "?".

    net:FILE?search=gumbel&sims=64
    module:package.module:make?channels=64
    my_module:open_my_backend?latency=2ms

Values are texts, in the escapes of a URL where they hold "&" or "%"; a "?" of the head is %3F.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import quote, unquote

from vecchess.errors import ConfigError
from vecchess.safe_parse import clip_line, is_count

_ESCAPED = "%3F"
_FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")


def is_function(text: str) -> bool:
    """Whether ``text`` has the form ``module:attribute``; nothing is imported."""
    return _FUNCTION.fullmatch(text) is not None


@dataclass(frozen=True)
class Spec:
    """A head and its settings, in the order in which they were given."""

    head: str
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The parts of ``text``; raises ConfigError for a setting given twice, or without "="."""
        head, _, query = text.partition("?")
        settings: dict[str, str] = {}
        for pair in query.split("&") if query else []:
            name, equals, value = pair.partition("=")
            if not (name and equals):
                hint = "write NAME=VALUE, and %3F for a ? in a name of a file"
                raise ConfigError(f"{text}: {pair!r} is no setting: {hint}")
            if name in settings:
                raise ConfigError(f"{text}: {name} is given twice")
            settings[name] = unquote(value)
        return cls(head.replace(_ESCAPED, "?"), settings)

    def __str__(self) -> str:
        """The text that ``parse`` reads."""
        pairs = [f"{name}={quote(value, safe='/:,.')}" for name, value in self.settings.items()]
        return self.head.replace("?", _ESCAPED) + ("?" + "&".join(pairs) if pairs else "")

    def split(self, names: Collection[str]) -> tuple[dict[str, str], Self]:
        """The settings called ``names``, and a spec with all others."""
        own = {name: value for name, value in self.settings.items() if name in names}
        rest = {name: value for name, value in self.settings.items() if name not in names}
        return own, type(self)(self.head, rest)

    def whole_number(self, name: str, least: int, most: int) -> int | None:
        """The setting ``name`` as a number, None where it is not given; raises ConfigError."""
        text = self.settings.get(name)
        if text is None:
            return None
        if not (text.isascii() and is_count(text) and least <= int(text) <= most):
            raise ConfigError(
                f"{clip_line(self)}: {name} should be a number from {least} to {most}"
            )
        return int(text)

    def choice(self, name: str, values: Sequence[str]) -> str:
        """The setting ``name``, one of ``values``, the first where it is not given; raises
        ConfigError."""
        text = self.settings.get(name, values[0])
        if text not in values:
            raise ConfigError(f"{self}: {name} should be {' or '.join(values)}")
        return text
