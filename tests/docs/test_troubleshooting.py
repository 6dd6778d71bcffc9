"""The symptoms that the troubleshooting page quotes are what vecchess prints."""

import re

from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "troubleshooting.md"
OF_OTHERS = (
    "No space left",
    "Illegal instruction",
    "fork() called",
    "shared memory object",
    "Bus error",
)
"""What the system, GNU's OpenMP and Docker say."""
FEWEST_WORDS = 3


def printed() -> str:
    """All sources, with texts that stand in several literals joined and values left out."""
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "cli").rglob("*.py")]
    text = "\n".join(file.read_text() for file in files)
    joined = re.sub(r'"\s*\n\s*f?"', "", text)
    return re.sub(r"\{[^{}'\"]*\}", "*", joined)


def fragments(symptom: str) -> list[str]:
    """The words between what differs from case to case: numbers, names, paths."""
    parts = re.split(r"\.\.\.|\S*[\d/_]\S*|\w+ = |\([^)]*\)|SIGKILL|[;:,]", symptom)
    return [part.strip() for part in parts if len(part.split()) >= FEWEST_WORDS]


def symptoms() -> list[str]:
    headings = [line for line in PAGE.read_text().splitlines() if line.startswith("### ")]
    quoted = [text for line in headings for text in re.findall(r'"(.+?)"(?=,|:|$| \()', line)]
    return [text for text in quoted if not any(other in text for other in OF_OTHERS)]


def test_symptoms_are_what_vecchess_prints() -> None:
    sources = printed()
    found = [(text, part) for text in symptoms() for part in fragments(text)]
    assert len(found) > 20
    assert [pair for pair in found if pair[1] not in sources] == []
