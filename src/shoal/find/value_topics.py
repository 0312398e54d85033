"""What a column is about, by the words of its values: sex, marital status, race, belief, work, places, codes with a known form.

Each vocabulary is a pattern over folded text; a column speaks of it where at least 60 % of its distinct values do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from shoal.find.dates import CACHED
from shoal.find.finding import Evidence
from shoal.find.identifiers import spread
from shoal.find.name_words import folded
from shoal.kernels.text import Pattern

SHARE = 0.6


@dataclass(frozen=True)
class Vocabulary:
    """Words of one topic: the key of the topic, what to say, the pattern, how sure, and the most values such a column has."""

    topic: str
    what: str
    pattern: Pattern
    confidence: float
    most: int = 10**9
    least: int = 2
    mark: Pattern | None = None
    """What a tenth of the values must hold, where plain numbers have the form too."""
    letters: int = 1
    """Different first signs that the values must have, where a running number behind one letter has the form too."""


CODES: tuple[Vocabulary, ...] = (
    Vocabulary("drug", "codes of medicines (ATC)", Pattern(r"[a-z]\d{2}[a-z]{1,2}(\d{2})?"), 0.85, least=3),
    Vocabulary("diagnosis", "codes of diseases (ICD-10)", Pattern(r"[a-tv-z]\d{2}(\.?[0-9a-z]{1,4})?"), 0.8, least=5, letters=2),
    Vocabulary(
        "diagnosis",
        "codes of diseases (ICD-9)",
        Pattern(r"(\d{3}(\.\d{1,2})?|v\d{2}(\.\d{1,2})?|e\d{3}(\.\d)?)"),
        0.6,
        least=30,
        mark=Pattern(r".*[.ve]"),
    ),
    Vocabulary("postcode", "British postcodes", Pattern(r"[a-z]{1,2}\d[a-z\d]? ?\d[a-z]{2}"), 0.9, least=3),
    Vocabulary("postcode", "Dutch postcodes", Pattern(r"[1-9]\d{3} ?[a-z]{2}"), 0.9, least=3),
    Vocabulary("postcode", "Canadian postcodes", Pattern(r"[a-z]\d[a-z] ?\d[a-z]\d"), 0.9, least=3),
    Vocabulary("postcode", "postcodes", Pattern(r"\d{5}-\d{3,4}|\d{4}-\d{3}|[a-z]{1,2}-\d{4,5}"), 0.85, least=3),
    Vocabulary(
        "place",
        "codes of regions (NUTS)",
        Pattern(r"(at|be|bg|cy|cz|de|dk|ee|el|es|fi|fr|hr|hu|ie|it|lt|lu|lv|mt|nl|pl|pt|ro|se|si|sk|uk|no|ch)[0-9a-z]{1,3}"),
        0.8,
        least=5,
    ),
    Vocabulary(
        "place",
        "states of the USA",
        Pattern(
            "a[klrsz]|c[aot]|d[ce]|f[lm]|g[au]|hi|i[adln]|k[sy]|la|m[adehinopst]|n[cdehjmvy]|o[hkr]|p[arw]|ri|s[cd]|t[nx]|ut|v[ait]|w[aivy]"
        ),
        0.8,
        least=8,
    ),
    Vocabulary(
        "place",
        "states of Brazil",
        Pattern("ac|a[lmp]|ba|ce|df|es|go|m[agst]|p[abeir]|r[jnors]|s[cep]|to"),
        0.8,
        least=8,
    ),
    Vocabulary("lab", "codes of tests (LOINC)", Pattern(r"\d{3,5}-\d"), 0.7, least=5),
)


def _words(
    topic: str, what: str, words: str, confidence: float = 0.8, most: int = 10**9, least: int = 2, whole: bool = False
) -> Vocabulary:
    inside = "|".join(w.strip() for w in words.replace("\n", "|").split("|") if w.strip())
    pattern = rf"(?:{inside})" if whole else rf".*\b(?:{inside})"
    return Vocabulary(topic, what, Pattern(pattern + (r"\Z" if whole else "")), confidence, most, least)


VOCABULARIES: tuple[Vocabulary, ...] = (
    _words(
        "sex",
        "the sexes",
        "m|f|male|female|man|woman|men|women|boy|girl|mann|frau|mannlich|weiblich|herr|homme|femme|masculin|feminin|"
        "hombre|mujer|varon|masculino|feminino|femenino|homem|mulher|"
        "uomo|donna|maschio|femmina|vrouw|mannelijk|vrouwelijk|diverse|divers|non-binary|nonbinary|other|transgender|anders",
        0.9,
        most=8,
        whole=True,
    ),
    _words(
        "marital",
        "marital status",
        "married|never.married|single|divorced|widow|separated|cohabit|living together|civil partner|verheiratet|ledig|"
        "geschieden|verwitwet|getrennt|celibataire|marie|divorce|veuf|veuve|pacs|concubin|"
        "casad[oa]|solter[oa]|divorciad[oa]|viud[oa]|separad[oa]|union libre|gehuwd|ongehuwd|gescheiden|weduw|"
        "samenwonend|solteir[oa]|viuv[oa]|coniugat|celibe|nubile|vedov|sposat|livepartner|spouse",
        0.9,
        most=15,
    ),
    _words(
        "race",
        "race or ethnic groups",
        "white|black|asian|hispanic|latino|caucasian|african.?american|native american|american indian|alaska native|"
        "pacific islander|mixed race|multiracial|mestizo|mulatto|blanc[oa]|pret[oa]|pard[oa]|amarel[oa]|indigena|"
        "indian|chinese|arab|roma\\b|maori|aboriginal|non.?hispanic|two or more|mexican",
        0.85,
        most=40,
        least=3,
    ),
    _words(
        "religion",
        "beliefs",
        "catholic|protestant|jewish|muslim|islam|buddhis|hindu|christian|orthodox|atheis|agnostic|no religion|"
        "katholisch|evangelisch|konfessionslos|catholique|musulman|juif|sans religion|catolic|evangelic|judio|ateo|"
        "cattolic|musulman|katholiek|hervormd|gereformeerd|moslim|sikh|mormon|croyan|pratiquant|appartenance|episcopal|"
        "baptist|methodist|lutheran",
        0.88,
        most=60,
    ),
    _words(
        "employment",
        "kinds of employment",
        "employed|unemployed|retired|student|homemaker|housewife|self.?employed|full.?time|part.?time|looking|"
        "not working|erwerbstatig|arbeitslos|rentner|hausfrau|selbststandig|angestellt|beamt|chomeur|chomage|retraite|"
        "au foyer|"
        "etudiant|exerce une profession|salarie|inactif|empleado|desempleado|jubilado|ama de casa|estudiante|ocupado|"
        "werkloos|gepensioneerd|huisvrouw|zzp|desempregado|aposentado|disoccupat|pensionat|casaling|freelance|private|"
        "self-emp|gov\\b|permanent|temporary",
        0.8,
        most=25,
        least=3,
    ),
    _words(
        "occupation",
        "occupations",
        "manager|teacher|nurse|engineer|clerk|technician|driver|cleaner|farmer|labou?rer|worker|sales|craft|clerical|"
        "operator|professional|executive|scientist|research|analyst|developer|lawyer|physician|doctor|admin|service|"
        "lehrer|arzt|arbeiter|angestellte|ingenieur|verkaufer|ouvrier|employe|cadre|agricult|artisan|profesor|obrer|"
        "ingenier|abogad|medico|operai|impiegat|insegnante|leraar|verpleeg|arbeider|professor|enfermeir|representative|"
        "programmer|"
        "secretary|police|soldier|armed.?forces|chef|waiter|mechanic|electrician|accountant|consultant|assistant|"
        "director|entrepreneur|technic",
        0.75,
        least=5,
    ),
    _words(
        "crime",
        "crimes or charges",
        "robbery|burglary|larceny|theft|assault|battery|homicide|murder|manslaughter|narcotic|controlled.substance|"
        "possession|trespass|vandalism|forgery|fraud|rape|kidnap|arson|dui\\b|dwi\\b|misdemeanor|felony|shoplifting|weapon|"
        "prostitution|harassment|diebstahl|raub|betrug|korperverletzung|einbruch|vol\\b|robo|hurto|lesiones|homicidio|furto|"
        "rapina|diefstal|inbraak|mishandeling",
        0.8,
        least=3,
    ),
    _words(
        "language",
        "languages",
        "english|spanish|french|german|dutch|italian|portuguese|polish|russian|arabic|mandarin|cantonese|hindi|urdu|turkish|"
        "vietnamese|tagalog|japanese|korean|deutsch|englisch|franzosisch|turkisch|polnisch|arabisch|francais|anglais|"
        "allemand|espagnol|espanol|ingles|frances|portugues|italiano|inglese|nederlands|engels|frans|duits",
        0.6,
        most=60,
        least=3,
    ),
    _words(
        "outcome",
        "outcomes of care",
        "dead|deceased|died|expired|alive|survived|verstorben|decede|vivant|fallecido|deceduto|overleden|recovered|"
        "home health|hospice|discharged|snf|relapse|remission",
        0.8,
        most=40,
    ),
    _words(
        "lab",
        "results of tests",
        "negative|positive|neg|pos|abnormal|negativ|positiv|negatif|positif|negativo|positivo|detected|not detected|"
        "reactive|non.?reactive|indeterminate|inconclusive",
        0.8,
        most=12,
    ),
    _words(
        "diagnosis",
        "illnesses",
        "cancer|diabetes|asthma|hypertens|infection|pneumonia|sepsis|fever|fracture|stroke|failure|disease|syndrome|"
        "disorder|depress|anxiety|pain|injury|tumou?r|carcinoma|arthritis|hepatitis|covid|bronchitis|anemia|obesity|"
        "migraine|"
        "krebs|erkrankung|entzundung|bruch|grippe|maladie|fievre|enfermedad|fiebre|infeccion|malattia|febbre|doenca|"
        "tdah|adhd|dislexi|dyslexi|autis|asperger|"
        "ziekte|ontsteking|acute|chronic|bleed|hemorrhage|overdose|chest|respiratory|cardiac",
        0.85,
        least=4,
    ),
    _words(
        "crime",
        "offences",
        "theft|assault|burglary|robbery|battery|possession|driving under|dui|fraud|felony|misdemeanor|trespass|"
        "homicide|murder|arrest|weapon|violation|offen[cs]e|larceny|diebstahl|betrug|korperverletzung|robo|hurto|vol\\b",
        0.8,
        least=4,
    ),
    _words(
        "education",
        "levels of schooling",
        "school|college|bachelor|master|doctor|phd|degree|graduate|secondary|primary|primaria|primaire|secundaria|"
        "universit|grundschule|abitur|hochschule|realschule|hauptschule|lehre|etudes|enseignement|cycle|licence|bac\\b|"
        "diplom|grade\\b|basisonderwijs|hbo|mbo|ensino|fundamental|superior|laurea|licenza|"
        "hs-grad|assoc|prof-school|preschool|[0-9]+(st|nd|rd|th)",
        0.75,
        most=40,
        least=3,
    ),
    _words(
        "place",
        "kinds of place",
        "urban|rural|city|town|village|suburb|metro|north|south|east|west|nord|sud|ost|sur|norte|sul|oeste|leste|stadt|"
        "dorf|campagne|ville|ciudad|aldeia|stad|platteland|northeast|northwest|southeast|southwest",
        0.7,
        most=30,
    ),
    _words(
        "country",
        "countries",
        "united.states|united.kingdom|usa\\b|germany|france|spain|italy|netherlands|belgium|portugal|poland|china|"
        "india|mexico|canada|japan|brazil|argentina|ireland|england|scotland|turkey|morocco|philippines|cuba|vietnam|"
        "deutschland|frankreich|turkei|italien|spanien|allemagne|espagne|italie|maroc|algerie|espana|francia|alemania|"
        "bolivia|paraguay|peru|chile|colombia|duitsland|frankrijk|belgie|turkije|marokko|brasil|greece|sweden|norway|"
        "denmark|russia|ukraine",
        0.85,
        least=4,
    ),
    _words(
        "insurance",
        "kinds of insurance",
        "medicare|medicaid|private|self.?pay|uninsured|blue cross|hmo|ppo|commercial|no.?charge|gesetzlich|privat|"
        "obra social|government|public|insured",
        0.75,
        most=20,
        least=3,
    ),
    _words(
        "title",
        "forms of address",
        "mr\\.?|mrs\\.?|ms\\.?|miss|dr\\.?|herr|frau|m\\.|mme|mlle|sr\\.?|sra\\.?|sig\\.?|dhr\\.?|mevr\\.?|prof\\.?|master",
        0.85,
        most=12,
        whole=True,
    ),
    _words(
        "housing",
        "kinds of housing",
        "own|rent|mortgage|free|other|owned|rented|eigentum|miete|proprietaire|locataire|propietario|alquiler|koop|huur",
        0.7,
        most=10,
        least=3,
        whole=True,
    ),
)


def spoken_of(values: Sequence[str], kind: str) -> tuple[str, Evidence] | None:
    """The topic that the words or codes of the values speak of, with the evidence; None where they speak of none."""
    if kind not in ("text", "other") or not values:
        return None
    looked = [folded(v) for v in spread(values, 300) if folded(v) not in _EMPTY_WORDS]
    if not looked:
        return None
    best: tuple[str, Evidence] | None = None
    spoken = Counter(i for v in looked for i in _fitting(v))
    for i, n in sorted(spoken.items()):
        vocabulary, share = _ALL[i], n / len(looked)
        if len(values) > vocabulary.most or len(looked) < vocabulary.least or len({v[:1] for v in looked}) < vocabulary.letters:
            continue
        if vocabulary.mark is not None and 10 * sum(vocabulary.mark.match(v) is not None for v in looked) < len(looked):
            continue
        needed = SHARE if i < len(VOCABULARIES) else 0.9
        if share >= needed and (best is None or share * vocabulary.confidence > best[1].share * best[1].confidence):
            best = vocabulary.topic, Evidence(vocabulary.what, round(share, 3), vocabulary.confidence)
    return best


_ALL = (*VOCABULARIES, *CODES)


@lru_cache(maxsize=CACHED)
def _fitting(text: str) -> tuple[int, ...]:
    """The places of the vocabularies that a folded text speaks in; codes are whole texts."""
    words = (i for i, v in enumerate(VOCABULARIES) if v.pattern.match(text))
    codes = (i for i, v in enumerate(CODES, len(VOCABULARIES)) if v.pattern.fullmatch(text))
    return (*words, *codes)


_EMPTY_WORDS = frozenset(
    ("other", "others", "autre", "autres", "andere", "anders", "otro", "otros", "outro", "altro", "sonstige", "none", "misc")
)
