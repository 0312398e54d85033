"""Words that stand in an order, in seven languages: low to high, never to always, disagree to agree, no schooling to doctorate.

A ladder is a list of rungs, lowest first; each rung lists its spellings, folded. A column is ordered where every value stands on
a rung of one ladder and at least three rungs are used (two where the ladder says so).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from shoal.find.dates import CACHED, MONTHS, WEEKDAYS
from shoal.find.name_words import folded, inflected
from shoal.kernels.text import Pattern


@dataclass(frozen=True)
class Ladder:
    """Words in order. ``least``: rungs that must be used; ``key``: what kind of order."""

    key: str
    rungs: tuple[tuple[str, ...], ...]
    least: int = 3


def _ladder(key: str, text: str, least: int = 3) -> Ladder:
    rungs = tuple(tuple(s.strip() for s in rung.split("|")) for rung in text.strip().replace("\n|", "|").split("\n"))
    return Ladder(key, rungs, least)


LADDERS: tuple[Ladder, ...] = (
    Ladder("month", MONTHS),
    Ladder("weekday", WEEKDAYS),
    _ladder(
        "amount",
        """none|no|nil|zero|keine|kein|aucun|aucune|ninguno|ninguna|nenhum|nessuno|geen|not at all|gar nicht
|uberhaupt nicht|pas du tout|nada|per niente|helemaal niet|never
very low|lowest|very little|sehr niedrig|sehr gering|tres faible|tres bas|muy bajo|muito baixo|molto basso|zeer laag
|very small|xs|minimal|trivial|trace|poorest|very light|sehr wenig|tres peu|muy poco
low|little|niedrig|gering|faible|bas|basse|bajo|baja|baixo|baixa|basso|bassa|laag|small|s|klein|petit|pequeno|piccolo|few
|wenig|peu|poco|pouco|weinig|a little|light|mild|lower|minor|slight|slightly|poorer|un peu|un poco|poor|leicht|leve
|lieve|leger|licht|schwach|debil|debole
|somewhat
medium|middle|moderate|mittel|mittelmassig|moyen|moyenne|medio|media|gemiddeld|mid|m|average|moderately|intermediate
|modere|moderado|moderato|matig|medium-low|partial|some
high|much|hoch|eleve|elevee|haut|alto|alta|hoog|large|l|gross|grand|grande|groot|many|viel|beaucoup|mucho|muito|molto|veel
|severe|heavy|higher|richer|a lot|strong|schwer|grave|ernstig|rich|quite a bit|considerably|stark|major
very high|highest|sehr hoch|tres eleve|tres haut|muy alto|muito alto|molto alto|zeer hoog|very large|xl|extreme|extremely
|critical|total|total loss|sehr viel|enormement|very severe|richest|very much|very heavy|sehr stark
xxl|highest possible""",
    ),
    _ladder(
        "how often",
        """never|nie|jamais|nunca|mai|nooit
less than once a year|lt once a year|less than yearly
once a year|yearly|einmal im jahr|une fois par an|una vez al ano
several times a year|sevrl times a yr|a few times a year|mehrmals im jahr|plusieurs fois par an|varias veces al ano
once a month|monthly|einmal im monat|une fois par mois|una vez al mes
2-3 times a month|2-3x a month|several times a month|2 or 3 times a month|mehrmals im monat
nearly every week|nrly every week|almost every week
every week|weekly|once a week|einmal in der woche|une fois par semaine|una vez a la semana
several times a week|more than once a week|more thn once wk|2-3 times a week|mehrmals in der woche
every day|daily|taglich|chaque jour|todos los dias|dagelijks
several times a day|more than once a day""",
    ),
    _ladder(
        "frequency",
        """never|nie|niemals|jamais|nunca|mai|nooit|not at all|never or almost never|no|nein|non|nee
almost never|hardly ever|fast nie|presque jamais|casi nunca|quase nunca|quasi mai|bijna nooit|very rarely|once a year
|less than monthly|less than once a month
rarely|seldom|selten|rarement|raramente|raras veces|zelden|a few times a year|several times a year|yearly|once or twice
|monthly or less|less often
sometimes|occasionally|manchmal|gelegentlich|parfois|quelquefois|a veces|as vezes|a volte|talvolta|soms|monthly
|once a month|travel_rarely|several days|2-3 times a month|several times a month|several
often|frequently|oft|haufig|souvent|frecuentemente|frequentemente|a menudo|muchas veces|spesso|vaak|weekly|once a week
|travel_frequently|regularly|usually|most|regelmassig|several times a week|2-3 times a week|more than half the days
|meistens|la plupart du temps|majority
very often|almost always|sehr oft|meist|tres souvent|casi siempre|quase sempre|quasi sempre|bijna altijd|daily
|almost daily|every day|taglich|nearly every day|4 or more times a week|most of the time|almost every day
always|immer|toujours|siempre|sempre|altijd|several times a day|all the time""",
    ),
    _ladder(
        "agreement",
        """strongly disagree|completely disagree|totally disagree|disagree strongly|stimme uberhaupt nicht zu
