"""The encoding of a text file by likelihood: the code page in which its bytes are words of one language.

Every page that can decode the bytes gets a cost in bits: a letter costs more the rarer it is in the language that fits best;
signs inside words, capitals behind small letters and letters of two alphabets in one word cost most. If the two cheapest readings
are close, the encoding is not known, and the file is refused.
"""

from __future__ import annotations

import codecs
import functools
import math
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from shoal.errors import UnreadableError

SAMPLE_BYTES = 1 << 18
MOST_WEIGHED = 1 << 14
"""Bytes of lines with letters beyond ASCII that are weighed."""
CLOSE, CLOSE_IF_FEW = 9.0, (13.5, 10.5)
"""Bits by which the cheapest reading must be better than the next; more if one or two texts are all there is to tell."""
REPEATS = 3
"""How often a text is weighed that many rows repeat: one repeated word must not decide alone."""
FEW = 4
"""So many different texts with letters beyond ASCII prove little, however often they occur."""


@dataclass(frozen=True)
class _Letters:
    """Letters by pages. ``single``: bits that a page of single bytes costs as a rare one, and the letters of its languages."""

    single: Mapping[str, tuple[float, Mapping[str, str]]]
    wide: Mapping[str, float]
    common: Mapping[str, frozenset[str]]


@functools.cache
def _letters() -> _Letters:
    page = tomllib.loads((Path(__file__).parents[1] / "data" / "letters.toml").read_text(encoding="utf-8"))
    single = {}
    for name, facts in page["single"].items():
        letters = facts["languages"]
        letters = page["languages"][letters] if isinstance(letters, str) else letters
        single[name] = (facts["bits"], {facts["only"]: letters[facts["only"]]} if "only" in facts else letters)
    return _Letters(single, page["wide"], {script: frozenset(signs) for script, signs in page["common"].items()})


_NOT_THAI = re.compile("[๐-๙][ก-ฮ]|[ก-๎][๐-๙]|(?<![ก-ฮิ-ู่-๎ั])[ัิ-ฺ็-๎]|[เ-ไ](?![ก-ฮ])")
"""Digits beside letters, vowels and tones without a consonant below them, leading vowels before none."""


class UnknownEncodingError(UnreadableError):
    """The bytes fit two encodings about equally well; ``readings`` are the likeliest ones."""

    readings: tuple[str, ...]


def wide_letters(head: bytes) -> bool:
    """Whether bytes may be UTF-16: many are zero, or the zeros (of digits, blanks and line ends) are all first or all second.

    >>> [wide_letters(t.encode("utf-16-be")) for t in ("a,b", "όνομα,ηλικία,πόλη\\n")], wide_letters(b"a,b," * 50 + bytes(20))
    ([True, True], False)
    """
    first, second = head[0::2].count(0), head[1::2].count(0)
    if b"\n" in head and b"\n\0" not in head and b"\0\n" not in head:
        return False  # some zero bytes in a text of single bytes
    return first + second > len(head) // 4 or (first + second > len(head) // 32 and not (first and second))


def guess_encoding(raw: bytes) -> str:
    """By the byte order mark; then UTF-16 by its zero bytes; then UTF-8 if it is valid; else the likeliest code page.

    >>> guess_encoding("naïve".encode("utf-8")), guess_encoding("Köln".encode("latin-1")), guess_encoding("5 €".encode("cp1252"))
    ('utf-8', 'latin-1', 'cp1252')
    """
    if raw.startswith(b"\xef\xbb\xbf"):
        return "utf-8"
    if raw.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    head = raw[:4096]
    if wide_letters(head):
        return "utf-16-le" if head[1::2].count(0) > head[0::2].count(0) else "utf-16-be"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(raw, final=len(raw) < SAMPLE_BYTES)  # a longer file may be cut in the middle of a character
    except UnicodeDecodeError:
        return _by_likelihood(raw)
    return "utf-8"


def _by_likelihood(raw: bytes) -> str:
    fields, texts = _odd_fields(raw)
    few = texts <= 2
    costs = _costs(b"\n".join(dict.fromkeys(fields) if few else fields))
    close = CLOSE_IF_FEW[texts - 1] if few and texts else CLOSE
    if not costs:
        return "latin-1"
    ranked = sorted(costs, key=lambda page: costs[page][0])
    best = ranked[0]
    rivals = [page for page in ranked[1:] if costs[page][1] != costs[best][1] and costs[page][0] - costs[best][0] < close]
    if rivals:
        readings = tuple(dict.fromkeys(_plain_name(page, raw) for page in (best, *rivals)))[:3]
        what = f"the encoding of the text is not certain: {' or '.join(readings)}."
        hint = f"Pass the right one: {' or '.join(f'--read encoding={name}' for name in readings)}."
        raise UnknownEncodingError(what, hint=hint, readings=readings)
    return _plain_name(best, raw)


