"""A small table of people in many languages: others know sex, age and residence, a diagnosis hurts, a name is direct."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from shoal.find import ColumnFacts, find_columns
from shoal.find.vocabulary import DATA, folded
from shoal.model.roles import Role
from tricky_columns import SCRIPTS, named

ROWS = 300
EXPECTED = {"sex": Role.QUASI, "age": Role.QUASI, "place": Role.QUASI, "diagnosis": Role.SENSITIVE, "name": Role.DIRECT}
PEOPLE: dict[str, tuple[str, str, str, str]] = {
    "Arabic": ("الجنس العمر مكان_السكن التشخيص الاسم", "ذكر أنثى", "عمان الزرقاء إربد العقبة", "سكري ربو ضغط صداع"),
    "Czech": ("pohlaví věk bydliště diagnóza jméno", "muž žena", "Brno Plzeň Opava Tábor", "astma cukrovka chřipka migréna"),
    "Japanese": ("性別 年代 居住地 病名 氏名", "男性 女性", "新宿区 渋谷区 八王子市 町田市", "糖尿病 喘息 高血圧 頭痛"),
    "Korean": ("성별 나이 거주지 진단명 이름", "남 여", "서울 부산 대구 인천", "당뇨 천식 고혈압 두통"),
    "Polish": (
        "plec wiek miejsce_zamieszkania rozpoznanie nazwisko",
        "M K",
        "Łódź Gdynia Opole Radom",
        "astma grypa cukrzyca migrena",
    ),
    "Russian": ("пол возраст место_жительства диагноз фио", "м ж", "Тверь Омск Псков Томск", "астма диабет грипп мигрень"),
    "Turkish": ("cinsiyet yaş ikametgah tanı ad_soyad", "erkek kadın", "Bursa İzmir Konya Adana", "astım diyabet grip migren"),
    "Chinese": ("性别 年龄 居住地 诊断 姓名", "男 女", "杭州 宁波 温州 绍兴", "糖尿病 哮喘 高血压 头痛"),
    "Swedish": ("kön ålder bostadsort diagnos namn", "man kvinna", "Umeå Lund Gävle Borås", "astma diabetes influensa migrän"),
    "Portuguese": (
        "sexo idade municipio_residencia diagnostico nome",
        "M F",
        "Lagos Faro Tavira Olhão",
        "asma diabetes gripe enxaqueca",
    ),
    "Greek": (
        "φύλο ηλικία τόπος_κατοικίας διάγνωση ονοματεπώνυμο",
        "άνδρας γυναίκα",
        "Πάτρα Βόλος Λαμία Χανιά",
        "άσθμα διαβήτης γρίπη ημικρανία",
    ),
    "Hebrew": ("מין גיל ישוב אבחנה שם_מלא", "זכר נקבה", "חיפה אשדוד נתניה רמלה", "סוכרת אסתמה שפעת מיגרנה"),
    "Hindi": ("लिंग आयु जिला निदान नाम", "पुरुष महिला", "पुणे नासिक ठाणे सतारा", "मधुमेह दमा बुखार सिरदर्द"),
    "Thai": ("เพศ อายุ จังหวัด การวินิจฉัย ชื่อ", "ชาย หญิง", "ตาก เลย น่าน แพร่", "เบาหวาน หอบหืด ไข้หวัด ไมเกรน"),
    "Hungarian": (
        "nem életkor lakóhely diagnózis név",
        "férfi nő",
        "Pécs Győr Eger Vác",
        "asztma cukorbetegség influenza migrén",
    ),
    "Nepali": ("लिङ्ग उमेर जिल्ला निदान नाम", "पुरुष महिला", "कास्की मोरङ झापा चितवन", "मधुमेह दम ज्वरो टाउको"),
    "Vietnamese": ("giới_tính tuổi nơi_ở chẩn_đoán họ_tên", "nam nữ", "Huế Vinh Hội_An Đà_Lạt", "hen cúm sốt tiểu_đường"),
}
"""Headers of sex, age, residence, diagnosis and name; values of sex, residence and diagnosis."""


def column(header: str, values: list[str]) -> ColumnFacts:
    counted = Counter(values)
    kind = "integer" if all(v.isdigit() for v in values) else "text"
    return ColumnFacts(header, kind, sorted(counted), np.array([counted[v] for v in sorted(counted)]), len(values))


def people(language: str) -> list[ColumnFacts]:
    rng = random.Random(language)
    headers, sexes, places, illnesses = PEOPLE[language]
    sex, age, place, diagnosis, name = headers.split()
    letters = [c for c in dict.fromkeys(places + illnesses) if c.isalpha()]
    names = [" ".join("".join(rng.choices(letters, k=5)).title() for _ in range(2)) for _ in range(ROWS)]
    pick = lambda texts: [rng.choice(texts.split()) for _ in range(ROWS)]  # noqa: E731
    ages = [str(min(rng.randint(0, 99), rng.randint(0, 99))) for _ in range(ROWS)]
    return [
        column(sex, pick(sexes)),
        column(age, ages),
        column(place, pick(places)),
        column(diagnosis, pick(illnesses)),
        column(name, names),
    ]


@pytest.mark.parametrize("language", PEOPLE)
def test_roles_are_right_in_every_language(language: str) -> None:
    found = find_columns(people(language))
    assert [(f.name, f.role) for f in found] == [(f.name, role) for f, role in zip(found, EXPECTED.values(), strict=True)]


LANGUAGES = sorted(folder.name for folder in DATA.iterdir() if (folder / "column_names.txt").exists() and folder.name != "all")
TESTED_ELSEWHERE = ("de", "en", "es", "fr", "it", "nl", "pt")
"""Languages with long lists, whose words other tests hold against tables."""


def test_at_least_forty_languages_have_words() -> None:
    assert len(LANGUAGES) >= 40


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language not in TESTED_ELSEWHERE])
def test_every_header_of_a_language_is_understood(language: str) -> None:
    """Each word for sex, age, residence and diagnosis gives its role in a small table; nothing is left to chance or English."""
    rng = random.Random(language)
    wrong, section = [], ""
    values = {
        "sex": [rng.choice("12") for _ in range(ROWS)],
        "age": [str(rng.randint(18, 99)) for _ in range(ROWS)],
        "place": [f"P{rng.randint(1, 40)}a" for _ in range(ROWS)],
        "diagnosis": [f"q{rng.choice('abcdefg')}r" for _ in range(ROWS)],
    }
    for line in (DATA / language / "column_names.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("["):
            section = line[1:-1]
        elif line and section in values and "*" not in line and not line.startswith("#"):
            header = line.lstrip("=").replace(" ", "_")
            role = find_columns([column(header, values[section])])[0].role
            if role is not EXPECTED[section]:
                wrong.append((section, folded(header), role.value))
    assert not wrong


@pytest.mark.parametrize("header", SCRIPTS)
def test_names_of_people_are_found_in_every_script_without_a_header(header: str) -> None:
    """Full names under a name that says nothing; frequent names of the language are enough."""
    rng = random.Random(header)
    make = named(header)
    assert find_columns([column("c7", [str(make(rng)) for _ in range(ROWS)])])[0].role is Role.DIRECT


@pytest.mark.parametrize("values", ["高血圧 黄疸 白血病 胡桃アレルギー 高熱", "고혈압 당뇨 천식", "杭州 宁波 温州 金华 江苏"])
def test_words_that_begin_like_a_family_name_are_not_names(values: str) -> None:
    rng = random.Random(values)
    assert find_columns([column("c7", [rng.choice(values.split()) for _ in range(ROWS)])])[0].role is not Role.DIRECT
