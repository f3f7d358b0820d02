"""Sentences that name a time, with the days they mean: templates times dates, by calendar arithmetic of its own.

Nothing of ``memwarden.recall`` is imported here, so that a mistake there cannot hide itself.
"""

from __future__ import annotations

import random
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

Days = tuple[date, date]
ONE = timedelta(1)

MONTHS = {
    "en": "January February March April May June July August September October November December".split(),
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
}
WEEKDAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(),
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche".split(),
    "es": "lunes martes miércoles jueves viernes sábado domingo".split(),
    "ja": [f"{sign}曜日" for sign in "月火水木金土日"],
    "zh": list("一二三四五六日"),
}
NUMBERS = {
    "en": "two three four five six".split(),
    "de": "zwei drei vier fünf sechs".split(),
    "fr": "deux trois quatre cinq six".split(),
    "es": "dos tres cuatro cinco seis".split(),
    "ja": "2 3 4 5 6".split(),
    "zh": "两 三 四 五 六".split(),
}


@dataclass(frozen=True)
class Case:
    """A sentence, when it was said, the days it means, and how fine they are: day, week, month, year, none."""

    text: str
    said: datetime
    days: tuple[Days, ...]
    size: str
    language: str


def ordinal(n: int) -> str:
    return f"{n}{'th' if 10 <= n % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def month(year: int, number: int) -> Days:
    year, number = year + (number - 1) // 12, (number - 1) % 12 + 1
    return date(year, number, 1), date(year, number, monthrange(year, number)[1])


def year(number: int) -> Days:
    return date(number, 1, 1), date(number, 12, 31)


def monday(day: date) -> date:
    while day.weekday():
        day -= ONE
    return day


def step_to(day: date, weekday: int, step: int) -> date:
    """The nearest such weekday, not the day itself, in the direction of the step."""
    day += ONE * step
    while day.weekday() != weekday:
        day += ONE * step
    return day


def week(day: date) -> Days:
    return monday(day), monday(day) + 6 * ONE


def weekend(day: date) -> Days:
    return monday(day) + 5 * ONE, monday(day) + 6 * ONE


def one(day: date) -> Days:
    return day, day


Make = Callable[[date, date, int], tuple[str, Days, str]]
"""(said, some other date, some number of 2 to 6) -> words, days, size."""