|stimme gar nicht zu|pas du tout d'accord|totalmente en desacuerdo|muy en desacuerdo|discordo totalmente
|fortemente in disaccordo|helemaal mee oneens|sehr dagegen
disagree|somewhat disagree|tend to disagree|stimme nicht zu|stimme eher nicht zu|plutot pas d'accord|pas d'accord
|en desacuerdo|discordo|in disaccordo|mee oneens|oneens|slightly disagree
neutral|neither agree nor disagree|neither|undecided|teils teils|teils/teils|weder noch|ni d'accord ni pas d'accord
|ni de acuerdo ni en desacuerdo|neutro|nem concordo nem discordo|neutraal|niet mee eens, niet mee oneens|unentschieden
agree|somewhat agree|tend to agree|stimme zu|stimme eher zu|plutot d'accord|d'accord|de acuerdo|concordo|d'accordo
|mee eens|eens|slightly agree
strongly agree|completely agree|totally agree|agree strongly|stimme voll zu|stimme voll und ganz zu|stimme vollig zu
|tout a fait d'accord|totalmente de acuerdo|muy de acuerdo|concordo totalmente|completamente d'accordo
|helemaal mee eens""",
    ),
    _ladder(
        "satisfaction",
        """very dissatisfied|very unsatisfied|very unhappy|sehr unzufrieden|tres insatisfait|tres insatisfaite
|muy insatisfecho|muito insatisfeito|molto insoddisfatto|zeer ontevreden|terrible|pas du tout satisfait
dissatisfied|unsatisfied|slightly dissatisfied|somewhat dissatisfied|unhappy|not too happy|not satisfied|insatisfait
|insatisfaction|insatisfaite
|unzufrieden|insatisfecho|insatisfeito|insoddisfatto|ontevreden|not happy|a little dissatisfied|mod. dissatisfied
neutral|neither|equilibre|balanced|mixed|indifferent|neither satisfied nor dissatisfied|teils teils|neutre
|weder zufrieden noch unzufrieden
satisfied|slightly satisfied|somewhat satisfied|happy|pretty happy|satisfait|satisfaction|satisfaite|zufrieden|satisfecho
|satisfeito|soddisfatto|tevreden|moderately satisfied|mod. satisfied|plutot satisfait
very satisfied|very happy|sehr zufrieden|tres satisfait|tres satisfaite|muy satisfecho|muito satisfeito|molto soddisfatto
|zeer tevreden|completely satisfied|delighted|extremely satisfied""",
    ),
    _ladder(
        "quality",
        """very poor|very bad|sehr schlecht|tres mauvais|tres mauvaise|muy malo|muy mala|muito mau|muito ruim
|molto cattivo|zeer slecht|awful|needs improvement|pip|unacceptable
poor|bad|schlecht|mauvais|mauvaise|malo|mala|mau|ruim|cattivo|slecht|weak|below average|insufficient|ungenugend
|unsatisfactory|fail|failed|onvoldoende|suspenso|insuficiente|insufficiente|insuffisant|mangelhaft|unzureichend
fair|average|regular|mittelmassig|mittel|passable|moyen|medio|so-so|matig|redelijk|sufficient|ausreichend|ok|okay
|acceptable|below expectations|mediocre|assez mauvais|adequate|twijfelachtig
satisfactory|befriedigend|voldoende|sufficiente|suficiente|satisfaisant|assez bon|assez bien|aprobado|aprovado
discreto|ruim voldoende|fairly good|vollbefriedigend
good|gut|bon|bonne|bien|bueno|buena|bom|boa|buono|buona|goed|fully meets|meets expectations|pass|passed
very good|sehr gut|tres bon|tres bonne|muy bueno|muy buena|muito bom|muito boa|molto buono|zeer goed|vgood|above average
|above expectations|exceeds|exceeds expectations|tres bien|notable|distinto
excellent|sobresaliente|ottimo|otimo|ausgezeichnet|excelente|eccellente|uitstekend|outstanding|exceptional|superior|hervorragend""",
    ),
    _ladder(
        "importance",
        """not important at all|not at all important|unwichtig|pas important|pas du tout important|nada importante
