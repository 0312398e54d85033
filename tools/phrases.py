"""Phrases that a technical editor would rewrite, counted in the source, the templates and the documentation.

    python tools/phrases.py                 every file: prints file:line, the phrase and what to write instead
    python tools/phrases.py docs/faq.md     only these files
    python tools/phrases.py --count         only the files with most of them, and the total

Fails if there are more than ``MOST`` phrases. Text between backticks and fenced blocks of the documentation do not count.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST = 30
"""May only shrink."""
NUMBER_OF_ONE = r"1 (?:more )?(?:columns|rows|warnings|people|records|steps)"
INSTEAD: dict[str, str] = {
    r"(?:is|are|was|were|be|been|being) told": "is reported, is shown, warns",
    r"(?:is|are|was|were|be|been|being) said": "is specified, is stated",
    r"it tells": "it shows, it reports",
    r"(?<!there )(?:is|are) no (?!longer\b|less\b|more\b)\w+": "is not a …, there is no …",
    r"anew": "again, on every call",
    r"(?:written|spelled) wrongly": "invalid",
    r"wrongly (?:written|spelled)": "invalid",
    r"made coarser": "generalized",
    r"rightly": "correctly",
    r"(?:foretells?|foretold)": "predicts, predicted",
    r"bettered": "improved",
    r"the former way": "the previous implementation",
    r"of whom\w*": "whose, of any",
    r"what (?:is|was) asked": "the requirement",
    r"(?:is|are) asked of": "is required of",
    r"lets? go of": "releases, drops",
    r"the way back": "the inverse mapping",
    r"a mistake in Shoal": "an internal error (bug) in Shoal",
    r"(?:carry|carried|carries|carrying) out": "apply, run",
    r"whatever": "any, for any",
    r"whoever": "anyone who, the person who",
    r"(?:a )?lent tokens?": "a delegated token",
    r"the eighteen": "the Safe Harbor identifiers",
    NUMBER_OF_ONE: "1 column, 1 row",
}
PATTERN = re.compile(
    "|".join(rf"(?P<p{i}>\b{p}\b)" for i, p in enumerate(INSTEAD)) + r"|(?P<where>(?:^|\. )Where an?\b)", re.IGNORECASE
)
ROUGH = [re.compile(p.lower()) for p in (*INSTEAD, r"where an?\b")]
"""Without the boundary in front, texts in small letters are searched ten times as fast: most files hold none."""
QUOTED = re.compile(r"``[^`\n]*``|`[^`\n]*`")
FILES = (
    "src/**/*.py",
    "src/**/*.html",
    "src/**/*.j2",
    "docs/**/*.md",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)


def phrases(text: str, *, page: bool) -> Iterator[tuple[int, str, str]]:
    """Line number, phrase and what to write instead; ``page`` leaves out fenced blocks, which show code or printed text."""
    small = text.lower()
    if not any(p.search(small) for p in ROUGH):
        return
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if page and line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        for match in PATTERN.finditer(QUOTED.sub(lambda m: " " * len(m[0]), line)):
            kind = match.lastgroup or ""
            advice = "If a …, When a …" if kind == "where" else list(INSTEAD.values())[int(kind[1:])]
            yield number, match[0].strip(), advice


def main(arguments: Sequence[str]) -> int:
    named = [Path(a).resolve() for a in arguments if not a.startswith("-")]
    files = named or [f for pattern in FILES for f in sorted(ROOT.glob(pattern))]
    counts: dict[str, int] = {}
    for file in files:
        name = str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else str(file)
        for line, phrase, advice in phrases(file.read_text(encoding="utf-8"), page=file.suffix == ".md"):
            counts[name] = counts.get(name, 0) + 1
            if "--count" not in arguments:
                print(f"{name}:{line}: '{phrase}'; write: {advice}")
    if "--count" in arguments:
        for name, count in sorted(counts.items(), key=lambda item: -item[1])[:25]:
            print(f"{count:5d} {name}")
    total = sum(counts.values())
    print(f"{total} phrases to rewrite in {len(counts)} files (at most {MOST})")
    return int(total > MOST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
