"""An answer in JSON, whatever text is in it."""

import json
from typing import Any

from starlette.responses import JSONResponse


class SafeJSONResponse(JSONResponse):
    """Plain values. Names of files may hold bytes that are no text in UTF-8: these become question
    marks, or one such name would hide all others."""

    def render(self, content: Any) -> bytes:
        """As JSON."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")
