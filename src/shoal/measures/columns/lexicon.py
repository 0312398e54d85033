"""Words of column names that hint at a role, in several languages, with the HIPAA safe-harbor item they belong to.

A name is folded (no accents, no case) and split into words at everything that is not a letter or digit and at camelCase. A
hint matches when all its words are among them in order; the first hint that matches wins, so special ones stand first.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from shoal.model.roles import Role

HIPAA = {
    1: "names",
    2: "places smaller than a state",
    3: "dates of a person, and ages over 89",
    4: "telephone numbers",
    5: "fax numbers",
    6: "e-mail addresses",
    7: "social security numbers",
    8: "medical record numbers",
    9: "health plan numbers",
    10: "account numbers",
    11: "certificate and licence numbers",
    12: "vehicles and number plates",
    13: "devices and serial numbers",
    14: "web addresses",
    15: "internet (IP) addresses",
    16: "biometric identifiers",
    17: "photographs",
    18: "other unique numbers, codes or marks",
}
"""The eighteen identifiers of the safe-harbor rule, in our words."""


@dataclass(frozen=True)
class Hint:
    """A role that the words of a name suggest."""

    words: tuple[str, ...]
    role: Role
    reason: str
    confidence: float
    hipaa: int | None = None
    mark: str = ""  # "unit" or "weight"


def _hints(role: Role, reason: str, confidence: float, words: str, hipaa: int | None = None, mark: str = "") -> list[Hint]:
    return [Hint(tuple(w.split("+")), role, reason, confidence, hipaa, mark) for w in words.split()]


D, Q, S, N = Role.DIRECT, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE

HINTS: tuple[Hint, ...] = (
    *_hints(D, "its name says e-mail address", 0.98, "email mail e+mail courriel correo emailadres", 6),
    *_hints(D, "its name says fax number", 0.97, "fax telefax faxnummer", 5),
    *_hints(
        D,
        "its name says telephone number",
        0.97,
        "phone telephone telefon telefoon tel mobile mobiel handy cell telefono portable telefone celular telefoonnummer",
        4,
    ),
    *_hints(
        D,
        "its name says national or social security number",
        0.98,
        "ssn soc+sec social+security bsn burgerservicenummer sofinummer nino nhs nir cpf dni nif curp aadhaar pesel personnummer "
        "national+id steuernummer steuerid svnr insee codice+fiscale",
        7,
    ),
    *_hints(
        D,
        "its name says medical record or patient number",
        0.95,
        "mrn patientid patient+id patient+number patient+no patient+nr medical+record chart+number dossier+nr pseudonym "
        "patientnummer subject+id subjid usubjid participant+id",
        8,
        "unit",
    ),
    *_hints(
        D,
        "its name says health plan or insurance number",
        0.95,
        "insurance+number policy+number member+id plan+id beneficiary",
        9,
    ),
    *_hints(
        D,
        "its name says account or card number",
        0.95,
        "iban account konto rekening rekeningnummer creditcard card+number compte",
        10,
    ),
    *_hints(
        D,
        "its name says licence or passport number",
        0.95,
        "passport licence license reisepass paspoort rijbewijs certificate",
        11,
    ),
    *_hints(D, "its name says vehicle or number plate", 0.9, "vin plate kenteken kennzeichen matricula license+plate", 12),
    *_hints(D, "its name says device or serial number", 0.9, "imei imsi serial device deviceid mac+address serienummer", 13),
    *_hints(D, "its name says web address", 0.9, "url website homepage webpage uri", 14),
    *_hints(D, "its name says internet address", 0.95, "ip ipaddress ip+address ipv4 ipv6", 15),
    *_hints(D, "its name says biometric identifier", 0.95, "fingerprint iris retina voiceprint biometric", 16),
    *_hints(D, "its name says photograph", 0.95, "photo foto picture portrait image bild", 17),
    *_hints(
        D,
        "its name says street address",
        0.95,
        "address adres adresse direccion street strasse straat rue calle indirizzo endereco house+number huisnummer hausnummer",
        2,
    ),
    *_hints(D, "its name says exact position", 0.9, "latitude longitude lat lon lng gps coordinates geolocation", 2),
    *_hints(
        D,
        "its name says a person's name",
        0.97,
        "first+name firstname given+name surname lastname last+name family+name fullname full+name middle+name vorname nachname "
        "familienname voornaam achternaam naam prenom nom nombre apellido apellidos cognome sobrenome initials username "
        "user+name maiden+name given forename mothers+name",
        1,
    ),
    *_hints(N, "its name says sampling weight", 0.85, "fnlwgt sampling+weight pweight wgt weights survey+weight", None, "weight"),
    *_hints(
        Q,
        "its name says date of birth",
        0.95,
        "birth birthdate birthday dob geburtsdatum geburt geboortedatum naissance nacimiento nascita nascimento yob born",
        3,
    ),
    *_hints(
        Q,
        "its name says date of death, admission or another personal event",
        0.85,
        "death deceased admission admitted discharge",
        3,
    ),
    *_hints(Q, "its name says age", 0.95, "age alter leeftijd edad eta idade agegroup", 3),
    *_hints(Q, "its name says sex or gender", 0.95, "sex gender geslacht geschlecht sexe sexo genre sesso"),
    *_hints(
        Q,
        "its name says postcode",
        0.95,
        "zip zipcode postcode postal postleitzahl plz code+postal cap cep pc4 pc6 pincode codigo+postal zcta",
        2,
    ),
    *_hints(
        Q,
        "its name says place of living",
        0.9,
        "city town municipality gemeente gemeinde commune ciudad village suburb district county region province provincie state "
        "neighbourhood neighborhood borough parish lsoa msoa lad stadt ort woonplaats canton urbrur location",
        2,
    ),
    *_hints(
        Q,
        "its name says country or origin",
        0.9,
        "country nationality nation citizen citizenship birthplace land herkunft pays pais",
    ),
    *_hints(S, "its name says religion", 0.85, "religion religie konfession faith belief"),
    *_hints(S, "its name says political view or membership", 0.85, "political party vote union partei"),
    *_hints(S, "its name says sexual orientation or life", 0.9, "orientation sexuality"),
    *_hints(Q, "its name says race or ethnic group", 0.9, "race ethnicity ethnic etni ethnie raza"),
    *_hints(
        Q,
        "its name says family or household",
        0.8,
        "marital marstat marriage civil relationship household children kids family relat",
    ),
    *_hints(Q, "its name says education", 0.85, "education educ school degree bildung opleiding diploma"),
    *_hints(
        Q,
        "its name says occupation or employer",
        0.85,
        "occupation profession job employer workclass beruf beroep industry company",
    ),
    *_hints(Q, "its name says language", 0.7, "language sprache taal langue mother+tongue"),
    *_hints(
        S,
        "its name says diagnosis or health",
        0.9,
        "diagnosis diagnose diagnostic disease illness condition icd icd10 icd9 disorder symptom hiv aids cancer medication drug "
        "treatment therapy prescription allergy pregnancy lab result krankheit ziekte maladie enfermedad problem",
    ),
    *_hints(
        S,
        "its name says money",
        0.8,
        "income salary wage earnings einkommen gehalt inkomen loon revenu sueldo expend expenditure savings debt debts assets "
        "wealth capital credit balance benefit",
    ),
    *_hints(S, "its name says crime or court", 0.85, "criminal crime offence offense conviction arrest"),
    *_hints(S, "its name says genetic data", 0.9, "gene genotype genome dna snp"),
    *_hints(S, "its name says score or mark", 0.6, "score grade mark rating"),
    *_hints(Q, "its name says a body measure that others can see", 0.6, "height bmi eye hair"),
    *_hints(Q, "its name says a date of a person", 0.6, "date datum fecha day"),
    *_hints(
        D,
        "its name says a person or record number",
        0.8,
        "id hid hhid uuid guid identifier person+id pid respondent case+id record+id nummer",
        18,
        "unit",
    ),
    *_hints(D, "its name says a name", 0.7, "name", 1),
    *_hints(
        D,
        "its name says free text, which may name people",
        0.7,
        "comment comments note notes remark remarks text description opmerking",
        18,
    ),
)

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def words_of(name: str) -> tuple[str, ...]:
    """The words of a column name, folded.

    >>> words_of("DateOfBirth"), words_of("e-mail_adres"), words_of("Prénom")
    (('date', 'of', 'birth'), ('e', 'mail', 'adres'), ('prenom',))
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", _CAMEL.sub(" ", name)) if not unicodedata.combining(c))
    return tuple(w for w in re.split(r"[^\w]+|_+", plain.casefold()) if w)


def hint_for(name: str) -> Hint | None:
    """What a column's name suggests.

    >>> hint_for("patient_email").hipaa, hint_for("Geburtsdatum").role, hint_for("xyz") is None
    (6, <Role.QUASI: 'quasi'>, True)
    """
    words = words_of(name)
    bare = tuple(w.rstrip("0123456789") or w for w in words)
    return next((h for h in HINTS if _contains(words, h.words) or _contains(bare, h.words)), None)


def _contains(words: tuple[str, ...], part: tuple[str, ...]) -> bool:
    n = len(part)
    return any(words[i : i + n] == part for i in range(len(words) - n + 1))
