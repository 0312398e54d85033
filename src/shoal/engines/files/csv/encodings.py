"""Guessing the encoding of a text file from its beginning."""

from __future__ import annotations

import codecs
import re

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


def _western_or_central(raw: bytes) -> str:
    """Latin-1, Windows-1252 or Windows-1250: the one in which no sign stands inside a word.

    >>> guess_encoding("Zażółć gęślą jaźń; Łódź".encode("cp1250"))
    'cp1250'
    """
    if _NOT_CP1252.search(raw):
        western = "latin-1"
    else:
        western = "cp1252" if _C1.search(raw) else "latin-1"
    central = raw.decode("cp1250", errors="replace")
    strange = len(_BESIDE_LETTERS.findall(raw.decode("cp1252", errors="replace")))
    return "cp1250" if strange > 2 * len(_BESIDE_LETTERS.findall(central)) and strange > 1 else western
