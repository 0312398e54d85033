"""Guessed encodings: names of towns in their languages, written by the spreadsheets of their countries."""

from __future__ import annotations

import pytest

from shoal.engines.files.csv.sniff import guess_encoding

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


def test_one_letter_that_differs_proves_nothing() -> None:
    """č of 1250 is è of 1252; š and ž are the same in both."""
    assert guess_encoding("Škoda,Žilina,è".encode("cp1252")) == "cp1252"
    assert guess_encoding("Škoda,Žilina,čč".encode("cp1250")) == "cp1250"