|niet belangrijk|unimportant|not important
a little important|slightly important|less important|peu important|weniger wichtig|poco importante|minder belangrijk
|moins important que le reste|not very important
somewhat important|moderately important|neither important nor unimportant|assez important|aussi important que le reste
|mittel|bastante importante|fairly important
important|quite important|wichtig|plus important que le reste|importante|belangrijk
very important|sehr wichtig|tres important|le plus important|muy importante|muito importante|molto importante
|zeer belangrijk|extremely important|most important|essential""",
    ),
    _ladder(
        "trend",
        """no|none
down|decrease|decreased|lower|worse|much worse|gesunken|baisse|peor|slechter|falling
steady|same|about the same|no change|stable|unchanged|gleich|stabil|pareil|igual|hetzelfde|constant
up|increase|increased|higher|better|much better|gestiegen|hausse|mejor|beter|rising""",
    ),
    _ladder(
        "weight class",
        """underweight|untergewicht|maigreur|bajo peso|thinness|12.0_18.5|insufficient_weight|insufficient weight|thin
normal|normal weight|normweight|normalgewicht|poids normal|peso normal|normalweight|normal_weight|healthy weight|18.5_to_24.9
overweight|ubergewicht|surpoids|sobrepeso|25.0_to_29.9|overweight_level_i|sovrappeso|overgewicht
overweight_level_ii
obese|obesity|adipositas|obesite|obesidad|obesidade|30.0_plus|obesity_type_i|obesita|obese class i
obesity_type_ii|severely obese|obese class ii
obesity_type_iii|morbidly obese|obese class iii""",
    ),
    _ladder(
        "age group",
        """infant|baby|newborn|neonate|saugling|nourrisson|lactante
toddler
child|children|kind|kinder|enfant|nino|crianca|bambino|kids|pediatric|schoolchild
adolescent|teen|teenager|youth|jugendlicher|jugendliche|ado|adolescente|jongere|teens|juvenile
young adult|young|jung|jeune|joven|jovem|giovane|jong|youngadult
adult|erwachsen|erwachsene|adulte|adulto|volwassene|middle-aged|middle aged|middle|mittel|adults
senior|elderly|old|older|alt|age|mayor|idoso|anziano|oudere|aged|elder|older adult|retired|seniors
very old|oldest old|hochaltrig""",
    ),
    _ladder(
        "rank",
        """first|1st|i|one|primero|erste|premier|upper
second|2nd|ii|two|segundo|zweite|deuxieme
third|3rd|iii|three|tercero|dritte|troisieme|lower
fourth|4th|iv|four
fifth|5th|v|five
sixth|6th|vi|six""",
    ),
    _ladder(
        "certainty",
        """no|never|definitely not|certainly not|nein|non
unlikely|probably not|rather not|eher nicht|plutot non|improbable
maybe|possibly|perhaps|unsure|vielleicht|peut-etre|quizas|talvez|forse|misschien|suspected|not sure|prediabetes|borderline
likely|probably|probable|rather yes|eher ja|plutot oui|mostly|yes, some
yes|definitely|certainly|confirmed|ja|oui|certain|very likely""",
    ),
    _ladder(
        "class",
        """lower class|working class|lower|untere|unterschicht|classe populaire|baja|arbeiterschicht
lower middle|lower middle class|lower-middle|untere mittelschicht|media baja
middle class|middle|mittelschicht|classe moyenne|media|mittlere
upper middle|upper middle class|upper-middle|obere mittelschicht|media alta
upper class|upper|oberschicht|classe superieure|alta|obere""",
    ),
    _ladder(
        "job level",
        """intern|trainee|apprentice|entry|entry level|entry-level|azubi
