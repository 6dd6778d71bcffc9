"""The fenced blocks of a page, with the facts in the comment above a block.

<!-- needs: gpu -->      a console block that cannot be run here: it is parsed only
<!-- exit: 3 -->         the exit code of the block's last command, 0 by default
"""

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parent.parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts),
]
NEEDS = {
    "browser", "cluster", "container", "gpu", "library", "minutes", "network", "root", "stop",
    "terminal",
}  # fmt: skip
"""What a test machine may lack. "stop": it runs until it is stopped, "root": it installs packages,
"minutes": it takes so long, "library": one that is no part of vecchess."""
_COMMENT = re.compile(r"<!--\s*(needs|exit):\s*(\w+)\s*-->")


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: Path
    line: int
    """Of its first fence in the page, from 1."""
    language: str
    text: str
    needs: str = ""
    exit_code: int = 0

    @property
    def name(self) -> str:
        """Where it stands, for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """A console block's commands: what follows "$ ", over lines that end with a backslash."""
        found: list[str] = []
        goes_on = False
        for line in self.text.splitlines():
            if goes_on:
                found[-1] += "\n" + line
            elif line.startswith("$ "):
                found.append(line[2:])
            else:
                continue
            goes_on = line.endswith("\\")
        return found


def blocks_of(page: Path) -> list[Block]:
    """The blocks of ``page`` in order; raises ValueError for a need that has no name here."""
    return blocks_in(page, page.read_text())


def blocks_in(page: Path, text: str) -> list[Block]:
    """The same for a page whose text is at hand."""
    blocks, said = [], {}
    for token in MarkdownIt().parse(text):
        if token.type == "html_block":
            said |= dict(_COMMENT.findall(token.content))
        elif token.type == "fence" and token.map:
            needs = said.get("needs", "")
            if needs and needs not in NEEDS:
                raise ValueError(f"{page}:{token.map[0]}: nothing is known of the need {needs!r}")
            language = token.info.strip().split(" ")[0]
            code = int(said.get("exit", 0))
            blocks.append(Block(page, token.map[0] + 1, language, token.content, needs, code))
            said = {}
        elif token.type.endswith("_open"):
            said = {}
    return blocks
