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
import unicodedata
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

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

_LATIN = {
    "fr": "éèàêçùôîâïëûœüÿæ", "de": "üäöß", "es": "óíáéñúü", "pt": "ãçáéíõóêâúàôü", "it": "àèòùìéíîóú", "sv": "äöåéøæü",
    "da": "åøæéöäü",
    "is": "íáðóéöúýþæ", "nl": "ëéïèöüóê", "ca": "óàéíèçúòïü", "et": "äõöüšž",
}  # fmt: skip
_CENTRAL = {
    "pl": "łóążęśćńź", "cs": "íáéýřžčěšůúňťďó", "sk": "áíéýčšžúľôťňďäóŕĺ", "hu": "éáóöőíüúű", "sl": "čšžćđ", "ro": "ăşţâî",
    "sq": "ëç",
    "de": "üäöß",
}  # fmt: skip
_RUSSIAN = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"
_CYRILLIC = {
    "ru": _RUSSIAN,
    "uk": "оанивтерсілкудмпзяьбгйчхцжїющєфшґ",
    "bg": "аоиентрсвлдкпмзягбуъчцжщхюфшйь",
    "sr": "аоиентрсуједвкмплзгбшћчјцхжњђљџф",
}
_GREEK = {"el": "αοιετνσηυρπκμλςάίόέδήγώωθχφύβξζψϊϋΐΰ"}
_PAGES: dict[str, tuple[float, Mapping[str, str]]] = {
    "cp1252": (0, _LATIN),
    "cp1250": (8, _CENTRAL),
    "iso8859_2": (11, _CENTRAL),
    "cp1251": (8, _CYRILLIC),
    "koi8_r": (11, {"ru": _RUSSIAN}),
    "koi8_u": (12, {"uk": _CYRILLIC["uk"]}),
    "cp866": (13, {"ru": _RUSSIAN}),
    "mac_cyrillic": (12, _CYRILLIC),
    "iso8859_5": (16, _CYRILLIC),
    "cp1253": (8, _GREEK),
    "iso8859_7": (11, _GREEK),
    "cp1254": (8, {"tr": "ışüğöçİâî"}),
    "cp1255": (8, {"he": "יוהלאתמרבשנםקדפחעצךטגסןזכףץ"}),
    "cp1256": (8, {"ar": "اليمونرتبهدةسعكفحقشطجأصىخضغزذثءئظإآؤپچژگ"}),
    "iso8859_6": (12, {"ar": "اليمونرتبهدةسعكفحقشطجأصىخضغزذثءئظإآؤ"}),
    "cp1257": (9, {"lv": "āīēšņļūžķģč", "lt": "ėšųžįąūčę", "et": "äõöüšž"}),
    "mac_roman": (14, _LATIN),
    "cp850": (13, _LATIN),
    "cp852": (15, _CENTRAL),
}
"""Single-byte pages: bits that they cost as rare ones, and the letters beyond ASCII of their languages, common ones first."""
_WIDE = {"gb18030": 8, "big5": 9, "cp932": 8, "euc_jp": 11, "cp949": 8, "cp874": 8}
_COMMON_HAN = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能子那得于着下自之年过发后作里用道行所然家种事成方多经去法学如都同现"
    "当没动面起看定天分还进好小部其主样理心她本前开但因只从想实日者意无力与长机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手"
    "应向文体政美相见利二等产新己制身果加西月合回特代内信表化老世位次度门任常先海通教原东声提立及比员解水名真处走义各入口平系气题活更别打女变四"
    "神总何电数安少报结反受目太量再感建务接必场件计管期市直德资命山金指统区保至形社空治展马科司五基书非听白界达光放强权思王象完设式色路记南品住"
    "告类求程北边死张该交规万取格望领共确传师清今切院让带争运李刘陈杨赵黄周吴徐孙胡朱林郭罗姓龄城省县医男岁京广州州伟敏娜静丽强磊军洋勇艳杰娟涛"
    "個這們來為國說時會過發後學現當沒動進還樣從實與長機關點業將兩間問並應體見產門東聲員處義氣題變總電數報結務場計資統區達權設記類張規萬領確傳師"
    "讓帶爭運劉陳楊趙黃吳孫羅齡縣醫歲廣偉齊臺灣高雄湾氏都府道町村田藤鈴木佐渡辺齢別阪横浜川崎神戸福岡島野井石池橋森村原沢浅郎太美子香愛千葉埼玉"
)
_COMMON_HANGUL = frozenset(
    "이가나다라마바사아자차카타파하고기지도로리서시부산대구인천광주전울세종경남북충강원제주수성여녀별령연생년월일시군동면읍김박최정조윤장임한오신권황안"
    "송류홍민영희철진호준현우은혜미경숙자선순옥재상용태학교졸업력고혼사별이혼직무름민등록번호화전주소거주형태소득만원예아니요음함없있의는을에과"
)


