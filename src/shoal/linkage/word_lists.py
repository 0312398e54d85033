"""Words that stand for nothing or for little: placeholders, titles, particles, months, the two sexes."""

from __future__ import annotations

PLACEHOLDERS = frozenset(
    "unknown unk unknwn onbekend unbekannt inconnu inconnue desconocido desconocida sconosciuto na n/a none null nil nan test "
    "xxx xx - -- . ? anonymous anonym not known not stated not applicable missing".split()
) | {"not known", "not stated", "not applicable"}

TITLES = frozenset("mr mrs ms miss dr prof professor sir dame ing drs mme mlle herr frau dhr mevr mw sr sra srta jr".split())

PARTICLES = frozenset(
    "van von vom der den de het ten ter te t s des del della dello di da do dos das du la le les el al bin ibn bint af av zu zur "
    "zum und y e op in aan v d vd vdr".split()
)

MONTHS = {
    word: number
    for number, words in enumerate(
        (
            "jan january januar januari janvier enero ene gennaio gen janeiro januar",
            "feb february februar februari fevrier fev febrero febbraio fevereiro",
            "mar march marz maerz mrt maart mars marzo marco",
            "apr april avril avr abril abr aprile",
            "may mai mei mayo maggio mag maio",
            "jun june juni juin junio giugno giu junho",
            "jul july juli juillet juil julio luglio lug julho",
            "aug august augustus aout agosto ago",
            "sep sept september septembre septiembre settembre set setembro",
            "oct october oktober okt octobre octubre ottobre ott outubro out",
            "nov november novembre noviembre novembro",
            "dec december dezember dez decembre diciembre dic dicembre dezembro",
        ),
        1,
    )
    for word in words.split()
}

SEXES = {
    word: sex
    for sex, words in {
        "m": "m male man men boy masculine mannlich maennlich mann homme h hombre masculino maschio uomo 1",
        "f": "f female woman women girl feminine weiblich frau w v vrouw vrouwelijk femme feminin mujer femenino femmina donna 2",
        "x": "x d divers diverse other nonbinary non-binary intersex",
    }.items()
    for word in words.split()
}

HEADERS = {
    word: kind
    for kind, words in {
        "given": "given_name givenname first_name firstname forename voornaam voornamen vorname prenom nombre nome given first",
        "family": "surname family_name familyname last_name lastname achternaam nachname familienname nom apellido cognome",
        "name": "name full_name fullname naam person_name",
        "birth": "date_of_birth birth_date birthdate dob geboortedatum geburtsdatum date_de_naissance fecha_de_nacimiento birth",
        "sex": "sex gender geslacht geschlecht sexe sexo sesso",
        "postcode": "postcode postal_code postalcode zip zip_code zipcode plz codepostal code_postal",
        "phone": "phone telephone phone_number mobile telefoon telefon tel",
        "email": "email e_mail mail email_address",
        "number": "soc_sec_id ssn bsn nhs nhs_number ahv national_id nationalid insurance_number",
        "text": "address address_1 street city town suburb state place street_number address_2 plaats stad ort stadt ville",
    }.items()
    for word in words.split()
}
"""Names of columns whose meaning is not in doubt."""