junior|jr|assistant
mid|mid-level|intermediate|associate|experienced|regular
senior|sr|lead
manager|management|supervisor
director|head|executive|vp|principal
c-level|ceo|chief""",
    ),
)

_ALL = range(len(LADDERS))
COMMON = 0.7
"""Share of the values from which a word that they begin or end with says nothing of their order."""
_YES_NO = frozenset("yes no y n true false ja nein nee oui non si sim nao t f 0 1".split())


@cache
def _places(index: int) -> dict[str, int]:
    return {spelling: i for i, rung in enumerate(LADDERS[index].rungs) for spelling in rung}


@lru_cache(maxsize=CACHED)
def _rungs(text: str) -> dict[int, int]:
    """The rung of a word, in any gender and number, on every ladder that has one."""
    found = ((i, next((p[form] for form in inflected(text) if form in p), None)) for i, p in enumerate(map(_places, _ALL)))
    return {ladder: rung for ladder, rung in found if rung is not None}


def ladder_order(values: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The kind of ladder and the values from low to high; empty texts where the values are no ladder.

    >>> ladder_order(["medium", "low", "high"])
    ('amount', ('low', 'medium', 'high'))
    >>> ladder_order(["Insatisfaction", "Satisfaction", "Equilibre"])[1]
    ('Insatisfaction', 'Equilibre', 'Satisfaction')
    >>> ladder_order(["red", "blue", "low"])
    ('', ())
    """
    plain = {v: _plain(v) for v in values}
    if len(values) < 2 or set(plain.values()) <= _YES_NO:
        return "", ()
    return _on_rungs(values, plain) or _on_rungs(values, _without_common(plain)) or ("", ())


def _without_common(plain: dict[str, str]) -> dict[str, str]:
    """The texts without a word that most of them end or begin with: low risk, medium risk; grade: poor, grade: fair."""
    for end in (-1, 0):
        words = Counter(text.split()[end] for text in plain.values() if " " in text)
        word, n = words.most_common(1)[0] if words else ("", 0)
        if n >= 2 and n >= COMMON * len(plain):
            return {
                v: (text.removesuffix(" " + word) if end else text.removeprefix(word + " ")).strip(" :-")
                for v, text in plain.items()
            }
    return {}


def _on_rungs(values: Sequence[str], plain: dict[str, str]) -> tuple[str, tuple[str, ...]] | None:
    """The first ladder that has a rung of its own for every text."""
    if not plain:
        return None
    stood = {v: _rungs(p) for v, p in plain.items()}
    short = all(len(p) < 3 for p in plain.values())
    for index in sorted(set.intersection(*(set(rungs) for rungs in stood.values()))):
        rungs = {v: stood[v][index] for v in plain}
        if len(set(rungs.values())) == len(values) >= (LADDERS[index].least if short else 2):
            return LADDERS[index].key, tuple(sorted(values, key=lambda v: rungs[v]))
    return None


@lru_cache(maxsize=CACHED)
def _plain(text: str) -> str:
    """Folded, without a number or letter in front ("1 = low", "(2) medium") and brackets around."""
    plain = folded(text.strip()).strip(".[]()\"'")
    return (
        re.sub(r"^\(?\d{1,2}\)?\s*[.:=)\-]+\s*|_", lambda m: " " if m.group() == "_" else "", plain).strip()
        if plain not in _RAW
        else plain
    )


_RAW = frozenset(s for ladder in LADDERS for rung in ladder.rungs for s in rung if "_" in s)


