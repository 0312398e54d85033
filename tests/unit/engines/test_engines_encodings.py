"""Guessed encodings: names of towns in their languages, written by the spreadsheets of their countries."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from shoal.engines.files.csv.encodings import UnknownEncodingError, guess_encoding
from shoal.errors import UnreadableError

CENTRAL = {
    "Czech": "Řehoř,Plzeň\nŽofie,Děčín\nŠtěpán,Kroměříž\n",
    "Slovak": "Ľudovít,Piešťany\nČestmír,Košice\nŽofia,Ľubochňa\n",
    "Hungarian": "Győző,Győr\nÁkos,Pécs\nGyöngyi,Székesfehérvár\nErnő,Gyöngyös\nTünde,Szőny\n",
    "Croatian": "Đuro,Čakovec\nŠime,Šibenik\nŽeljko,Požega\nIvić,Poreč\n",
    "Slovene": "Črt,Črnomelj\nŠpela,Škofja Loka\nŽiga,Žalec\n",
    "Romanian": "Şerban,Braşov\nIonuţ,Constanţa\nMădălina,Târgovişte\n",
    "Polish": "Łukasz,Łódź\nŻaneta,Gdańsk\n",
}
WESTERN = {
    "French": "Hélène,Besançon\nAnaïs,Sète\nNoël,Nîmes\nGisèle,Genève\n",
    "German": "Jürgen,Köln\nGroß,Münster\nKäthe,Lübeck\n",
    "Portuguese": "João,São Paulo\nConceição,Évora\nSimões,Guimarães\n",
    "Spanish": "Nuño,La Coruña\nÁngel,Cádiz\nAgüero,Málaga\n",
    "Italian": "Nicolò,Forlì\nSalomè,Città\n",
    "Danish": "Søren,Århus\nKjær,Køge\nÅse,Ærø\n",
    "Icelandic": "Þór,Reykjavík\nGuðrún,Ísafjörður\n",
    "Estonian": "Õnne,Võru\nJüri,Pärnu\n",
    "several": "José,Björn\nSøren,Muñoz\nFrançois,Hélène\nÖzil,Peña\n",
    "German and Spanish": "Jürgen,Köln\nJosé,Cádiz\nMaría,Málaga\n",
}


@pytest.mark.parametrize("language", CENTRAL)
def test_windows_1250_is_known_by_the_letters_of_its_languages(language: str) -> None:
    assert guess_encoding(CENTRAL[language].encode("cp1250")) == "cp1250"


@pytest.mark.parametrize("language", WESTERN)
def test_western_languages_stay_western(language: str) -> None:
    raw = WESTERN[language].encode("cp1252")
    assert raw.decode(guess_encoding(raw)) == WESTERN[language]


@pytest.mark.parametrize("text", ["Institution’s support", "don’t know", "5–7", "yes – often", "“maybe”"])
def test_signs_of_word_processors_are_those_of_windows(text: str) -> None:
    assert guess_encoding(f"a,b\n1,{text}\n".encode("cp1252")) == "cp1252"


def test_one_letter_that_differs_proves_nothing() -> None:
    """č of 1250 is è of 1252; š and ž are the same in both."""
    with pytest.raises(UnknownEncodingError, match="not certain"):
        guess_encoding("Škoda,Žilina,è".encode("cp1252"))


RUSSIAN = "Имя,Город,Возраст\nИванов Пётр,Москва,34\nСидорова Анна,Тверь,41\nКузнецов,Омск,29\n"
GREEK = "Όνομα,Πόλη,Ηλικία\nΓιώργος,Αθήνα,34\nΆννα,Πάτρα,41\n"
JAPANESE = "氏名,都市,年齢\n田中太郎,東京,34\nスズキ,大阪,41\n"
POLISH = "imię,miasto\nŁukasz,Łódź\nŻaneta,Gdańsk\nStanisław,Świdnica\nJaś,Mińsk\n"
CZECH = "Jméno,Město\nŘehoř,Plzeň\nŽofie,Děčín\nŠtěpán,Kroměříž\n"
OTHERS = [
    *((page, RUSSIAN) for page in ("cp1251", "koi8-r", "cp866", "mac-cyrillic", "iso8859-5")),
    *((page, text) for page in ("iso8859-2", "cp1250") for text in (POLISH, CZECH)),
    *((page, GREEK) for page in ("cp1253", "iso8859-7")),
    *((page, JAPANESE) for page in ("shift_jis", "euc-jp")),
    ("gbk", "姓名,城市,年龄\n王伟,北京,34\n李娜,上海,41\n张敏,广州,29\n"),
    ("big5", "姓名,城市,年齡\n王偉,臺北,34\n李娜,高雄,41\n張敏,臺中,29\n"),
    ("euc-kr", "이름,도시,나이\n김철수,서울,34\n이영희,부산,41\n"),
    ("mac-roman", "Prénom,Ville\nHélène,Besançon\nNoël,Nîmes\n"),
    ("cp850", "name,town\nJürgen,Köln\nGroß,Münster\n"),
    ("koi8-u", "Ім'я,Місто\nПетро,Київ\nЄва,Львів\nЇжак,Чернігів\n"),
    ("cp1254", "Ad,Şehir\nİbrahim,Eskişehir\nÇağrı,Muğla\nIşıl,Kırıkkale\nŞükrü,Ağrı\nGülşah,Çanakkale\n"),
    ("cp1255", "שם,עיר\nדוד,ירושלים\nמשה,חיפה\n"),
    ("cp1256", "الاسم,المدينة\nمحمد,القاهرة\n"),
    ("cp874", "ชื่อ,เมือง\nสมชาย,กรุงเทพ\n"),
    ("cp1257", "Vārds,Pilsēta\nJānis,Rīga\nŽydrūnas,Šiauliai\n"),
]


@pytest.mark.parametrize(("page", "text"), OTHERS)
def test_code_pages_are_known_by_their_languages(page: str, text: str) -> None:
    raw = text.encode(page)
    assert raw.decode(guess_encoding(raw)) == text
    assert (raw * 3).decode(guess_encoding(raw * 3)) == text * 3


@pytest.mark.parametrize(("page", "text"), OTHERS)
def test_a_few_letters_are_read_rightly_or_asked_about(page: str, text: str) -> None:
    for cell in text.replace("\n", ",").split(","):
        raw = f"{cell},a,1\n".encode(page)
        try:
            found = guess_encoding(raw)
        except UnknownEncodingError:
            continue
        assert raw.decode(found) == raw.decode(page) or sum(c > "\x7f" for c in cell) < 6


@pytest.mark.parametrize(
    ("page", "towns"),
    [
        ("cp1254", ["İstanbul", "Iğdır", "Muğla", "yaş", "şehir", "kadın"]),
        ("iso8859-9", ["doğum", "Işık", "Kırşehir", "Ayşe"]),
        ("iso8859-2", ["Łódź"]),
        ("iso8859-2", ["Toruń", "Poznań", "żona"]),
        ("cp1250", ["Toruń", "córka", "żona"]),
        ("iso8859-2", ["Plzeň", "město", "Děčín"]),
        ("big5", ["否", "未婚", "女", "年齡"]),
        ("iso8859-6", ["القاهرة", "دمشق", "فاطمة"]),
        ("euc-jp", ["新宿区", "渋谷区"]),
        ("mac-cyrillic", ["город", "возраст", "Сергей"]),
        ("cp1251", ["мужской", "женский"]),
    ],
)
def test_a_word_that_many_rows_repeat_is_one_word(page: str, towns: list[str]) -> None:
    """Repeated sixty times, one text made a wrong page certain: 60 rows of Łódź were read as £ód¼."""
    text = "id;town\n" + "".join(f"{i};{towns[i % len(towns)]}\n" for i in range(60))
    try:
        readings: tuple[str, ...] = (guess_encoding(text.encode(page)),)
    except UnknownEncodingError as asked:
        readings = asked.readings
    assert text in [text.encode(page).decode(reading) for reading in readings]


def test_an_encoding_that_rests_on_few_texts_is_called_a_guess(tmp_path: Path) -> None:
    for towns, few in (["Köln"], True), (["Köln", "München"], True), (["Köln", "München", "Würzburg", "Gießen", "Fürth"], False):
        file = tmp_path / f"{len(towns)}.csv"
        file.write_bytes(("id,town\n" + "".join(f"{i},{towns[i % len(towns)]}\n" for i in range(30))).encode("latin-1"))
        assert shoal.open(file).source["encoding"] == "latin-1"
        assert any("guessed from a few texts" in line for line in shoal.open(file).source.get("repairs", ())) is few
        assert "repairs" not in shoal.open(file, encoding="latin-1").source


def test_close_readings_are_shown_by_the_names_of_columns_only(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes("Да,n\nНет,1\nНет,2\n".encode("cp1251"))
    try:
        guess_encoding(file.read_bytes())
    except UnknownEncodingError:
        with pytest.raises(UnreadableError, match="--read encoding=") as caught:
            shoal.open(file)
        assert "Нет" not in str(caught.value)
    assert shoal.open(file, encoding="cp1251").schema.names == ("Да", "n")


@pytest.mark.parametrize("raw", [b"PK\x03\x04abc", b"\xd0\xcf\x11\xe0\xa1\xb1", bytes(range(256)) * 8, b"\x00\x01\x02\x03" * 900])
def test_a_binary_file_is_refused_as_such(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(raw)
    with pytest.raises(UnreadableError, match="not a text file"):
        shoal.open(file)


@pytest.mark.parametrize("raw", [b"age,\x1b]0;PWN\x07red\n1,2\n3,4\n", b"a,\x0bb\x7f\n1,2\n"])
def test_a_short_text_with_a_few_control_characters_is_text(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(raw)
    assert len(shoal.open(file).schema.names) == 2


ONE_WORD = {
    "iso8859_2 cp1250 cp852": "Plzeň Győr Šibenik Gdańsk Košice muž Łódź Ústí mężczyzna Iaşi Őrség",
    "cp1251 koi8_r cp866 iso8859_5": "Москва муж да ж",
    "cp1253 iso8859_7": "Αθήνα άνδρας",
    "cp1254": "İzmir Ağrı kadın",
    "latin-1 mac_roman cp850": "Köln Müller José Weiß étudiant Señor Malmö Åsa",
    "cp932 euc_jp": "山田 男",
    "gb18030 big5": "北京 台北",
    "cp949": "서울 남",
    "cp1257": "Rīga Šiauliai",
}


@pytest.mark.parametrize("rows", [1, 30])
@pytest.mark.parametrize(
    ("page", "word"), [(page, word) for pages, words in ONE_WORD.items() for page in pages.split() for word in words.split()]
)
def test_one_word_is_read_right_or_asked_about(page: str, word: str, rows: int) -> None:
    raw = ("name,town,age\n" + f"Anna,{word},34\nPiet,Delft,51\n" * rows).encode(page)
    try:
        found = raw.decode(guess_encoding(raw))
    except UnknownEncodingError:
        return
    assert word in found


@pytest.mark.parametrize("word", ["Köln", "Müller", "José", "Malmö", "Élodie", "Weiß"])
def test_common_words_of_latin_1_are_not_asked_about(word: str) -> None:
    assert guess_encoding(f"name,town,age\nAnna,{word},34\n".encode("latin-1")) == "latin-1"


def test_names_in_korean_above_numbers_are_not_thai() -> None:
    raw = ("날짜,지점,평균기온(℃),최저기온(℃),최고기온(℃)\n" + "1907-10-01,108,13.5,7.9,20.7\n" * 9).encode("cp949")
    assert guess_encoding(raw) == "cp949"
    for text in ("ชื่อ,จังหวัด\nสมชาย,กรุงเทพมหานคร\n", "name,town\nx,ภูเก็ต\ny,ขอนแก่น\nz,น้ำหนัก\n"):
        assert guess_encoding(text.encode("cp874")) == "cp874"