ENGLISH: list[Make] = [
    lambda s, d, n: (f"on {d.day} {MONTHS['en'][d.month - 1]} {d.year}", one(d), "day"),
    lambda s, d, n: (f"on {MONTHS['en'][d.month - 1]} {ordinal(d.day)}, {d.year}", one(d), "day"),
    lambda s, d, n: (f"on the {ordinal(d.day)} of {MONTHS['en'][d.month - 1]} {d.year}", one(d), "day"),
    lambda s, d, n: (f"on {MONTHS['en'][d.month - 1][:3]} {d.day}, {d.year}", one(d), "day"),
    lambda s, d, n: (f"on {WEEKDAYS['en'][d.weekday()]}, {d.day} {MONTHS['en'][d.month - 1]} {d.year}", one(d), "day"),
    lambda s, d, n: (f"on {d.isoformat()}", one(d), "day"),
    lambda s, d, n: (f"on {d.month}/{d.day}/{d.year}", one(d), "day"),
    lambda s, d, n: (f"in {MONTHS['en'][d.month - 1]} {d.year}", month(d.year, d.month), "month"),
    lambda s, d, n: (f"in {d.year}", year(d.year), "year"),
    lambda s, d, n: ("yesterday", one(s - ONE), "day"),
    lambda s, d, n: ("today", one(s), "day"),
    lambda s, d, n: ("last night", one(s - ONE), "day"),
    lambda s, d, n: ("this morning", one(s), "day"),
    lambda s, d, n: ("the day before yesterday", one(s - 2 * ONE), "day"),
    lambda s, d, n: (f"{NUMBERS['en'][n - 2]} days ago", one(s - n * ONE), "day"),
    lambda s, d, n: (f"{n + 10} days ago", one(s - (n + 10) * ONE), "day"),
    lambda s, d, n: ("last week", week(s - 7 * ONE), "week"),
    lambda s, d, n: ("earlier, the week before last,", week(s - 14 * ONE), "week"),
    lambda s, d, n: (f"{NUMBERS['en'][n - 2]} weeks ago", one(s - 7 * n * ONE), "week"),
    lambda s, d, n: ("a week ago", one(s - 7 * ONE), "week"),
    lambda s, d, n: ("last weekend", weekend(step_to(s, 6, -1)), "week"),
    lambda s, d, n: ("two weekends ago", weekend(step_to(s, 6, -1) - 7 * ONE), "week"),
    lambda s, d, n: (f"last {WEEKDAYS['en'][d.weekday()]}", one(step_to(s, d.weekday(), -1)), "day"),
    lambda s, d, n: (f"last {WEEKDAYS['en'][d.weekday()][:3]}", one(step_to(s, d.weekday(), -1)), "day"),
    lambda s, d, n: (f"two {WEEKDAYS['en'][d.weekday()]}s ago", one(step_to(s, d.weekday(), -1) - 7 * ONE), "day"),
    lambda s, d, n: ("last month", month(s.year, s.month - 1), "month"),
    lambda s, d, n: ("this month", month(s.year, s.month), "month"),
    lambda s, d, n: (f"{NUMBERS['en'][n - 2]} months ago", month(s.year, s.month - n), "month"),
    lambda s, d, n: ("last year", year(s.year - 1), "year"),
    lambda s, d, n: (f"{n} years ago", year(s.year - n), "year"),
    lambda s, d, n: (f"in {MONTHS['en'][d.month - 1]}", last_month(s, d.month), "month"),
    lambda s, d, n: (f"on {MONTHS['en'][d.month - 1]} {ordinal(min(d.day, 28))}", last_day(s, d), "day"),
    lambda s, d, n: (f"in the summer of {d.year}", (date(d.year, 6, 1), date(d.year, 8, 31)), "month"),
    lambda s, d, n: (f"in autumn {d.year}", (date(d.year, 9, 1), date(d.year, 11, 30)), "month"),
    lambda s, d, n: (f"in Q{d.month // 4 + 1} {d.year}", quarter(d.year, d.month // 4 + 1), "month"),
    lambda s, d, n: (f"on Christmas Eve {d.year}", one(date(d.year, 12, 24)), "day"),
    lambda s, d, n: (f"on New Year's Eve {d.year}", one(date(d.year, 12, 31)), "day"),
    lambda s, d, n: (f"on Halloween {d.year}", one(date(d.year, 10, 31)), "day"),
    lambda s, d, n: (f"on Valentine's Day {d.year}", one(date(d.year, 2, 14)), "day"),
    lambda s, d, n: (
        f"the weekend before {d.day} {MONTHS['en'][d.month - 1]} {d.year}", weekend(step_to(d, 6, -1)), "week"),
    lambda s, d, n: (
        f"the {WEEKDAYS['en'][n]} before {d.day} {MONTHS['en'][d.month - 1]} {d.year}", one(step_to(d, n, -1)), "day"),
    lambda s, d, n: (
        f"the week before {d.day} {MONTHS['en'][d.month - 1]} {d.year}", (d - 7 * ONE, d - ONE), "week"),
    lambda s, d, n: (
        f"{NUMBERS['en'][n - 2]} days after {d.day} {MONTHS['en'][d.month - 1]} {d.year}", one(d + n * ONE), "day"),
    lambda s, d, n: (
        f"between {n} and {n + 9} {MONTHS['en'][d.month - 1]} {d.year}",
        (d.replace(day=n), d.replace(day=n + 9)), "week"),
    lambda s, d, n: (
        f"from {MONTHS['en'][d.month - 1]} {n} to {n + 9}, {d.year}", (d.replace(day=n), d.replace(day=n + 9)), "week"),
    lambda s, d, n: (f"{n}-{n + 9} {MONTHS['en'][d.month - 1]} {d.year}",
                     (d.replace(day=n), d.replace(day=n + 9)), "week"),
    lambda s, d, n: (f"from May to August {d.year}", (date(d.year, 5, 1), date(d.year, 8, 31)), "month"),
    lambda s, d, n: (f"in early {MONTHS['en'][d.month - 1]} {d.year}",
                     (date(d.year, d.month, 1), date(d.year, d.month, 10)), "week"),
    lambda s, d, n: (f"in mid-{MONTHS['en'][d.month - 1]} {d.year}",
                     (date(d.year, d.month, 11), date(d.year, d.month, 20)), "week"),
    lambda s, d, n: (f"in late {d.year}", (date(d.year, 9, 1), date(d.year, 12, 31)), "month"),
    lambda s, d, n: (f"since March {s.year - 1}", (date(s.year - 1, 3, 1), s), "year"),
    lambda s, d, n: ("earlier this year", (date(s.year, 1, 1), s), "month"),
    lambda s, d, n: (f"in the first week of {MONTHS['en'][d.month - 1]} {d.year}",
                     (date(d.year, d.month, 1), date(d.year, d.month, 7)), "week"),
    lambda s, d, n: (f"on the last {WEEKDAYS['en'][n]} of {MONTHS['en'][d.month - 1]} {d.year}",
                     one(step_to(month(d.year, d.month)[1] + ONE, n, -1)), "day"),
    lambda s, d, n: (f"on {WEEKDAYS['en'][n]} last week", one(monday(s) + (n - 7) * ONE), "day"),
    lambda s, d, n: (f"in {MONTHS['en'][d.month - 1]} last year", month(s.year - 1, d.month), "month"),
    lambda s, d, n: ("back in the 1990s", (date(1990, 1, 1), date(1999, 12, 31)), "year"),
    lambda s, d, n: ("last summer", last_summer(s), "month"),
    lambda s, d, n: (f"in the last {NUMBERS['en'][n - 2]} days", (s - n * ONE, s), "week"),
]  # fmt: skip

LASTING: list[Make] = [
    lambda s, d, n: (f"for {n} years now", year(s.year - n), "year"),
    lambda s, d, n: (f"for about {NUMBERS['en'][n - 2]} months now", month(s.year, s.month - n), "month"),
    lambda s, d, n: (f"for almost {NUMBERS['en'][n - 2]} months", month(s.year, s.month - n), "month"),
    lambda s, d, n: (f"for {NUMBERS['en'][n - 2]} days now", one(s - n * ONE), "day"),
]

AHEAD: list[Make] = [
    lambda s, d, n: ("tomorrow", one(s + ONE), "day"),
    lambda s, d, n: ("the day after tomorrow", one(s + 2 * ONE), "day"),
    lambda s, d, n: ("next week", week(s + 7 * ONE), "week"),
    lambda s, d, n: ("next month", month(s.year, s.month + 1), "month"),
    lambda s, d, n: ("next year", year(s.year + 1), "year"),
    lambda s, d, n: (f"in {NUMBERS['en'][n - 2]} days", one(s + n * ONE), "day"),
    lambda s, d, n: (f"{n} days from now", one(s + n * ONE), "day"),
    lambda s, d, n: (f"in {NUMBERS['en'][n - 2]} weeks", one(s + 7 * n * ONE), "week"),
    lambda s, d, n: (f"next {WEEKDAYS['en'][n]}", one(step_to(s, n, 1)), "day"),
    lambda s, d, n: (f"next week on {WEEKDAYS['en'][n]}", one(monday(s) + (7 + n) * ONE), "day"),
    lambda s, d, n: (f"in {MONTHS['en'][d.month - 1]}", coming_month(s, d.month), "month"),
    lambda s, d, n: ("this weekend", weekend(s), "week"),
]

NO_DATE = [
    "for two weeks", "for 3 days", "every Friday", "in a hurry", "on the 5th floor", "with 2000 dollars",
    "in version 3.5",
    "and you may come along", "on a march through the mud", "for the second time", "five times a week", "in the sun",
    "years later", "with 24 people", "at 5 pm", "for ages", "some day", "a year-old dog and me",
]  # fmt: skip

OTHERS: dict[str, list[Make]] = {
    "de": [
        lambda s, d, n: (f"Ich war am {d.day}. {MONTHS['de'][d.month - 1]} {d.year} dort.", one(d), "day"),
        lambda s, d, n: (f"Ich war am {d.day}.{d.month}.{d.year} dort.", one(d), "day"),
        lambda s, d, n: (f"Wir waren im {MONTHS['de'][d.month - 1]} {d.year} dort.", month(d.year, d.month), "month"),
        lambda s, d, n: ("Gestern war ich im Kino.", one(s - ONE), "day"),
        lambda s, d, n: ("Vorgestern war ich im Kino.", one(s - 2 * ONE), "day"),
        lambda s, d, n: ("Ich habe letzte Woche gekündigt.", week(s - 7 * ONE), "week"),
        lambda s, d, n: ("Wir haben letzten Monat geheiratet.", month(s.year, s.month - 1), "month"),
        lambda s, d, n: ("Das war letztes Jahr.", year(s.year - 1), "year"),
        lambda s, d, n: (f"Vor {NUMBERS['de'][n - 2]} Tagen war ich krank.", one(s - n * ONE), "day"),
        lambda s, d, n: (f"Ich war vor {NUMBERS['de'][n - 2]} Wochen in Rom.", one(s - 7 * n * ONE), "week"),
        lambda s, d, n: (
            f"Ich war letzten {WEEKDAYS['de'][n]} beim Arzt.", one(step_to(s, n, -1)), "day"),
        lambda s, d, n: ("Nächste Woche werde ich umziehen.", week(s + 7 * ONE), "week"),
        lambda s, d, n: ("Morgen werde ich umziehen.", one(s + ONE), "day"),
    ],
    "fr": [
        lambda s, d, n: (f"J'étais là le {d.day} {MONTHS['fr'][d.month - 1]} {d.year}.", one(d), "day"),
        lambda s, d, n: (f"J'étais là le {d.day:02d}/{d.month:02d}/{d.year}.", one(d), "day"),
        lambda s, d, n: (f"Nous étions là en {MONTHS['fr'][d.month - 1]} {d.year}.", month(d.year, d.month), "month"),
        lambda s, d, n: ("Hier je suis allé au cinéma.", one(s - ONE), "day"),
        lambda s, d, n: ("Avant-hier je suis allé au cinéma.", one(s - 2 * ONE), "day"),
        lambda s, d, n: ("J'ai démissionné la semaine dernière.", week(s - 7 * ONE), "week"),
        lambda s, d, n: ("Nous avons déménagé le mois dernier.", month(s.year, s.month - 1), "month"),
        lambda s, d, n: ("C'était l'année dernière.", year(s.year - 1), "year"),
        lambda s, d, n: (f"J'étais malade il y a {NUMBERS['fr'][n - 2]} jours.", one(s - n * ONE), "day"),
        lambda s, d, n: (f"J'étais à Rome il y a {NUMBERS['fr'][n - 2]} semaines.", one(s - 7 * n * ONE), "week"),
        lambda s, d, n: (f"Je l'ai vue {WEEKDAYS['fr'][n]} dernier.", one(step_to(s, n, -1)), "day"),
        lambda s, d, n: ("La semaine prochaine je vais déménager.", week(s + 7 * ONE), "week"),
        lambda s, d, n: ("Je vais déménager demain.", one(s + ONE), "day"),
    ],
    "es": [
        lambda s, d, n: (f"Estuve allí el {d.day} de {MONTHS['es'][d.month - 1]} de {d.year}.", one(d), "day"),
        lambda s, d, n: (f"Estuve allí el {d.day}/{d.month}/{d.year}.", one(d), "day"),
        lambda s, d, n: (
            f"Estuvimos allí en {MONTHS['es'][d.month - 1]} de {d.year}.", month(d.year, d.month), "month"),
        lambda s, d, n: ("Ayer fui al cine.", one(s - ONE), "day"),
        lambda s, d, n: ("Anteayer fui al cine.", one(s - 2 * ONE), "day"),
        lambda s, d, n: ("Renuncié la semana pasada.", week(s - 7 * ONE), "week"),
        lambda s, d, n: ("Nos casamos el mes pasado.", month(s.year, s.month - 1), "month"),
        lambda s, d, n: ("Eso fue el año pasado.", year(s.year - 1), "year"),
        lambda s, d, n: (f"Estuve enfermo hace {NUMBERS['es'][n - 2]} días.", one(s - n * ONE), "day"),
        lambda s, d, n: (f"Estuve en Roma hace {NUMBERS['es'][n - 2]} semanas.", one(s - 7 * n * ONE), "week"),
        lambda s, d, n: (f"La vi el {WEEKDAYS['es'][n]} pasado.", one(step_to(s, n, -1)), "day"),
        lambda s, d, n: ("La próxima semana voy a mudarme.", week(s + 7 * ONE), "week"),
        lambda s, d, n: ("Me voy a mudar mañana.", one(s + ONE), "day"),
    ],
    "ja": [
        lambda s, d, n: (f"{d.year}年{d.month}月{d.day}日に行きました。", one(d), "day"),
        lambda s, d, n: (f"{d.year}年{d.month}月に行きました。", month(d.year, d.month), "month"),
        lambda s, d, n: ("昨日映画を見ました。", one(s - ONE), "day"),
        lambda s, d, n: ("一昨日映画を見ました。", one(s - 2 * ONE), "day"),
        lambda s, d, n: ("先週仕事を辞めました。", week(s - 7 * ONE), "week"),
        lambda s, d, n: ("先月結婚しました。", month(s.year, s.month - 1), "month"),
        lambda s, d, n: ("去年のことです。", year(s.year - 1), "year"),
        lambda s, d, n: (f"{n}日前は病気でした。", one(s - n * ONE), "day"),
        lambda s, d, n: (f"{n}週間前にローマにいました。", one(s - 7 * n * ONE), "week"),
        lambda s, d, n: (f"先週の{WEEKDAYS['ja'][n]}に会いました。", one(monday(s) + (n - 7) * ONE), "day"),
        lambda s, d, n: ("来週引っ越します。", week(s + 7 * ONE), "week"),
        lambda s, d, n: ("明日引っ越します。", one(s + ONE), "day"),
    ],
    "zh": [
        lambda s, d, n: (f"我{d.year}年{d.month}月{d.day}日去了那里。", one(d), "day"),
        lambda s, d, n: (f"我们{d.year}年{d.month}月去了那里。", month(d.year, d.month), "month"),
        lambda s, d, n: ("我昨天看了电影。", one(s - ONE), "day"),
        lambda s, d, n: ("我前天看了电影。", one(s - 2 * ONE), "day"),
        lambda s, d, n: ("我上周辞职了。", week(s - 7 * ONE), "week"),
        lambda s, d, n: ("我们上个月结婚了。", month(s.year, s.month - 1), "month"),
        lambda s, d, n: ("那是去年的事。", year(s.year - 1), "year"),
        lambda s, d, n: (f"我{NUMBERS['zh'][n - 2]}天前病了。", one(s - n * ONE), "day"),
        lambda s, d, n: (f"我{NUMBERS['zh'][n - 2]}周前在罗马。", one(s - 7 * n * ONE), "week"),
        lambda s, d, n: (f"我上周{WEEKDAYS['zh'][n]}见到了她。", one(monday(s) + (n - 7) * ONE), "day"),
        lambda s, d, n: ("我下周搬家。", week(s + 7 * ONE), "week"),
        lambda s, d, n: ("我明天搬家。", one(s + ONE), "day"),
    ],
}  # fmt: skip


def last_month(said: date, number: int) -> Days:
    return month(said.year if number <= said.month else said.year - 1, number)


def coming_month(said: date, number: int) -> Days:
    return month(said.year if number >= said.month else said.year + 1, number)


def last_day(said: date, day: date) -> Days:
    found = date(said.year, day.month, min(day.day, 28))
    return one(found if found <= said else found.replace(year=said.year - 1))


def last_summer(said: date) -> Days:
    number = said.year if said.month > 8 else said.year - 1
    return date(number, 6, 1), date(number, 8, 31)


def quarter(number: int, which: int) -> Days:
    return date(number, 3 * which - 2, 1), month(number, 3 * which)[1]


PAST = (
    "I met Ana {}.",
    "{} we visited my sister",
    "We moved house {}, and it was hard!",
    "Guess what, I saw a whale {}.",
)
FUTURE = ("I will meet Ana {}.", "We're going to visit my sister {}", "I plan to move house {}, it is hard!")
GOING_ON = ("I've been learning Polish {}.", "She has been living with us {}, and it goes well.")
PLAIN = ("I slept {}.", "He sang {}")


def cases(seed: int, rounds: int = 4) -> Iterator[Case]:
    """Each template in ``rounds`` sentences, said on different days."""
    some = random.Random(seed)

    def draw() -> tuple[date, date, int]:
        said = date(2021, 1, 1) + ONE * some.randrange(1500)
        return said, date(2015, 1, 1) + ONE * some.randrange(2100), some.randrange(2, 7)

    def at_noon(day: date) -> datetime:
        return datetime(day.year, day.month, day.day, some.randrange(24))

    for _ in range(rounds):
        for frames, makers in ((PAST, ENGLISH), (GOING_ON, LASTING), (FUTURE, AHEAD)):
            for make in makers:
                said, other, number = draw()
                words, days, size = make(said, other, number)
                text = some.choice(frames).format(words)
                yield Case(text[0].upper() + text[1:], at_noon(said), (days,), size, "en")
        for language, others in OTHERS.items():
            for make in others:
                said, other, number = draw()
                text, days, size = make(said, other, number)
                yield Case(text, at_noon(said), (days,), size, language)
    for words in NO_DATE:
        yield Case(some.choice(PLAIN).format(words), at_noon(draw()[0]), (), "none", "en")
