"""The words of time in each language as one-letter symbols, over which :mod:`memwarden.text.dates.grammar` is written.

A symbol says what part a word plays; its value is what it means:

=====  ===================================================  ===========================
M, m   month, month that is a word more often                1..12
W, w   weekday, weekday that is a word more often            0..6, Monday is 0
V      weekdays, a habit but for "two Sundays ago"           0..6
U      hour, day, week, month, year, decade                  its name
B, C   quarter, weekend                                      its name
a      part of a day                                         0
D      yesterday, today, tomorrow                            days from the day of saying
Z, q   season, season that is a word more often              its name
H      holiday                                               its name
L, l   last, before its noun; after it                       how many back
X, r   next, before its noun; after it                       how many ahead
T, g   this; the other (day)                                 0
A, P   ago, from now; ago before its number                  -1 or 1
E, e   early, mid, late; earlier, later                      -1, 0, 1
n, v   number; few, several                                  int; (least, most)
s      ordinal in letters                                    1..31
f c &  from, between; to; and                                0
S, k   since; until                                          0
b, z   before; after                                         0
i, u   in; on, at, during                                    0
o h j  of; the; for                                          0
*      every                                                 0
=====  ===================================================  ===========================
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Meaning = tuple[str, Any]
Phrases = Mapping[str, tuple[list[str], ...]]
"""By the first word of a phrase the others, the longest phrase first."""

ANCHORS: Final = frozenset("MmWwVUBCDZqHQKa")
"""Every rule of the grammar needs one of these, or a number that looks like a date."""


@dataclass(frozen=True, slots=True)
class Language:
    """The words of one language.

    Attributes:
        words: what a word, a sign or a phrase (with blanks) means. phrases: those of several words.
        marks: words that tell the language. future, past: words that tell the time of a sentence.
        past_endings: endings of verbs that tell of the past.
        day_first: whether 8/5/2023 is in May.
    """

    words: Mapping[str, Meaning]
    phrases: Phrases
    marks: frozenset[str]
    future: frozenset[str]
    past: frozenset[str]
    past_endings: tuple[str, ...]
    day_first: bool = True


def _fold(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def _listed(table: Mapping[str, str]) -> Iterator[tuple[str, Meaning]]:
    """``"M": "january jan=1 february=2"``: a word without a value takes the next one that follows it."""
    for symbol, listing in table.items():
        waiting: list[str] = []
        for entry in listing.split():
            word, _, value = entry.partition("=")
            waiting.append(word.replace("_", " "))
            if value:
                yield from ((item, (symbol, _value(value))) for item in waiting)
                waiting = []
        yield from ((item, (symbol, 0)) for item in waiting)


def _value(text: str) -> Any:
    if ".." in text:
        least, most = text.split("..")
        return int(least), int(most)
    return int(text) if text.lstrip("-").isdigit() else text


_SIGNS: Final[dict[str, Meaning]] = {
    **{sign: (sign, 0) for sign in ",.-"},
    **dict.fromkeys("–—", ("-", 0)),
    **dict.fromkeys("!?;()\n", (";", 0)),
    **dict.fromkeys("$€£¥#", ("$", 0)),
    ":": (":", 0),
}


def _language(
    table: Mapping[str, str], *, marks: str, future: str, past: str, endings: str, day_first: bool = True
) -> Language:
    words: dict[str, Meaning] = {f"q{n}": ("Q", n) for n in range(1, 5)} | _SIGNS
    phrases: dict[str, list[list[str]]] = {}
    for text, meaning in _listed(table):
        for form in (_fold(text), text):  # people leave accents out
            first, *rest = form.split(" ")
            if rest and rest not in phrases.setdefault(first, []):
                phrases[first].append(rest)
            if form == text or form not in words:
                words[form] = meaning
    return Language(
        words=words,
        phrases={first: tuple(sorted(found, key=len, reverse=True)) for first, found in phrases.items()},
        marks=frozenset(marks.split()),
        future=frozenset(future.split()),
        past=frozenset(past.split()),
        past_endings=tuple(endings.split()),
        day_first=day_first,
    )


_ENGLISH: Final = _language(
    {
        "M": "january jan=1 february feb=2 april apr=4 june=6 july jul=7 august aug=8 september sept=9 october oct=10 "
        "november nov=11 december=12",
        "m": "mar march=3 may=5 jun=6 sep=9 dec=12",
        "W": "monday=0 tuesday=1 wednesday=2 thursday=3 friday=4 saturday=5 sunday=6",
        "w": "mon=0 tue tues=1 wed weds=2 thu thur thurs=3 fri=4 sat=5 sun=6",
        "V": "mondays=0 tuesdays=1 wednesdays=2 thursdays=3 fridays=4 saturdays=5 sundays=6",
        "U": "hour hours minute minutes=hour day days=day week weeks wk wks=week fortnight fortnights=fortnight "
        "month months=month year years yr yrs=year decade decades=decade",
        "B": "quarter quarters=quarter",
        "C": "weekend weekends=weekend",
        "a": "morning afternoon evening night",
        "D": "yesterday=-1 today tonight=0 tomorrow tmrw=1",
        "Z": "summer=summer autumn=autumn winter=winter summertime=summer wintertime=winter",
        "q": "spring=spring fall=autumn",
        "H": "christmas xmas christmas_day=christmas christmas_eve=christmas_eve "
        "new_year's_eve new_years_eve new_year_'_s_eve new_year_’_s_eve nye=new_years_eve "
        "new_year's_day new_years_day new_year_'_s_day new_year_’_s_day new_year_'_s new_year_’_s=new_year "
        "halloween=halloween valentine_'_s_day valentine_’_s_day valentines_day valentine_'_s valentine_’_s=valentine "
        "thanksgiving thanksgiving_day=thanksgiving easter easter_sunday=easter good_friday=good_friday "
        "easter_monday=easter_monday boxing_day=boxing_day independence_day fourth_of_july 4th_of_july=independence "
        "labor_day=labor memorial_day=memorial mother_'_s_day mother_’_s_day=mothers father_'_s_day father_’_s_day="
        "fathers",
        "L": "last past previous=1",
        "X": "next coming following upcoming=1",
        "T": "this current",
        "g": "other",
        "A": "ago back=-1 from_now hence from_today=1",
        "E": "early beginning start=-1 mid middle=0 late end=1",
        "e": "earlier=-1 later=1",
        "n": "a an one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 "
        "thirteen=13 fourteen=14 fifteen=15 twenty=20 thirty=30 couple=2",
        "v": "few=2..5 several=3..8",
        "s": "first=1 second=2 third=3 fourth=4 fifth=5 sixth=6 seventh=7 eighth=8 ninth=9 tenth=10 eleventh=11 "
        "twelfth=12 thirteenth=13 fourteenth=14 fifteenth=15 twentieth=20 thirtieth=30",
        "K": "twenties=20 thirties=30 forties=40 fifties=50 sixties=60 seventies=70 eighties=80 nineties=90",
        "f": "from between",
        "c": "to through thru",
        "&": "and",
        "S": "since",
        "k": "until till til",
        "b": "before prior_to preceding",
        "z": "after",
        "i": "in within",
        "u": "on at during over by around about throughout",
        "o": "of",
        "h": "the",
        "j": "for",
        "*": "every each",
    },
    marks="the i to and was is of my you it that we have had at on with for did what are your me he she they this",
    future="will ll going gonna plan planning plans upcoming hope hoping hopes wants want schedule scheduled soon "
    "excited shall tomorrow next",
    past="did was were had went got been saw bought made took came gave won lost met began felt found left told ran "
    "wrote just already haven hasn hadn didn wasn weren",
    endings="ed",
    day_first=False,
)

_GERMAN: Final = _language(
    {
        "M": "januar jänner jan=1 februar feb=2 märz maerz mrz=3 april apr=4 mai=5 juni jun=6 juli jul=7 august aug=8 "
        "september sept sep=9 oktober okt=10 november nov=11 dezember dez=12",
        "W": "montag=0 dienstag=1 mittwoch=2 donnerstag=3 freitag=4 samstag sonnabend=5 sonntag=6",
        "U": "stunde stunden minute minuten=hour tag tage tagen tages=day woche wochen=week monat monate monaten "
        "monats=month jahr jahre jahren jahres=year jahrzehnt jahrzehnte jahrzehnten=decade",
        "B": "quartal=quarter",
        "C": "wochenende wochenenden wochenendes=weekend",
        "a": "vormittag nachmittag abend nacht mittag früh",
        "D": "vorvorgestern=-3 vorgestern=-2 gestern=-1 heute heute_morgen heute_früh=0 morgen morgen_früh=1 "
        "übermorgen=2",
        "x": "guten_morgen am_morgen jeden_morgen diesen_morgen",
        "Z": "sommer sommers=summer winter winters=winter frühling frühjahr=spring herbst herbstes=autumn",
        "H": "weihnachten weihnachtstag=christmas heiligabend heilig_abend=christmas_eve silvester sylvester="
        "new_years_eve neujahr=new_year ostern ostersonntag=easter ostermontag=easter_monday karfreitag=good_friday "
        "halloween=halloween valentinstag=valentine",
        "L": "letzte letzten letzter letztes letztem vergangene vergangenen vergangener vergangenes vorige vorigen "
        "voriger voriges=1 vorletzte vorletzten vorletzter vorletztes=2",
        "X": "nächste nächsten nächster nächstes naechste naechsten kommende kommenden kommender kommendes=1 "
        "übernächste übernächsten übernächster übernächstes=2",
        "T": "diese diesen dieser dieses diesem",
        "P": "vor",
        "E": "anfang=-1 mitte=0 ende=1",
        "n": "ein eine einem einer einen=1 zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 "
        "zwölf=12",
        "v": "paar ein_paar einem_paar einigen einige wenigen=2..5 mehreren=3..8",
        "s": "erste ersten erster=1 zweite zweiten=2 dritte dritten=3 vierte vierten=4 fünfte fünften=5",
        "f": "von vom zwischen ab",
        "&": "und",
        "S": "seit",
        "k": "bis bis_zum bis_zur",
        "b": "bevor",
        "z": "nach",
        "i": "in im",
        "u": "am an zu zum über während um",
        "o": "der_ersten",
        "h": "der die das den dem des",
        "j": "für",
        "*": "jede jeden jeder jedes",
    },
    marks="ich ist und nicht wir der die das war habe haben bin sind mit auf für ein eine einen dem den zu im am "
    "wird werde was wann wer wie hier mein meine auch gestern heute morgen woche jahr monat tagen letzte letzten "
    "nächste nächsten",
    future="werde wird werden wirst plant plane planen will wollen möchte hoffe demnächst",
    past="war waren hatte hatten habe hat haben bin wurde ging kam machte gab fand",
    endings="",
)

_FRENCH: Final = _language(
    {
        "M": "janvier janv=1 février févr=2 mars=3 avril avr=4 mai=5 juin=6 juillet juil=7 août=8 septembre sept=9 "
        "octobre oct=10 novembre nov=11 décembre déc=12",
        "W": "lundi=0 mardi=1 mercredi=2 jeudi=3 vendredi=4 samedi=5 dimanche=6",
        "U": "heure heures minute minutes=hour jour jours=day semaine semaines=week mois=month an ans année "
        "années=year décennie décennies=decade",
        "B": "trimestre=quarter",
        "C": "week_-_end week_-_ends weekend weekends=weekend",
        "a": "matin soir nuit après_-_midi",
        "D": "avant_-_hier=-2 hier=-1 aujourd_'_hui aujourd_’_hui aujourdhui=0 demain=1 après_-_demain=2",
        "Z": "été=summer hiver=winter printemps=spring automne=autumn",
        "H": "noël=christmas saint_-_sylvestre=new_years_eve nouvel_an jour_de_l_'_an jour_de_l_’_an=new_year "
        "pâques=easter halloween=halloween saint_-_valentin=valentine",
        "l": "dernier dernière derniers dernières passé passée passés=1 avant_-_dernier avant_-_dernière=2",
        "r": "prochain prochaine prochains prochaines suivant suivante=1",
        "T": "ce cet cette ces",
        "P": "il_y_a y_a",
        "E": "début=-1 mi milieu=0 fin=1",
        "n": "un une=1 deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 neuf=9 dix=10 onze=11 douze=12 quinze=15",
        "v": "quelques=2..5 plusieurs=3..8",
        "s": "premier première=1 deuxième=2 troisième=3 quatrième=4",
        "f": "entre du",
        "c": "à au",
        "&": "et",
        "S": "depuis dès",
        "k": "jusqu_'_au jusqu_'_à jusqu_’_au jusqu_’_à",
        "b": "avant",
        "z": "après",
        "i": "dans d_'_ici d_’_ici",
        "u": "en pendant durant lors vers courant",
        "o": "de d_' d_’ des",
        "h": "le la les l_' l_’",
        "j": "pour",
        "*": "chaque",
    },
    marks="je le la les est et un une des du nous vous il elle ai a été suis dans avec pour pas que qui ma au en "
    "ce quand hier demain semaine année mois dernière dernier prochain prochaine",
    future="vais va allons vont sera serai seront serons prévoit prévois veux veut voudrais demain prochain bientôt",
    past="ai as avons avez ont était étais étaient avait avais suis fut fit",
    endings="",
)

_SPANISH: Final = _language(
    {
        "M": "enero ene=1 febrero=2 marzo=3 abril abr=4 mayo=5 junio=6 julio=7 agosto=8 septiembre setiembre sept=9 "
        "octubre oct=10 noviembre nov=11 diciembre dic=12",
        "W": "lunes=0 martes=1 miércoles=2 jueves=3 viernes=4 sábado=5 domingo=6",
        "U": "hora horas minuto minutos=hour día días=day semana semanas=week mes meses=month año años=year "
        "década décadas=decade",
        "B": "trimestre=quarter",
        "C": "fin_de_semana fines_de_semana finde=weekend",
        "a": "noche tarde madrugada",
        "D": "anteayer antier=-2 ayer anoche=-1 hoy esta_mañana=0 mañana=1 pasado_mañana=2",
        "x": "por_la_mañana de_la_mañana la_mañana_siguiente cada_mañana mañanas",
        "Z": "verano=summer invierno=winter primavera=spring otoño=autumn",
        "H": "navidad=christmas nochebuena=christmas_eve nochevieja=new_years_eve año_nuevo=new_year pascua=easter "
        "halloween=halloween san_valentín=valentine reyes=epiphany",
        "l": "pasado pasada pasados pasadas último última últimos últimas anterior=1 antepasado antepasada=2",
        "r": "próximo próxima próximos próximas que_viene siguiente entrante=1",
        "T": "este esta estos estas",
        "P": "hace",
        "A": "atrás=-1",
        "E": "principios inicios comienzos=-1 mediados=0 finales fines=1",
        "n": "un una uno=1 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12 "
        "quince=15",
        "v": "unos unas algunos algunas pocos pocas un_par_de=2..5 varios varias=3..8",
        "s": "primer primero primera=1 segundo segunda=2 tercer tercero tercera=3 cuarto cuarta=4",
        "f": "entre del",
        "c": "al a",
        "&": "y",
        "S": "desde desde_el",
        "k": "hasta",
        "b": "antes_de antes_del antes",
        "z": "después_de después_del después",
        "i": "dentro_de dentro",
        "u": "en durante por para sobre",
        "o": "de",
        "h": "el la los las",
        "*": "cada todos_los todas_las",
    },
    marks="el la los las es y que de en un una con por para mi mis fue fui era ella nosotros está estoy se lo cuando "
    "qué ayer hoy semana año mes pasado pasada hace próximo próxima",
    future="voy vas va vamos van será seré serán iremos iré irá quiero quiere planea próximo mañana",
    past="fui fue fuimos fueron estuve estuvo hice hizo tuve tuvo era había he ha hemos compré",
    endings="aron ieron amos imos ió",
)

LANGUAGES: Final[Mapping[str, Language]] = {"en": _ENGLISH, "de": _GERMAN, "fr": _FRENCH, "es": _SPANISH}


def _gate() -> Iterator[str]:
    for language in LANGUAGES.values():
        for form, (symbol, _) in language.words.items():
            if symbol in ANCHORS:
                # The longest word of a phrase is its rarest: "new year's eve" must not let every "new" pass.
                yield max(form.split(" "), key=len)


GATE: Final = frozenset(_gate())
"""Words without one of which, and without digits that look like a date, no text is read any further."""