_HEIGHTS: tuple[tuple[float, str], ...] = (
    (9.0, r"doctor|docto|ph\.?d|doktor|promotion|doutor|dottorato|dr\b|postgrad|post-grad|post grad|third cycle"),
    (8.5, r"prof.?school|prof.? degree|professional degree|professional school|habilitation"),
    (
        8.0,
        r"master|magister|maestria|mestrado|laurea magistrale|diplom\b|graduate degree|graduate school|advanced degree|"
        r"^grad(uate)?$|bac ?\+ ?5|graduate or prof|postgraduate|more than college|isced ?7",
    ),
    (5.8, r"some college|some.college|some univ|attended college"),
    (
        6.0,
        r"associate|assoc|junior college|two.?year|2.?year|technical college|bac ?\+ ?2|bts|dut|hnd|"
        r"post.?secondary|isced ?[45]|aa degree|below degree|tecnic[oa] superior",
    ),
    (
        7.0,
        r"bachelor|licence\b|college grad|college degree|college or|four.?year|4.?year|\buniv|\blaurea|licenciatura|"
        r"graduacao|graduate|hochschul|fachhochschul|wo\b|hbo\b|superieur|superior|tertiary|higher|bac ?\+ ?[34]|degree|"
        r"isced ?6|academic",
    ),
    (3.4, r"scuola media|licenza media|^media$|brevet|college \("),
    (4.1, r"\bcap\b|\bbep\b|cap,|qualifica prof"),
    (5.9, r"college\b"),
    (
        5.0,
        r"vocational|voc\b|technique|technical|trade|apprentice|lehre|berufs|mbo\b|formation prof|fp\b|profession|"
        r"professional|vmbo|tecnic[oa]",
    ),
    (3.6, r"lt high|some high|less than high|9 ?- ?1[12]|^< ?h"),
    (
        4.6,
        r"high school (grad|dipl)|hs.?dipl|hs.?grad|ged\b|baccalaur|bac\b|abitur|fachabitur|matura|vwo\b|a.?level|"
        r"upper second|secundaria completa|medio completo|bachillerato|scuola superiore|diploma superiore|"
        r"secondary complete|completed high|maturita|diploma$|2eme cycle|second cycle|lycee|havo|grade 12|isced ?3",
    ),
    (4.5, r"high school|\bhs\b"),
    (
        4.3,
        r"12th|upper|11th|secondary|secundari|media superior|ensino medio|polimodal|haupt|hauptschule|"
        r"preparatoria|middelbaar",
    ),
    (4.0, r"10th|realschul|mittlere reife|mavo|o.?level|gcse"),
    (
        3.5,
        r"9th|some high|less than high|9 ?- ?1[12]|1er cycle|first cycle|lower second|junior high|middle school|lower|"
        r"college \(|scuola media|brevet|bepc|fundamental completo|isced ?2",
    ),
    (3.0, r"7th|8th|5th-8th"),
    (
        2.5,
        r"5th|6th|elementary|primary|primaire|primaria|primario|grundschul|basisonderwijs|fundamental|basic|isced ?1|"
        r"elementare|volksschule|\bcep\b|certificat d.etudes",
    ),
    (2.0, r"1st|2nd|3rd|4th"),
    (1.0, r"preschool|pre-school|kindergarten|nursery|preescolar|inicial|isced ?0"),
    (
        0.0,
        r"no schooling|no education|none|never|without|ill?iter|analfab|jamais|aucun|sin (instruccion|estudios|"
        r"educacion)|sem (instrucao|estudos)|keine?|geen|nessun|no formal|no school|uneducated|not literate|"
        r"less than primary|in school",
    ),
)
_HEIGHTS_COMPILED = tuple((height, Pattern(pattern)) for height, pattern in _HEIGHTS)
_UNFINISHED = Pattern(
    r"^<|incomplet|unfinished|some\b|avant|arrete|interrupted|abgebrochen|not complet|attended|dropout|less than|no dipl|"
    r"ohne abschluss|zonder diploma|ongoing|in progress|short|court|elem"
)
_FINISHED = Pattern(r"complet(?!o? ?in)|derniere annee|graduated|long\b|mit abschluss|dipl")
_NUMBERED = Pattern(r"(?:grade|class|year|jahr|annee|ano|anno)?\s*(\d{1,2})(?:st|nd|rd|th)?\b.*")


def schooling_order(values: Sequence[str]) -> tuple[str, ...]:
    """Labels of schooling from low to high; empty where a label does not speak of schooling or two speak of the same height.

    >>> schooling_order(["Masters", "HS-grad", "10th", "Bachelors", "Some-college"])
    ('10th', 'HS-grad', 'Some-college', 'Bachelors', 'Masters')
    """
    heights = {v: _height(folded(v)) for v in values}
    if len(values) < 3 or any(h is None for h in heights.values()) or len(set(heights.values())) < 0.7 * len(values):
        return ()
    return tuple(sorted(values, key=lambda v: heights[v] or (0.0, 0.0)))


def schooling_share(values: Sequence[str]) -> float:
    """The share of labels that speak of schooling."""
    return sum(_height(folded(v)) is not None for v in values) / len(values) if values else 0.0


def _height(text: str) -> tuple[float, float] | None:
    plain = text.replace("_", " ")
    never = _HEIGHTS_COMPILED[-1][1].search(plain)
    if never and not re.search(r"less than", plain):
        return 0.0, 0.0
    for height, pattern in _HEIGHTS_COMPILED:
        if pattern.search(plain):
            half = (
                -0.2
                if _UNFINISHED.search(plain) and "some college" not in plain.replace("-", " ")
                else 0.2
                if _FINISHED.search(plain)
                else 0.0
            )
            number = _NUMBERED.match(plain)
            return height + half, float(number.group(1)) if number else 0.0
    return None