def _plain_name(page: str, raw: bytes) -> str:
    """The page under the name that people use; Latin-1 where Windows-1252 adds nothing."""
    if page == "cp1252" and not any(0x80 <= b < 0xA0 for b in set(raw)):
        return "latin-1"
    return {"iso8859_2": "iso-8859-2", "iso8859_5": "iso-8859-5", "iso8859_6": "iso-8859-6", "iso8859_7": "iso-8859-7"}.get(
        page, page.replace("_", "-")
    )


def rests_on_few(raw: bytes) -> bool:
    """Whether the encoding of bytes that are not UTF-8 is guessed from a few texts.

    >>> [rests_on_few(f"Łódź;{other}".encode("iso-8859-2")) for other in ("Łódź", "Kraków", "Kraków;Gdańsk;Poznań;Żary")]
    [True, True, False]
    """
    return _odd_fields(raw)[1] <= FEW


def _odd_fields(raw: bytes) -> tuple[list[bytes], int]:
    """The fields that have bytes beyond ASCII, up to a limit, and how many different texts they are."""
    fields, words, size = list[bytes](), Counter[bytes](), 0
    for line in raw.splitlines()[: -1 if len(raw) >= SAMPLE_BYTES else None]:
        for field in () if line.isascii() else re.split(rb"[,;\t]", line):  # never a second byte of a letter of East Asia
            word = field if field.isascii() else re.sub(rb"[\d\s]+", b"", field)
            if not word.isascii() and words[word] < REPEATS:
                words[word] += 1
                fields.append(field)
                size += len(field)
        if size > MOST_WEIGHED:
            break
    return fields, len(words)


def _costs(raw: bytes) -> dict[str, tuple[float, str]]:
    """Of each page that can decode the bytes its cost in bits, and the text."""
    costs = {}
    for page, (prior, languages) in _letters().single.items():
        text = _decode(raw, page)
        if text is not None:
            costs[page] = (prior + _cost(_without_punctuation(text), languages, script=page not in _LATIN_PAGES), text)
    for page, rare in _letters().wide.items():
        text = _decode(raw, page)
        if text is not None:
            beside = sum((a > "\x7f" and b in _ASCII_SECOND) or (b > "\x7f" and a in _ASCII_SECOND) for a, b in pairwise(text))
            letters = Counter(c for c in text if c > "\x7f")
            cost = sum(n * _wide_cost(c, page) for c, n in letters.items())
            cost += 8.0 * len(_NOT_THAI.findall(text)) if page == "cp874" else 0.0
            costs[page] = (rare + cost + beside * (6.0 if page == "cp874" else 3.0), text)
    return costs


_ASCII_SECOND = frozenset(map(chr, (*range(0x40, 0x5C), *range(0x5D, 0x7F))))
"""Letters and signs that are second bytes of East Asian characters, and seldom stand beside a letter of another script."""
_PUNCTUATION = re.compile(r"(?<=[A-Za-z])’(?=(?:s|t|d|m|ll|re|ve)\b)|(?<=\s)[–—](?=\s)|(?<=\d)–(?=\d)")
_QUOTES = re.compile(r"(?<!\w)“(?=[A-Za-z\d])|(?<=[A-Za-z.!?])”(?!\w)")
"""Signs of word processors in their places (``Institution’s``, ``5–7``, ``“so”``): they are not letters of another page."""


def _without_punctuation(text: str) -> str:
    text = _PUNCTUATION.sub("-", text)
    return _QUOTES.sub("-", text) if text.count("“") == text.count("”") else text


_LATIN_PAGES = ("cp1252", "cp1250", "iso8859_2", "cp1254", "cp1257", "mac_roman", "cp850", "cp852")


def _decode(raw: bytes, page: str) -> str | None:
    try:
        text = raw.decode(page)
    except UnicodeDecodeError:
        return None
    return None if any("\x7f" <= c < "\xa0" for c in set(text)) else text


def _cost(text: str, languages: Mapping[str, str], *, script: bool) -> float:
    """Bits of the text in the language that fits best, or in a mixture of all of them."""
    letters = Counter(c if c == "İ" else c.lower() for c in text if c > "\x7f" and c.isalpha())  # the small one is two letters
    signs = _signs(text, script=script)
    mixed = frozenset("".join(languages.values()))
    best = sum(n * (7.0 if c in mixed else 11.0) for c, n in letters.items())
    for alphabet in languages.values():
        bits = _bits(alphabet)
        best = min(best, sum(n * bits.get(c, 11.0) for c, n in letters.items()))
    return best + signs


@functools.lru_cache(maxsize=64)
def _bits(alphabet: str) -> dict[str, float]:
    """Bits of each letter: the rarer, the more."""
    shares = [1 / (rank + 2) for rank in range(len(alphabet))]
    return {c: -math.log2(share / sum(shares)) for c, share in zip(alphabet, shares, strict=True)}


