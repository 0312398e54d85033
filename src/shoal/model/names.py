"""Names of people, domains and holders: one rule for what may stand in them, and for when two are taken for one another.

Two names are alike if they have the same skeleton (UTS 39): compatibility forms and case do not matter, invisible characters are
dropped, and every letter stands for the one it looks like, in any script. Here ``0`` also passes for ``o``, and ``1`` and ``i``
for ``l``.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from importlib.resources import files

from shoal.errors import UsageError

_IGNORED = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x2800, 0x2800),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)
"""Characters that show nothing although they are letters or marks."""
_MORE = str.maketrans({"0": "o", "1": "l", "i": "l"})


def _is_invisible(character: str) -> bool:
    return character in _IGNORED or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def require_plain(name: str, what: str) -> str:
    """Refuse a new name with invisible or compatibility characters, or with blanks around it or two together.

    >>> require_plain("Zoë de Vries", "actor")
    'Zoë de Vries'
    """
    if any(_is_invisible(c) for c in name):
        raise UsageError(f"the name of the {what} has invisible characters.", hint="Type it again, without copying it.")
    if unicodedata.normalize("NFKC", name) != name:
        raise UsageError(
            f"the name of the {what} has characters that stand for others (wide letters, ligatures, separate accents).",
            hint="Type it with the letters of a keyboard.",
        )
    if name != " ".join(name.split()):
        raise UsageError(f"the name of the {what} has blanks around it or two together.", hint="Use single blanks between words.")
    return name


@lru_cache(maxsize=1)
def _table() -> dict[int, str]:
    lines = (files("shoal.model") / "lookalikes.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("\t") for line in lines if not line.startswith("# "))
    return {ord(letter): like for like, _, letters in pairs for letter in letters}


@lru_cache(maxsize=10_000)
def skeletons(name: str) -> frozenset[str]:
    """What a name looks like, in small letters and as it is written; two names that share one may be taken for one another.

    >>> skeletons("A1do") & skeletons("AIdo") & skeletons("\u0410ld\u043e") == skeletons("Aldo")
    True
    """
    visible = "".join(c for c in unicodedata.normalize("NFKC", name) if not _is_invisible(c))
    plain = " ".join(visible.split())
    return frozenset(_skeleton(text) for text in (plain, unicodedata.normalize("NFKC", plain.casefold())))


def _skeleton(text: str) -> str:
    for _ in range(2):  # what a letter looks like may itself look like another one
        text = unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).translate(_table()).casefold())
    return text.translate(_MORE)


def alike(one: str, other: str) -> bool:
    """Whether two names may be taken for one another.

    >>> alike("Anna", "anna"), alike("Rita", "R\u0131ta"), alike("Anna", "Ann\u0251"), alike("Ana", "Anna")
    (True, True, True, False)
    """
    return not skeletons(one).isdisjoint(skeletons(other))
