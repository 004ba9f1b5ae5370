"""Dates in a query: "last week" and "yesterday" filter, "in March" and "on 21 January 2022" lift.

A span of the recent past tells when the memory was written. A named month or year may as well be what the memory
is about, so it lifts the memories written then and hides none (measured: docs/recall.md).
"""

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

_MONTH_NAMES = (
    "january jan januar январь января январе січень січня січні",
    "february feb februar февраль февраля феврале лютий лютого лютому",
    "march märz март марта марте березень березня березні",
    "april apr апрель апреля апреле квітень квітня квітні",
    "may mai май мая мае травень травня травні",
    "june juni июнь июня июне червень червня червні",
    "july juli июль июля июле липень липня липні",
    "august aug август августа августе серпень серпня серпні",
    "september sept сентябрь сентября сентябре вересень вересня вересні",
    "october oct oktober октябрь октября октябре жовтень жовтня жовтні",
    "november nov ноябрь ноября ноябре листопад листопада листопаді",
    "december dec dezember декабрь декабря декабре грудень грудня грудні",
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
# Words that are something else as well count as months only beside a preposition, a day or a year.
_DOUBTFUL = {"may", "march", "mai", "mar", "май", "мае"}

_UNITS = {
    "day": 1, "days": 1, "tag": 1, "tage": 1, "tagen": 1, "день": 1, "дня": 1, "дней": 1, "днів": 1,
    "week": 7, "weeks": 7, "woche": 7, "wochen": 7, "неделю": 7, "недели": 7, "недель": 7, "тиждень": 7, "тижні": 7,
    "month": 30, "months": 30, "monat": 30, "monate": 30, "monaten": 30, "месяц": 30, "месяца": 30, "місяць": 30,
    "year": 365, "years": 365, "jahr": 365, "jahre": 365, "jahren": 365, "год": 365, "рік": 365,
}  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_SPANS = (
    ("today", r"\b(?:today|heute|сегодня|сьогодні)\b|今天|今日"),
    ("yesterday", r"\b(?:yesterday|gestern|вчера|вчора)\b|昨天|昨日"),
    ("last_week", r"\b(?:last week|letzte woche|letzter woche|на прошлой неделе|минулого тижня)\b|上周|上星期|先週"),
    ("this_week", r"\b(?:this week|diese woche|dieser woche|на этой неделе|цього тижня)\b|这周|本周|今週"),
    ("last_month", r"\b(?:last month|letzten monat|letztem monat|в прошлом месяце|минулого місяця)\b|上个月|先月"),
    ("this_month", r"\b(?:this month|diesen monat|diesem monat|в этом месяце|цього місяця)\b|这个月|本月|今月"),
    ("last_year", r"\b(?:last year|letztes jahr|letzten jahr|в прошлом году|минулого року)\b|去年"),
    (
        "past",
        r"\b(?:(?:in the )?(?:last|past)|in den letzten|за последние|за останні)"
        rf" (?P<count>\d{{1,3}}) (?P<unit>{_UNIT})\b",
    ),
    ("ago", rf"\b(?P<how_many>\d{{1,3}}|a|an|one|two|three) (?P<ago_unit>{_UNIT}) ago\b"),
    ("since", rf"\bsince (?:last )?(?P<weekday>{'|'.join(_WEEKDAYS)})\b"),
    ("on_weekday", rf"\blast (?P<last_weekday>{'|'.join(_WEEKDAYS)})\b"),
)
_SPAN = "|".join(f"(?P<{name}>{pattern})" for name, pattern in _SPANS)
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = (
    rf"(?P<iso>\b(?P<iso_year>(?:19|20)\d\d)-(?P<iso_month>\d\d)(?:-(?P<iso_day>\d\d))?\b)"
    rf"|(?:(?P<before>\b(?:in|im|on|of|since|during|until|by|early|mid|late|в|у|с|за)\s+)?"
    rf"(?P<day>\b\d{{1,2}})?(?:st|nd|rd|th|\.)?\s*(?:of\s+)?\b(?P<month>{_MONTH})\b"
    rf"(?:\s+(?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?\b)?(?:,?\s+(?P<year>(?:19|20)\d\d)\b)?)"
    rf"|\b(?:in|im|of|since|during|в|у)\s+(?P<only_year>(?:19|20)\d\d)\b"
)
_WORD_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # At the first question: milliseconds that no start has to wait for.
    return re.compile(pattern, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` up to, not including, `end`; UTC. `words`: the part of the query that says so."""

    start: datetime
    end: datetime
    words: str


@dataclass(frozen=True, slots=True)
class NamedDate:
    """A date as far as it is named: the parts that are None are open."""

    year: int | None
    month: int | None
    day: int | None

    def matches(self, moment: datetime) -> bool:
        """Whether the moment lies in it."""
        return (
            (self.year is None or moment.year == self.year)
            and (self.month is None or moment.month == self.month)
            and (self.day is None or moment.day == self.day)
        )


def span(query: str, now: datetime) -> Span | None:
    """The recent span of time that a query names (`last week`, `yesterday`, `in the last 3 days`), or None."""
    found = _compiled(_SPAN).search(query)
    if found is None:
        return None
    start, end = _bounds(found, now.astimezone(UTC))
    return Span(start, end, found.group())


def without(query: str, words: str) -> str:
    """The query without the words that name the span; the whole query when nothing else is left."""
    rest = query.replace(words, " ", 1)
    return rest if re.search(r"\w", rest) else query


def _bounds(found: re.Match[str], now: datetime) -> tuple[datetime, datetime]:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = today + timedelta(days=1)
    week = today - timedelta(days=today.weekday())
    month = today.replace(day=1)
    year = month.replace(month=1)
    match found.lastgroup and next(name for name, _ in _SPANS if found.group(name)):
        case "today":
            return today, tomorrow
        case "yesterday":
            return today - timedelta(days=1), today
        case "last_week":
            return week - timedelta(days=7), week
        case "this_week":
            return week, tomorrow
        case "last_month":
            return (month - timedelta(days=1)).replace(day=1), month
        case "this_month":
            return month, tomorrow
        case "last_year":
            return year.replace(year=year.year - 1), year
        case "past":
            return today - timedelta(days=int(found["count"]) * _UNITS[found["unit"].lower()]), tomorrow
        case "ago":
            return _around(found, today)
        case "since":
            return _last_weekday(found["weekday"], today), tomorrow
    day = _last_weekday(found["last_weekday"], today)
    return day, day + timedelta(days=1)


def _around(found: re.Match[str], today: datetime) -> tuple[datetime, datetime]:
    """`2 weeks ago` is meant loosely: half a unit to each side, at least a day."""
    said = found["how_many"].lower()
    unit = _UNITS[found["ago_unit"].lower()]
    middle = today - timedelta(days=(_WORD_NUMBERS.get(said) or int(said)) * unit)
    slack = timedelta(days=unit // 2)
    return middle - slack, middle + slack + timedelta(days=1)


def _last_weekday(name: str, today: datetime) -> datetime:
    back = (today.weekday() - _WEEKDAYS.index(name.lower())) % 7 or 7
    return today - timedelta(days=back)


def named(query: str) -> list[NamedDate]:
    """The months, days and years that a query names."""
    dates = [_named(found) for found in _compiled(_DATE).finditer(query)]
    return [date for date in dates if date is not None]


def _named(found: re.Match[str]) -> NamedDate | None:
    if found["iso"]:
        return _valid(int(found["iso_year"]), int(found["iso_month"]), _number(found["iso_day"]))
    if found["only_year"]:
        return NamedDate(int(found["only_year"]), None, None)
    name, day, year = found["month"].lower(), _number(found["day"] or found["day_after"]), _number(found["year"])
    if name in _DOUBTFUL and not (found["before"] or day or year):
        return None
    return _valid(year, _MONTHS[name], day)


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None


def _valid(year: int | None, month: int, day: int | None) -> NamedDate | None:
    if not 1 <= month <= 12:
        return None
    if day is not None and not 1 <= day <= calendar.monthrange(year or 2024, month)[1]:
        day = None
    return NamedDate(year, month, day)
