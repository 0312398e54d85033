"""Tricky columns for the safe-harbor list: made by generators, each with what a careful reader of the rule would say.

References: 45 CFR 164.514(b)(2)(i)(A) to (R); the guidance of the Office for Civil Rights of 26 November 2012 on that section
(three-digit ZIP areas by population at the census of 2000; dates; ages over 89 and dates that imply them).
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import NamedTuple

Make = Callable[[random.Random], object]
YEAR = 2026


class Tricky(NamedTuple):
    """A column: its name, one value of it, and the letter of its class; empty where it is none of the eighteen or may stay."""

    name: str
    make: Make
    letter: str


def day(form: str, first: int = 2012, last: int = 2024) -> Make:
    def make(rng: random.Random) -> str:
        return (dt.date(first, 1, 1) + dt.timedelta(days=rng.randrange(365 * (last - first)))).strftime(form)

    return make


def of(*values: object) -> Make:
    return lambda rng: rng.choice(values)


def number(low: int, high: int, form: str = "{}") -> Make:
    return lambda rng: form.format(rng.randint(low, high))


def code(pattern: str) -> Make:
    """``9`` a digit, ``A`` a letter, other signs as they are."""

    def make(rng: random.Random) -> str:
        signs = {"9": "0123456789", "A": "BCDFGHJKLMNPRSTVWXYZ"}
        return "".join(rng.choice(signs[c]) if c in signs else c for c in pattern)

    return make


FIRST = "Anna Maria John Peter Linda James Susan David Karen Paul Laura Mark Emily Kevin Sarah Brian Nancy Jason Eric".split()
LAST = "Smith Johnson Brown Garcia Miller Davis Wilson Moore Taylor Thomas Lee Clark Lewis Walker Hall Young King Scott".split()


def person(rng: random.Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def mail(rng: random.Random) -> str:
    return f"{rng.choice(FIRST)}.{rng.choice(LAST)}{rng.randint(1, 99)}@example.org".lower()


def rarely(seldom: Make, else_: Make, share: float = 0.2) -> Make:
    return lambda rng: seldom(rng) if rng.random() < share else else_(rng)


COUNTIES = "Cook Orange Kings Harris Maricopa Dallas Wayne Broward Clark Tarrant Suffolk Bexar Nassau Travis Fulton Erie".split()
ILL = ("asthma", "diabetes", "migraine", "fracture", "pneumonia", "anaemia")

REFUSED: tuple[Tricky, ...] = (
    Tricky("mother", person, "A"),
    Tricky("next_of_kin", person, "A"),
    Tricky("spouse", person, "A"),
    Tricky("employer", lambda rng: f"{rng.choice(LAST)} {rng.choice(['Ltd', 'Inc', 'and Sons'])} {rng.choice(COUNTIES)}", "A"),
    Tricky("v17", person, "A"),
    Tricky("zip5", number(10001, 99950), "B"),
    Tricky("zc", number(501, 99950, "{:05d}"), "B"),
    Tricky("zc", code("99999-9999"), "B"),
    Tricky("home_zcta5", number(501, 99950, "{:05d}"), "B"),
    Tricky("zip", number(1001, 9999), "B"),
    Tricky("ZIP_PLUS4", code("999999999"), "B"),
    Tricky("zip3", of("036", "100", "606"), "B"),
    Tricky("cnty", of(*COUNTIES[:4]), "B"),
    Tricky("county_fips", number(1001, 56045, "{:05d}"), "B"),
    Tricky("city", of(*COUNTIES), "B"),
    Tricky("tract", number(10000, 999999), "B"),
    Tricky("birth_city", of(*COUNTIES), "B"),
    Tricky("lat", lambda rng: round(rng.uniform(40.1, 42.3), 6), "B"),
    Tricky("admit_dt", day("%m/%d/%Y"), "C"),
    Tricky("admit_dt", day("%d.%m.%Y"), "C"),
    Tricky("svc_from", day("%Y-%m-%d"), "C"),
    Tricky("svc_from", day("%d-%b-%y"), "C"),
    Tricky("svc_thru", day("%d%b%Y"), "C"),
    Tricky("x3", day("%B %d, %Y"), "C"),
    Tricky("dod", day("%Y%m%d"), "C"),
    Tricky("v2", day("%m%d%Y"), "C"),
    Tricky("period", day("%Y%m"), "C"),
    Tricky("period", day("%Y-%m"), "C"),
    Tricky("period", day("%b %Y"), "C"),
    Tricky("seen", day("%Y-%m-%dT%H:%M"), "C"),
    Tricky("jday", day("%Y%j"), "C"),
    Tricky("quarter_of_visit", of("2020Q1", "2020Q2", "2021Q3"), "C"),
    Tricky("admit_month", number(1, 12), "C"),
    Tricky("mon", of("January", "March", "May", "June", "October"), "C"),
    Tricky("dow", of("Monday", "Tuesday", "Friday", "Sunday"), "C"),
    Tricky("note_code", rarely(day("seen %Y-%m-%d"), of("a", "b", "c")), "C"),
    Tricky("agegrp", number(100, 103), "C"),
    Tricky("yrs", number(100, 103), "C"),
    Tricky("yrs", number(20, 97), "C"),
    Tricky("age", number(20, 90), "C"),
    Tricky("age", lambda rng: round(rng.uniform(20, 99), 1), "C"),
    Tricky("age_months", number(300, 1130), "C"),
    Tricky("age_band", of("0-17", "18-64", "65-84", "85-94", "95+"), "C"),
    Tricky("age_band", of("0-17", "18-64", "65-90"), "C"),
    Tricky("age_band", of("0-17", "18-64", "[90, 95)", "[95, 100)"), "C"),
    Tricky("age_band", of("under 18", "18 to 64", "65 to 94"), "C"),
    Tricky("age_band", of("18-64", "95 and over"), "C"),
    Tricky("bday", number(1915, 1990), "C"),
    Tricky("geb", number(1915, 1917), "C"),
    Tricky("yob", number(1930, 2005), "C"),
    Tricky("birth_year", of("1936", "1937", "1990"), "C"),
    Tricky("birth_decade", of("1930s", "1940s", "1950s"), "C"),
    Tricky("dob", day("%Y-%m-%d", 1940, 2000), "C"),
    Tricky("phone", code("999-999-9999"), "D"),
    Tricky("q12", code("(289) 555-9999"), "D"),
    Tricky("fax_no", code("289-555-9999"), "E|D"),
    Tricky("contact_point", mail, "F"),
    Tricky("remark_code", rarely(mail, of("a", "b", "c")), "F"),
    Tricky("ss_no", code("219-09-9999"), "G"),
    Tricky("mrno", number(1_000_000, 9_999_999), "H"),
    Tricky("mrno", number(1_000_000, 1_000_040), "H"),
    Tricky("chart_no", code("AA9999"), "H"),
    Tricky("hic", code("999999999A"), "I"),
    Tricky("mbi", code("1AA9AA9AA99"), "I"),
    Tricky("member_no", code("AA999999"), "I"),
    Tricky("acct", number(10_000_000, 99_999_999), "J"),
    Tricky("lic_no", code("A9999999"), "K"),
    Tricky("npi", number(1_000_000_000, 1_999_999_999), "K"),
    Tricky("car_reg", code("AA99 AAA"), "L"),
    Tricky("tag", code("9AAA999"), "L"),
    Tricky("sn", code("SN999999999"), "M"),
    Tricky("udi", code("(01)99999999999999"), "M"),
    Tricky("page", lambda rng: f"https://example.org/p/{rng.randint(1, 10**6)}", "N"),
    Tricky(
        "client", lambda rng: f"{rng.randint(11, 220)}.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}", "O"
    ),
    Tricky("encounter_id", number(2_000_000, 9_000_000), "R"),
    Tricky("admit_dt", number(41_000, 45_000), "C"),
    Tricky("nr", number(100_000_000, 999_999_999), "R"),
    Tricky("c1", code("AAA-99999-A"), "R"),
    Tricky("uid", lambda rng: f"{rng.getrandbits(128):032x}", "R"),
)
"""Called insensitive, the list must refuse them or make them coarser."""

ACCEPTED: tuple[Tricky, ...] = (
    Tricky("age_at_admission", number(18, 89), ""),
    Tricky("visit_count", number(1, 12), ""),
    Tricky("insurance_type", of("private", "public", "none"), ""),
    Tricky("age_group", of("0-17", "18-64", "65-89", "90+"), ""),
    Tricky("age_group", of("0-17", "18-64", "65 and over"), ""),
    Tricky("age", of("under 40", "40 to 89", "90 or older"), ""),
    Tricky("age_months", number(0, 1079), ""),
    Tricky("years_of_education", number(0, 22), ""),
    Tricky("years_of_service", number(0, 45), ""),
    Tricky("zip3", of("021", "100", "606", "000"), ""),
    Tricky("zip3", of("021**", "100**", "606**"), ""),
    Tricky("state", of("CA", "NY", "TX", "WA"), ""),
    Tricky("state", of("California", "New York", "Ohio"), ""),
    Tricky("country", of("France", "Peru", "Japan", "Kenya"), ""),
    Tricky("country_of_birth", of("France", "Peru", "Japan", "Kenya"), ""),
    Tricky("region", of("Northeast", "Midwest", "South", "West"), ""),
    Tricky("urban_rural", of("urban", "rural"), ""),
    Tricky("address", of("U", "R"), ""),
    Tricky("city_size", of("small", "medium", "large"), ""),
    Tricky("admission_year", number(2012, 2024), ""),
    Tricky("year", number(2012, 2024), ""),
    Tricky("birth_year", number(1937, 2010), ""),
    Tricky("birth_year", of("1936 or earlier", "1937", "1990"), ""),
    Tricky("birth_weight", number(1800, 4400), ""),
    Tricky("birth_order", number(1, 6), ""),
    Tricky("admission_type", of("emergency", "elective", "urgent"), ""),
    Tricky("discharge_disposition", of("home", "rehab", "transfer"), ""),
    Tricky("days_in_hospital", number(1, 60), ""),
    Tricky("los", number(1, 60), ""),
    Tricky("visits_per_month", number(0, 9), ""),
    Tricky("phone_type", of("mobile", "landline", "none"), ""),
    Tricky("email_opt_in", of("yes", "no"), ""),
    Tricky("has_fax", of("yes", "no"), ""),
    Tricky("account_type", of("savings", "checking"), ""),
    Tricky("account_balance", lambda rng: round(rng.uniform(10, 90000), 2), ""),
    Tricky("license_class", of("A", "B", "C"), ""),
    Tricky("device_type", of("pump", "pacemaker", "none"), ""),
    Tricky("plate_count", number(90, 400), ""),
    Tricky("platelets", number(150_000, 450_000), ""),
    Tricky("ip_contact", of("yes", "no"), ""),
    Tricky("photo_taken", of("yes", "no"), ""),
    Tricky("mother_smokes", of("yes", "no"), ""),
    Tricky("mother_age", number(16, 48), ""),
    Tricky("mother_education", of("primary", "secondary", "tertiary"), ""),
    Tricky("employer_size", of("1-9", "10-49", "50-249", "250+"), ""),
    Tricky("income", number(12_000, 99_000), ""),
    Tricky("charges", lambda rng: round(rng.uniform(90, 99000), 2), ""),
    Tricky("systolic", number(90, 190), ""),
    Tricky("score", number(0, 100), ""),
    Tricky("bmi", lambda rng: round(rng.uniform(17, 41), 1), ""),
    Tricky("hba1c", lambda rng: round(rng.uniform(4.1, 12.9), 1), ""),
    Tricky("weight_kg", number(40, 140), ""),
    Tricky("heart_rate", number(48, 140), ""),
    Tricky("glucose", number(60, 300), ""),
    Tricky("diagnosis", of(*ILL), ""),
    Tricky("icd10", of("E11.9", "I10", "J45.909", "M54.5", "Z00.00"), ""),
    Tricky("cpt", of("99213", "99214", "80053", "36415"), ""),
    Tricky("ndc_class", of("statin", "insulin", "opioid"), ""),
    Tricky("sex", of("F", "M"), ""),
    Tricky("race", of("Asian", "Black", "White", "Other"), ""),
    Tricky("marital_status", of("single", "married", "widowed"), ""),
    Tricky("smoker", of("never", "former", "current"), ""),
    Tricky("medication", of("metformin", "insulin", "aspirin", "none"), ""),
    Tricky("record_type", of("inpatient", "outpatient"), ""),
    Tricky("member_status", of("active", "left"), ""),
    Tricky("certificate_level", of("basic", "advanced"), ""),
    Tricky("web_user", of("yes", "no"), ""),
    Tricky("readmitted", of("NO", "<30", ">30"), ""),
    Tricky("ward_type", of("surgical", "medical"), ""),
    Tricky("specialty", of("cardiology", "surgery", "neurology"), ""),
    Tricky("loinc", of("718-7", "2345-7", "4548-4", "2160-0", "789-8", "6690-2"), ""),
    Tricky("alter_monate", number(0, 1079), ""),
    Tricky("snomed", of("22298006", "38341003", "73211009", "195967001"), ""),
    Tricky("soc", of("11-1021", "29-1141", "15-1252", "53-3032"), ""),
    Tricky("atc", of("A10BA02", "C07AB02", "N02BE01", "C10AA05"), ""),
    Tricky("hcpcs", of("J1100", "G0008", "A0425"), ""),
    Tricky("drg", of("470", "871", "291", "392"), ""),
    Tricky("status", of("stable", "improved", "worse"), ""),
    Tricky("geschlecht", of("m", "w"), ""),
    Tricky("sexo", of("Hombre", "Mujer"), ""),
    Tricky("пол", of("мужской", "женский"), ""),
    Tricky("性别", of("男", "女"), ""),
    Tricky("diagnose", of("Asthma", "Diabetes", "Grippe", "Bronchitis"), ""),
    Tricky("poids_kg", number(40, 140), ""),
    Tricky("creatinine", lambda rng: round(rng.uniform(0.4, 3.9), 2), ""),
    Tricky("n_visits", number(0, 14), ""),
    Tricky("pain_score", number(0, 10), ""),
    Tricky("yes_no", number(0, 1), ""),
    Tricky("x1", number(0, 1), ""),
    Tricky("education", of("primary", "secondary", "tertiary"), ""),
    Tricky("religion", of("catholic", "protestant", "muslim", "none"), ""),
    Tricky("blood_group", of("A+", "0-", "B+", "AB+"), ""),
)
"""None of the eighteen, or as coarse as the list allows: refusing them would be wrong."""


SCRIPTS: dict[str, tuple[str, str, str]] = {
    "姓名": ("王 李 张 刘 陈 杨 赵 黄 周 吴 徐 孙", "", "伟 芳 娜 敏 静 秀英 丽 强 磊 军 洋 勇 艳 杰 涛 明 超 秀兰 霞 平"),
    "氏名": ("佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤", " ", "翔太 大輔 健一 美咲 陽子 恵子 直樹 花子 太郎 由美子"),
    "이름": ("김 이 박 최 정 강 조 윤 장 임", "", "민준 서연 지훈 지우 현우 수빈 예은 도윤 하은 영수"),
    "фио": ("Иванов Петров Сидоров Кузнецов Попов Волков Морозов", " ", "Иван Сергей Анна Олег Мария Дмитрий Ольга Павел"),
    "піб": ("Шевченко Коваленко Бондаренко Ткаченко Мельник Бойко", " ", "Олена Тарас Оксана Андрій Юрій Наталія Ігор Марія"),
    "име": ("Георгиев Димитров Петкова Стоянов Тодорова Илиева", " ", "Георги Мария Иван Елена Николай Десислава Петър Рая"),
    "име_и_презиме": ("Јовановић Петровић Николић Марковић Ђорђевић", " ", "Милан Јелена Драган Љиљана Никола Ана Марко Ивана"),
    "όνομα": ("Παπαδόπουλος Νικολάου Γεωργίου Ιωάννου Δημητρίου", " ", "Γιώργος Μαρία Ελένη Κώστας Νίκος Άννα Σοφία Πέτρος"),
    "الاسم": ("الخطيب العلي حداد المصري النجار خوري الشامي", " ", "محمد أحمد فاطمة علي زينب عمر خالد مريم حسن ليلى"),
    "שם": ("כהן לוי מזרחי פרץ ביטון דהן אברהם פרידמן", " ", "דוד שרה משה רחל יוסף מרים נועה איתן יעל אורי"),
    "نام": ("احمدی محمدی حسینی رضایی کریمی موسوی جعفری", " ", "علی زهرا رضا فاطمه حسین مریم مهدی نرگس امیر سارا"),
    "नाम": ("शर्मा वर्मा गुप्ता सिंह कुमार पटेल यादव मिश्रा", " ", "राम सीता अमित प्रिया राजेश सुनीता विजय अनिता"),
    "নাম": ("রহমান হোসেন ইসলাম খান আক্তার বেগম দাস রায়", " ", "আব্দুল করিম ফাতেমা রহিম নাসরিন কামাল সুমি জাহিদ"),
    "பெயர்": ("குமார் முருகன் செல்வம் ராஜன் சுந்தரம்", " ", "ரவி மீனா கார்த்திக் லட்சுமி அருண் பிரியா சுரேஷ்"),
    "ชื่อ": ("ใจดี สุขใจ ทองคำ ศรีสุข แก้วมณี บุญมา วงศ์ไทย", " ", "สมชาย สมหญิง มานะ มานี วิชัย ปราณี สุดา อนันต์"),
    "სახელი": ("ბერიძე კაპანაძე გელაშვილი მამედოვი ლომიძე", " ", "გიორგი ნინო დავით მარიამ ლევან თამარ ანა ირაკლი"),
    "անուն": ("Հարությունյան Սարգսյան Գրիգորյան Հակոբյան Պետրոսյան", " ", "Արամ Անի Տիգրան Մարիամ Դավիթ Նարե Կարեն"),
    "ስም": ("ተስፋዬ በቀለ አበበ ከበደ ግርማ ታደሰ", " ", "አበበች ሙሉ ሰላም ዳዊት ማርታ ዮሐንስ ሄለን"),
    "név": ("Nagy Kovács Tóth Szabó Horváth Varga Kiss Molnár Németh", " ", "Gábor Zsófia Ágnes Bence Dóra Csaba Réka Ádám"),
}
"""Names of people by the header of their language: family names, what stands between, given names."""


def named(header: str) -> Make:
    family, between, given = SCRIPTS[header]
    first = header in ("фио", "піб", "姓名", "氏名", "이름", "név")

    def make(rng: random.Random) -> str:
        a, b = rng.choice(family.split()), rng.choice(given.split())
        return f"{a}{between}{b}" if first else f"{b}{between}{a}"

    return make


def day_number(first: str, *, unit: int = 1, fraction: bool = False) -> Make:
    """A day from 2012 to 2024 counted from a first day, in days or seconds."""

    def make(rng: random.Random) -> float:
        day = dt.date(2012, 1, 1) + dt.timedelta(days=rng.randrange(365 * 12))
        n = (day - dt.date.fromisoformat(first)).days * unit
        return n + round(rng.random(), 4) if fraction else n

    return make


def noted(cell: Make, share: float = 0.1) -> Make:
    """A short free text, in some rows with something that names a person."""
    return rarely(cell, of("stable", "improved", "left", "worse"), share)


ROMAN = "I II III IV V VI VII VIII IX X XI XII".split()
AGES = (
    "wiek věk vek ålder alder ikä yaş kor возраст вік ηλικία 年齢 年龄 나이 العمر גיל سن आयु বয়স อายุ tuổi umur umri vanus".split()
)


def vin(rng: random.Random) -> str:
    signs = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"
    values = dict(
        zip("ABCDEFGHJKLMNPRSTUVWXYZ", (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9), strict=True)
    )
    body = [rng.choice(signs) for _ in range(17)]
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    rest = sum(w * (int(c) if c.isdigit() else values[c]) for w, c in zip(weights, body, strict=True)) % 11
    body[8] = "X" if rest == 10 else str(rest)
    return "".join(body)


SSN, SSN_BLANKS = code("219099999"), code("219 09 9999")
HIDDEN: tuple[Tricky, ...] = (
    *(Tricky(header, named(header), "A") for header in SCRIPTS),
    *(
        Tricky(name, named(header), "A")
        for name in ("status", "diagnosis", "c7")
        for header in ("姓名", "фио", "الاسم", "név", "ชื่อ")
    ),
    *(
        Tricky(name, SSN, "G")
        for name in ("soc", "icd10", "snomed", "occupation", "cpt", "icd", "atc", "loinc", "income", "score")
    ),
    *(Tricky(name, SSN_BLANKS, "G") for name in ("soc", "occupation", "icd10", "note")),
    Tricky("status", noted(lambda rng: f"born on {rng.randint(1, 28)} May {rng.randint(1940, 1999)}"), "C"),
    Tricky("status", noted(lambda rng: f"born {rng.randint(1, 28)}. Mai {rng.randint(1940, 1999)}"), "C"),
    Tricky("status", noted(lambda rng: f"call {rng.randint(201, 989)} 555 {rng.randint(1000, 9999)}"), "D"),
    Tricky("status", noted(lambda rng: f"call {rng.randint(201, 989)}-555-{rng.randint(1000, 9999)} first"), "D"),
    Tricky("status", noted(lambda rng: f"mobil 0{rng.randint(150, 179)} {rng.randint(1000000, 9999999)}"), "D"),
    Tricky("result", noted(lambda rng: f"from {rng.randint(11, 200)}.{rng.randint(0, 255)}.{rng.randint(0, 255)}.7"), "O"),
    Tricky("result", noted(lambda rng: f"car {vin(rng)}"), "L"),
    Tricky("result", noted(lambda rng: f"see example.org/p/{rng.randint(100, 999)}"), "N"),
    Tricky("result", noted(lambda rng: f"ssn {rng.randint(100, 665)} {rng.randint(10, 99)} {rng.randint(1000, 9999)}"), "G"),
    Tricky("outcome", noted(lambda rng: f"lives {rng.randint(1, 99)} Main Street"), "B"),
    Tricky("outcome", noted(lambda rng: f"wohnt Gartenweg {rng.randint(1, 99)}"), "B"),
    Tricky("outcome", noted(lambda rng: f"mother {person(rng)}"), "A"),
    Tricky("outcome", noted(named("фио")), "A"),
    Tricky("outcome", rarely(named("姓名"), of("好", "差"), 0.02), "A"),
    Tricky("type", noted(lambda rng: f"MRN {rng.randint(100000, 999999)}"), "H"),
    Tricky("type", of("Springfield", "Shelbyville", "Ogdenville"), "B"),
    Tricky("gemeinde", of("Adorf", "Bedorf", "Cedorf"), "B"),
    Tricky("居住地", of("新宿区", "渋谷区", "八王子市"), "B"),
    *(Tricky(name, number(20, 99), "C") for name in AGES),
    Tricky("x9", number(18, 99), "C"),
    Tricky("visita", day_number("1960-01-01"), "C"),
    Tricky("t0", day_number("1960-01-01"), "C"),
    Tricky("admit", day_number("1960-01-01"), "C"),
    Tricky("d1", day_number("1970-01-01"), "C"),
    Tricky("indlaeggelse", day_number("1899-12-30"), "C"),
    Tricky("v5", day_number("1899-12-30"), "C"),
    Tricky("v5", day_number("1899-12-30", fraction=True), "C"),
    Tricky("v6", day_number("1970-01-01", unit=86_400, fraction=True), "C"),
    Tricky("stamp", day_number("1970-01-01", unit=86_400_000), "C"),
    Tricky("sasdt", day_number("1960-01-01", unit=86_400), "C"),
    Tricky("jd", lambda rng: 2_455_928 + rng.randrange(4000), "C"),
    Tricky("jd", lambda rng: 2_455_928.5 + rng.randrange(4000), "C"),
    Tricky("wk", lambda rng: f"KW {rng.randint(1, 52)}/{rng.randint(2019, 2024)}", "C"),
    Tricky("status", lambda rng: f"KW {rng.randint(1, 52)}/{rng.randint(2019, 2024)}", "C"),
    Tricky("data", lambda rng: f"{rng.randint(1, 28)}.{rng.choice(ROMAN)}.{rng.randint(2012, 2024)}", "C"),
    Tricky("วันที่", lambda rng: f"{rng.randint(1, 28):02d}/{rng.randint(1, 12):02d}/{rng.randint(2555, 2567)}", "C"),
    Tricky("วันที่", lambda rng: f"{rng.randint(2555, 2567)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}", "C"),
    Tricky("tarikh", lambda rng: f"{rng.randint(1390, 1403)}/{rng.randint(1, 12):02d}/{rng.randint(1, 28):02d}", "C"),
    Tricky("日付", lambda rng: f"令和{rng.randint(1, 6)}年{rng.randint(1, 12)}月{rng.randint(1, 28)}日", "C"),
    Tricky("日期", lambda rng: f"{rng.randint(2012, 2024)}年{rng.randint(1, 12)}月{rng.randint(1, 28)}日", "C"),
    Tricky("날짜", lambda rng: f"{rng.randint(2012, 2024)}년 {rng.randint(1, 12)}월 {rng.randint(1, 28)}일", "C"),
    Tricky("дата", lambda rng: f"{rng.randint(1, 28)} {rng.choice(['мая', 'июня', 'марта'])} {rng.randint(2012, 2024)}", "C"),
    Tricky("data_przyjecia", lambda rng: f"{rng.randint(1, 28)} {rng.choice(['maja', 'lipca'])} {rng.randint(2012, 2024)}", "C"),
    Tricky("yyddd", lambda rng: f"{rng.randint(12, 24)}{rng.randint(1, 365):03d}", "C"),
    Tricky("week", lambda rng: f"{rng.randint(2012, 2024)}-W{rng.randint(1, 52):02d}", "C"),
    Tricky("mes", number(1, 12), "C"),
    Tricky("miesiac", number(1, 12), "C"),
    Tricky("c3", number(1, 12), "C"),
    Tricky("ano_nascimento", number(1925, 2001), "C"),
    Tricky("rok_urodzenia", number(1925, 2001), "C"),
    Tricky("pesel", code("99999999999"), "G"),
    Tricky("kod_pocztowy", code("99-999"), "B"),
    Tricky("puhelin", code("040 9999999"), "D"),
    Tricky("result", code("A999999"), "R"),
    Tricky("result", number(100_000, 999_999), "R"),
    Tricky("income", day_number("1970-01-01", unit=86_400, fraction=True), "C"),
    Tricky("score", number(1930, 2010), "C"),
    Tricky("q9", lambda rng: round(rng.uniform(52.1, 52.6), 5), "B"),
)
"""Published as they are, they would break the rule: refused, made coarser, or asked about; never let through."""


def signs(of_these: str, n: int) -> Make:
    return lambda rng: "".join(rng.choice(of_these) for _ in range(n))


FRESH: tuple[Tricky, ...] = (
    Tricky("rater", lambda rng: f"{rng.choice('ABCDEFGHJKLM')}.{rng.choice('ABCDEFGHJKLM')}.{rng.choice('ABCDEFGHJKLM')}.", "A"),
    Tricky("culture", noted(person), "A"),
    Tricky("arm", rarely(person, of("A", "B"), 0.03), "A"),
    Tricky("ref", code("9999 9999 9999"), "G"),
    Tricky("code", code("S9999999A"), "G"),
    Tricky(
        "status",
        lambda rng: f"110101{rng.randint(1950, 1999)}{rng.randint(1, 12):02d}{rng.randint(101, 128)}{rng.randint(10, 99)}X",
        "G",
    ),
    Tricky("doc", code("A99999999"), "K"),
    Tricky("contact", lambda rng: f"@{rng.choice(FIRST).lower()}{rng.randint(1, 999)}", "R"),
    Tricky(
        "plate",
        lambda rng: f"{signs('АВЕКМН', 1)(rng)}{rng.randint(100, 999)}{signs('АВЕКМН', 2)(rng)}{rng.randint(1, 199)}",
        "L",
    ),
    Tricky(
        "pos",
        lambda rng: (
            f"{rng.randint(40, 52)}°{rng.randint(0, 59)}′{rng.randint(0, 59)}″N {rng.randint(3, 9)}°{rng.randint(0, 59)}′E"
        ),
        "B",
    ),
    Tricky(
        "loc",
        lambda rng: f"9F46{rng.choice('2345')}{rng.choice('VWXR')}{rng.choice('9823')}C+{rng.choice('XRWV')}{rng.choice('XRWV')}",
        "B",
    ),
    Tricky("loc", lambda rng: f"u17{''.join(rng.choice('bcdefghjkmnp0123456789') for _ in range(5))}", "B"),
    Tricky("visit", lambda rng: f"{rng.randint(1, 28):02d}/{rng.randint(1, 12):02d}", "C"),
    Tricky("visit", lambda rng: f"{rng.randint(1, 28):02d}-{rng.choice(['Mar', 'Apr', 'Dec'])}", "C"),
    Tricky("onset", noted(lambda rng: f"{rng.randint(2, 9)} weeks after {rng.randint(1, 28)} March 2021"), "C"),
    Tricky("seen", lambda rng: f"{rng.randint(1, 28)} ม.ค. {rng.randint(2555, 2566)}", "C"),
    Tricky("seen", lambda rng: f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}", "C"),
    Tricky("fy", lambda rng: f"Q{rng.randint(1, 4)} FY{rng.randint(18, 24)}", "C"),
    Tricky("status", noted(lambda rng: f"{rng.randint(90, 99)} years old"), "C"),
    Tricky("status", noted(lambda rng: f"{rng.randint(90, 104)}歳"), "C"),
    Tricky("alter", lambda rng: f"{rng.randint(60, 99)} Jahre", "C"),
    Tricky("outcome", noted(lambda rng: f"b. {rng.randint(1915, 1934)}"), "C"),
    Tricky("score", lambda rng: f"06{rng.randint(10000000, 99999999)}", "D"),
    Tricky("status", noted(lambda rng: f"tel:06{rng.randint(10000000, 99999999)}"), "D"),
    Tricky("area", code("AA9 9AA"), "B"),
    Tricky("area", code("A9A 9A9"), "B"),
    Tricky("pc", code("9999 AA"), "B"),
    Tricky("status", noted(lambda rng: f"moved to Boston {rng.randint(2108, 2299):05d}"), "B"),
    Tricky("unit_sn", signs("0123456789abcdef", 12), "M"),
    Tricky("handset", number(350000000000000, 359999999999999), "M"),
    Tricky("link", lambda rng: f"example.co.uk/p/{rng.randint(1, 9999)}", "N"),
    Tricky("host", lambda rng: f"fe80::{rng.randint(1, 65535):x}", "O"),
    Tricky(
        "print", lambda rng: "".join(rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij0123456789+/") for _ in range(44)) + "=", "P"
    ),
    Tricky("tok", signs("0123456789abcdef", 6), "R"),
    Tricky("adres", lambda rng: f"улица Ленина, д. {rng.randint(1, 99)}", "B"),
    Tricky("x", lambda rng: f"ul. Długa {rng.randint(1, 99)}", "B"),
    Tricky("x", lambda rng: f"Rua Augusta, {rng.randint(1, 999)}", "B"),
    Tricky("status", noted(lambda rng: f"Οδός Ερμού {rng.randint(1, 99)}"), "B"),
    Tricky("temp", lambda rng: f"{rng.choice(LAST)}-{rng.randint(1, 9)}", "A"),
    Tricky("dose", lambda rng: f"{rng.randint(1, 28):02d}.{rng.randint(1, 12):02d}.{rng.randint(2012, 2024)}", "C"),
    Tricky("co2", number(100000000, 999999999), "R"),
    Tricky("like", mail, "F"),
)
"""As HIDDEN, written before the rule was run on them."""


def column(tricky: Tricky, *, rows: int = 300, seed: int = 0) -> list[object]:
    """Values of a tricky column."""
    rng = random.Random(f"{seed} {tricky.name} {tricky.letter}")
    return [tricky.make(rng) for _ in range(rows)]