_COMMON_THAI = frozenset("กขคงจชซญดตถทธนบปผพฟภมยรลวศษสหอะาำิีึืุู่้็์ัเแโใไ")
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
        raise UnknownEncodingError(
            f"the encoding of the text is not certain: {' or '.join(readings)}.",
            hint=f"Pass the right one: {' or '.join(f'--read encoding={name}' for name in readings)}.",
            readings=readings,
        )
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
    for page, (prior, languages) in _PAGES.items():
        text = _decode(raw, page)
        if text is not None:
            costs[page] = (prior + _cost(_without_punctuation(text), languages, script=page not in _LATIN_PAGES), text)
    for page, rare in _WIDE.items():
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
        odd, letter = c > "\x7f", c.isalpha()
        if odd and not letter:
            within = before.isalpha() and after.isalpha()
            fits = c in _INSIDE if within else not after.isalpha() or c in _OPENING
            fits = fits and not (c in _BEFORE_DIGITS and after.isalpha()) and not (c in _BEHIND_DIGITS and before.isalpha())
            cost += 6.0 if before > "\x7f" and not before.isalpha() else 0.0
            cost += 8.0 if script and c in "’¶" and after.isalpha() and not before.isalpha() else 0.0
            cost += 8.0 if unicodedata.category(c) == "Mn" and "" < before < "\x7f" else 0.0  # a vowel sign of another script
            cost += 10.0 if (c in _NEVER_BEHIND and before.isalpha()) or (c in _NEVER_BEFORE and after.isalpha()) else 0.0
            cost += (4.0 if c in _OPENING and fits else 6.0 if fits else 12.0) + (
                6.0 if unicodedata.category(c) in ("Sm", "Sk", "So", "Po") and c not in _OPENING else 0.0
            )
        elif odd and letter and not before.isalpha() and not after.isalpha():
            cost += 4.0  # a letter alone
        elif c in "ºª" and after.isalpha():
            cost += 10.0
        elif letter and before.isalpha() and (odd or before > "\x7f"):
            cost += 5.0 if c.isupper() and before.islower() else 0.0
            if script:
                cost += 12.0 if odd != (before > "\x7f") else 0.0
            else:
                cost += 3.0 if odd and before > "\x7f" else 0.0
        if (c in "þÞ" and not after.isalpha()) or (c in "ðÐ" and not before.isalpha()):
            cost += 6.0  # Icelandic words do not end or begin so; Turkish and Lithuanian ones do with the letters of these bytes
        if (c in "ñÑ" and after.lower() not in _VOWELS) or (c in "ìù" and after.isalpha()):
            cost += 6.0  # nor Spanish and Italian ones; Polish and Czech ones do (Toruń, Poznań, město, důl)
        if (c == "ç" and after in "eiéèêí" and not script) or before.lower() + c in ("aä", "oö", "uü"):
            cost += 6.0  # no cedilla is needed before these vowels, but in Turkish and Albanian; no language doubles these
        before = c
    return cost


def _wide_cost(c: str, page: str) -> float:
    """Bits of a character of East Asia or Thailand."""
    code = ord(c)
    if page == "cp874":
        return 5.5 if c in _COMMON_THAI else 10.0 if 0x0E00 <= code < 0x0E80 else 13.0
    if c in _COMMON_HAN:
        return 9.5
    if page == "cp949" and 0xAC00 <= code < 0xD7A4:
        return (
            8.0 if c in _COMMON_HANGUL else 13.0 if 0xB0 <= c.encode("cp949")[0] <= 0xC8 and c.encode("cp949")[1] > 0xA0 else 16.0
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
