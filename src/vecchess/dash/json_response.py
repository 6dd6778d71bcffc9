"""JSON answers with any text."""

import json
from typing import Any

from starlette.responses import JSONResponse


class SafeJSONResponse(JSONResponse):
    """Plain values as JSON. Bytes of file names that are not UTF-8 become question marks, so that
    one such name does not make the whole answer fail."""

    def render(self, content: Any) -> bytes:
        """As JSON."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")
