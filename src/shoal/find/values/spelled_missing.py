"""Spellings of "no value": words in seven languages, what the file declares or labels so, and numbers with evidence.

A word counts by itself; what a number needs is told in :mod:`shoal.find.values.missing_numbers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from shoal.find.finding import ColumnFacts
from shoal.find.names.words import folded, inflected
from shoal.find.values.missing_numbers import no_days, number_codes
from shoal.model.roles import NUMBERS

_WORDS = frozenset(
    w.strip()
    for w in """?|??|???|.|..|...|-|--|---|_|*|**|#n/a|#na|#null!|n/a|n.a.|n.a|na|n a|nan|null|nil|(null)|<na>|<null>|\\n
|missing|(missing)|missing value|blank|(blank)|empty|
not available|not avail|unavailable|no data|no information|no info|no record|not recorded|not reported|not stated
|not given|not specified|unspecified|not known|
unknown|unk|unkn|uk|ukn|unknown/invalid|unknown/not specified|unknown (default)|unknown/other|other/unknown|invalid|undefined
|undetermined|unidentified|unassigned|unclassified|unable to obtain|unobtainable|
patient declined to answer|declined|declined to answer|refused|refusal|refuse|refused to answer|refuse to answer
|prefer not to say|prefer not to answer|prefer not to disclose|prefer not|no answer|no response|not answered|non response
|nonresponse|non-response|
don't know|dont know|do not know|don t know|dk|d.k.|dk/na|dk/nr|dk, na|dkna|iap|inap|inapplicable|inapplicable/missing
|not applicable|not asked|not asked in survey|not in universe|niu|not ascertained|can't choose|cannot choose
|not sure/refused|don't know/not sure|dont know/not sure|don't know/refused|no opinion/dk|skipped|valid skip
|legitimate skip|not imputed|
unbekannt|k.a.|k. a.|ka|keine angabe|keine angaben|ohne angabe|nicht bekannt|nicht angegeben|weiss nicht|weiß nicht
|nicht erhoben|fehlend|trifft nicht zu|entfallt|verweigert|keine antwort|nicht zutreffend|
inconnu|inconnue|non renseigne|non renseignee|non precise|nr|n.r.|nsp|ne sait pas|ne sais pas|non reponse|sans reponse
|refus|refuse de repondre|non concerne|sans objet|nsp ou nvpr|nvpr|indetermine|manquant|non disponible|nd|n.d.|so|
desconocido|desconocida|sin dato|sin datos|sin informacion|s/d|sd|s.d.|no sabe|no contesta|no responde|ns/nc|ns/nr|nsnc|nc
|no sabe/no contesta|no sabe / no contesta|no aplica|no especificado|no informado|no disponible|ignorado|perdido|no consta
|no corresponde|
onbekend|weet niet|geen antwoord|geen opgave|niet bekend|niet van toepassing|nvt|n.v.t.|n.v.t|niet ingevuld
|wil niet zeggen|ontbreekt|weigert|
desconhecido|desconhecida|nao sabe|nao respondeu|nao informado|nao informada|nao se aplica|nao declarado|sem informacao
|sem declaracao|n/d|n/i|ni|
sconosciuto|sconosciuta|non so|non sa|non risponde|non disponibile|non specificato|non noto|mancante|non applicabile
|non indicato|n.p.|rifiuta""".replace("\n", "").split("|")
    if w.strip()
)
_SHORT = frozenset(
    (
        "na",
        "nr",
        "nd",
        "so",
        "ka",
        "uk",
        "nc",
        "sd",
        "ni",
        "_",
        "nil",
        "dk",
        "*",
        "**",
        "unk",
        "-",
        "invalid",
        "unassigned",
        "refuse",
        "declined",
    )
)
"""Words that also mean something else: taken only where the column holds longer words, or the rest are numbers."""
_LABEL = re.compile(
    r"\b(missing|refus\w*|don'?t know|do not know|unknown|no answer|not answered|not ascertained|inap\w*|not applicable|"
    r"not asked|no response|non.?response|dk|"
    r"unbekannt|keine angabe|weiss nicht|verweigert|trifft nicht zu|inconnu|ne sait pas|non reponse|refus|sans reponse|"
    r"no sabe|no contesta|no responde|desconocid\w|sin dato\w*|"
    r"onbekend|weet niet|geen antwoord|nao sabe|nao respond\w*|ignorado|sconosciut\w|non so|non risponde|n/?a|"
    r"not available|not in universe|skipped)\b"
)
_ASKED = re.compile(
    r"refus|declin|prefer not|don.?t know|do not know|not know|\bdk\b|no opinion|can.?t choose|weiss nicht|verweiger|"
    r"keine angabe|ne sai[st] pas|\bnsp\b|no sabe|ns/n[cr]|nsnc|weet niet|nao sabe|non so\b|non sa\b"
)


def asked(spellings: Iterable[str]) -> bool:
    """Whether spellings of "no value" tell of somebody who was asked: don't know, refused.

    >>> asked(["Ne sait pas"]), asked(["?", "NA"])
    (True, False)
    """
    return any(_ASKED.search(folded(s)) for s in spellings)


LONE_WORDS, NUMBERS_AROUND = 2, 20
"""Different words, and different numbers around them, from which the words mean that there is no number."""
_LETTERS = re.compile(r"[^\W\d_][^\W\d_ /-]*(?:[ /-][^\W\d_]+){0,3}")
LONG_WORD = 8
"""Letters from which a word means the same in another gender or number."""
MANY = 100
"""Values from which a short word among them is more likely a name than a spelling of "missing"."""
_RESULT = re.compile(r"[<>≤≥]=?\s*\d|norm(al)?$|\[?\(?\d+\s*-", re.IGNORECASE)


def missing_spellings(
    facts: ColumnFacts, *, shared: AbstractSet[str] = frozenset(), own: Sequence[str] | None = None
) -> tuple[str, ...]:
    """The values of a column that mean "no value", as they are spelled there.

    ``shared`` are number codes that several columns of the table use so (see :func:`number_codes`); ``own`` what that function
    says of the column alone, where it was asked already.
    """
    declared = [v for v in facts.values if v in facts.declared_missing]
    labelled = [v for v in facts.values if v in facts.labels and _LABEL.search(folded(facts.labels[v]))]
    alone = own is not None and shared.isdisjoint(v.removesuffix(".0") for v in facts.values)
    numbers = own if own is not None and alone else number_codes(facts, set(shared))
    days = no_days(facts) if facts.kind not in NUMBERS else []
    spelled = [] if facts.kind not in ("text", "other") else _words(facts)
    return tuple(dict.fromkeys((*declared, *labelled, *spelled, *days, *numbers)))


def _words(facts: ColumnFacts) -> list[str]:
    clear, doubtful = [], []
    for value in facts.values:
        plain = folded(value.strip())
        if plain in _SHORT or (plain == "none" and value.strip() == "None"):
            doubtful.append(value)
        elif not plain or plain in _WORDS or (len(plain) >= LONG_WORD and any(form in _WORDS for form in inflected(plain))):
            clear.append(value)
    if len(clear) + len(doubtful) == len(facts.values):
        return clear + doubtful
    rest = [v for v in facts.values if v not in clear and v not in doubtful]
    among = [v for v in rest if not _is_number(v)]
    if 0 < len(among) <= LONE_WORDS < NUMBERS_AROUND <= len(rest) - len(among) and all(
        _LETTERS.fullmatch(v.strip()) for v in among
    ):
        return clear + doubtful + among  # one word among very many numbers: Exempt, Varies
    return clear + [v for v in doubtful if _stands_out(v, rest)]


def _stands_out(value: str, rest: Sequence[str]) -> bool:
    """Whether a short word is no category of its own: NA in capitals or among numbers; None among results of tests."""
    plain = value.strip()
    if len(rest) > MANY and plain not in ("NA", "*", "-", "_"):
        return False
    numbers = sum(_is_number(v) for v in rest) > 0.9 * len(rest)
    if folded(plain) == "none":
        return numbers or (len(rest) > 1 and sum(bool(_RESULT.match(v.strip())) for v in rest) >= 0.6 * len(rest))
    if numbers or plain in ("NA", "*", "-", "_"):
        return True
    longer = sorted(len(v.strip()) for v in rest)
    return longer[len(longer) // 2] > len(plain) + 2 or len(plain) > 4


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