_VOWELS = frozenset("aeiouáéíóúüãõâêô")
_INSIDE, _OPENING = frozenset("’'·­-"), frozenset("“‘«„¿¡€£§©°№ºª•…–—\xa0")
_NEVER_BEHIND, _NEVER_BEFORE = frozenset("§¡¿‚„«”¼½¾"), frozenset("©®°£€¥§¶ºª")
"""Signs that never stand right behind or before a letter; a closing quote does, behind an opening one (``_QUOTES``)."""
_BEFORE_DIGITS, _BEHIND_DIGITS = frozenset("€£§°…"), frozenset("¼½¾")


def _signs(text: str, *, script: bool) -> float:
    """Bits of what stands beside letters: signs inside words, capitals behind small ones, two alphabets in one word."""
    cost, before = 0.0, " "
    for c, after in zip(text, text[1:] + " ", strict=True):
        if c > "\x7f" and not c.isalpha():
            cost += _sign_bits(before, c, after, script=script)
        elif c > "\x7f" or before > "\x7f":
            cost += _letter_bits(before, c, after, script=script)
        before = c
    return cost


def _sign_bits(before: str, c: str, after: str, *, script: bool) -> float:
    """Bits of a sign beyond ASCII between two characters."""
    behind, ahead, sort = before.isalpha(), after.isalpha(), unicodedata.category(c)
    fits = c in _INSIDE if behind and ahead else not ahead or c in _OPENING
    fits = fits and not (c in _BEFORE_DIGITS and ahead) and not (c in _BEHIND_DIGITS and behind)
    odd_things = {
        "a sign behind a sign": 6.0 * (before > "\x7f" and not behind),
        "a letter of the script read as a sign": 8.0 * (script and c in "’¶" and ahead and not behind),
        "a vowel sign of another script": 8.0 * (sort == "Mn" and before < "\x7f"),
        "never beside a letter": 10.0 * ((c in _NEVER_BEHIND and behind) or (c in _NEVER_BEFORE and ahead)),
        "rare in texts": 6.0 * (sort in ("Sm", "Sk", "So", "Po") and c not in _OPENING),
    }
    return (12.0 if not fits else 4.0 if c in _OPENING else 6.0) + sum(odd_things.values())


def _letter_bits(before: str, c: str, after: str, *, script: bool) -> float:
    """Bits of a letter between two characters, where it or the one before is beyond ASCII; also of other signs of ASCII."""
    odd, behind, ahead = c > "\x7f", before.isalpha(), after.isalpha()
    bits = 0.0
    if odd and not behind and not ahead:
        bits += 4.0  # a letter alone
    elif c in "ºª" and ahead:
        bits += 10.0
    elif c.isalpha() and behind:
        bits += 5.0 if c.isupper() and before.islower() else 0.0
        bits += 12.0 if script and odd != (before > "\x7f") else 3.0 if not script and odd and before > "\x7f" else 0.0
    if (c in "þÞ" and not ahead) or (c in "ðÐ" and not behind):
        bits += 6.0  # Icelandic words do not end or begin so; Turkish and Lithuanian ones do with the letters of these bytes
    if (c in "ñÑ" and after.lower() not in _VOWELS) or (c in "ìù" and ahead):
        bits += 6.0  # nor Spanish and Italian ones; Polish and Czech ones do (Toruń, Poznań, město, důl)
    if (c == "ç" and after in "eiéèêí" and not script) or before.lower() + c in ("aä", "oö", "uü"):
        bits += 6.0  # no cedilla is needed before these vowels, but in Turkish and Albanian; no language doubles these
    return bits


def _wide_cost(c: str, page: str) -> float:
    """Bits of a character of East Asia or Thailand."""
    code, common = ord(c), _letters().common
    if page == "cp874":
        return 5.5 if c in common["thai"] else 10.0 if 0x0E00 <= code < 0x0E80 else 13.0
    if c in common["han"]:
        return 9.5
    if page == "cp949" and 0xAC00 <= code < 0xD7A4:
        return (
            8.0
            if c in common["hangul"]
            else 13.0
            if 0xB0 <= c.encode("cp949")[0] <= 0xC8 and c.encode("cp949")[1] > 0xA0
            else 16.0
        )
    if 0x3040 <= code < 0x3100:
        return 8.0 if page in ("cp932", "euc_jp") else 13.0
    if 0xFF61 <= code < 0xFFA0:
        return 11.0
    if 0x4E00 <= code < 0xA000:
        lead = c.encode(page)[0]
        first = {"gb18030": (0xB0, 0xD7), "big5": (0xA4, 0xC6), "cp932": (0x88, 0x97), "euc_jp": (0xB0, 0xCF), "cp949": (0, 0)}[
            page
        ]
        return 12.5 if first[0] <= lead <= first[1] else 16.5
    return 12.0 if 0x3000 <= code < 0x3040 or code > 0xFF00 else 17.0
