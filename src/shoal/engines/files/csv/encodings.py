"""Guessing the encoding of a text file from its beginning."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Sequence

SAMPLE_BYTES = 1 << 18

_C1 = re.compile(rb"[\x80-\x9f]")  # control characters in Latin-1, the euro sign and quotes in Windows-1252
_NOT_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


def guess_encoding(raw: bytes) -> str:
    """By the byte order mark; then UTF-16 by its zero bytes; then UTF-8 if it is valid; else that of Western spreadsheets.

    >>> guess_encoding("naïve".encode("utf-8")), guess_encoding("naïve".encode("latin-1")), guess_encoding("5 €".encode("cp1252"))
    ('utf-8', 'latin-1', 'cp1252')
    """
    if raw.startswith(b"\xef\xbb\xbf"):
        return "utf-8"
    if raw.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    head = raw[:4096]
    if head.count(b"\x00") > len(head) // 4:
        return "utf-16-le" if head[1::2].count(0) > head[0::2].count(0) else "utf-16-be"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(raw, final=len(raw) < SAMPLE_BYTES)  # a longer file may be cut in the middle of a character
    except UnicodeDecodeError:
        return _western_or_central(raw)
    return "utf-8"


_BESIDE_LETTERS = re.compile(r"(?<=[^\W\d_])[^\w\s.,;:'\"!?()\[\]{}/&+\-–—’@_|*=%<>#\\^~]|[¹³¿£¥¼½¾](?=[^\W\d_])")


_WESTERN = (
    *("àâæçéèêëîïôœùûüÿ", "äöüß", "áéíñóúü", "áâãàçéêíóôõúü", "àèéìíîòóùú", "åäæöøéü", "áæðéíóöþúý", "áéëïóöüèê"),
    *("àçèéíïòóúü", "äöåõüšž"),
)
"""Letters beyond a to z of French, German, Spanish, Portuguese, Italian, Scandinavian languages, Icelandic, Dutch, Catalan, and
Finnish with Estonian."""
_CENTRAL = ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîşţ", "çë")
"""Those of Polish, Czech, Slovak, Hungarian, the South Slavic languages, Romanian and Albanian."""


def _western_or_central(raw: bytes) -> str:
    """Latin-1, Windows-1252 or Windows-1250: the one in which no sign stands inside a word, and whose letters one language has.

    >>> guess_encoding("Zażółć gęślą jaźń; Łódź".encode("cp1250")), guess_encoding("Řehoř, Děčín, Plzeň".encode("cp1250"))
    ('cp1250', 'cp1250')
    """
    if _NOT_CP1252.search(raw):
        western = "latin-1"
    else:
        western = "cp1252" if _C1.search(raw) else "latin-1"
    west, central = (raw.decode(page, errors="replace") for page in ("cp1252", "cp1250"))
    strange, still = (len(_BESIDE_LETTERS.findall(text)) for text in (west, central))
    if strange > 2 * still and strange > 1:
        return "cp1250"
    apart = sum(a != b and b.isalpha() for a, b in zip(west, central, strict=True))
    foreign = _foreign(west, _WESTERN)
    return "cp1250" if apart > 1 and foreign > 1 and foreign > 10 * _foreign(central, _CENTRAL) else western


def _foreign(text: str, alphabets: Sequence[str]) -> int:
    """Letters beyond a to z that the best of these languages does not have."""
    found = Counter(c for c in text.lower() if c > "\x7f" and c.isalpha())
    return min(sum(n for c, n in found.items() if c not in letters) for letters in alphabets)
