"""What the readers of a written file share: what they call unreadable, and where the wanted columns stand."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path

from shoal.errors import TamperError, UnreadableError

BROKEN = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, SystemError,
    SyntaxError, NotImplementedError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What readers of packed files raise on bytes that nobody wrote on purpose, besides Arrow's own errors."""


def unreadable(path: Path, error: BaseException) -> UnreadableError:
    """The error that tells of a file which cannot be read, and nothing of what is in it."""
    return UnreadableError(
        f"the written file '{path.name}' cannot be read: {type(error).__name__}.", hint="Ask the publisher for the release again."
    )


def places(header: Sequence[str], columns: Sequence[str], name: str) -> list[int]:
    """Where each wanted column stands; a name the formula guard put a quotation mark before is found too."""
    plain = {h: i for i, h in reversed(list(enumerate(header)))}
    for h, i in [(h[1:], i) for h, i in plain.items() if h.startswith("'")]:
        plain.setdefault(h, i)
    lacking = [c for c in columns if c not in plain]
    if lacking:
        raise TamperError(f"'{name}' lacks {len(lacking)} columns that the certificate names: {', '.join(lacking[:5])}.")
    return [plain[c] for c in columns]


def logical(found: Sequence[str], known: Collection[str]) -> list[str]:
    """Names of columns as the table has them: without the mark that a CSV puts before a name that would run as a formula.

    >>> logical(["age", "'=sum", "'quoted"], ["age", "=sum", "'quoted"])
    ['age', '=sum', "'quoted"]
    """
    return [name if name in known or name[1:] not in known else name[1:] for name in found]
