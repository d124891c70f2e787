"""The number a response states last, where no marker says what its answer is.

The last sentence that holds a number is taken. Of several numbers in it the one that is asserted
counts, not the ones in asides (`i.e. …`, `if …`, brackets) and phrases (`for 50 minutes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from resit.grading.markers import ABBREVIATION
from resit.grading.numbers import Number, Unreadable, find_tokens
from resit.grading.statements import SEVERAL, Reading, settle, stands_beside
from resit.grading.words import find_words

NOTHING = "no answer found"
QUESTION = "ends with a question"

MAX_LINES = 40
MAX_LINE = 2000
"""Of a longer line only the end is read."""
_LOOP = 40
_LOOP_TIMES = 3
_WORD_SENTENCES = 2

_LABEL = r"[\s*_#>-]{0,12}(?:(?:step|part|case|method|option)\s*)?\(?(?:\d{1,2}|[A-Ha-h])[.):]"
_ENUMERATOR = re.compile(rf"{_LABEL}(?=\s)", re.IGNORECASE)
_NUMBERING = re.compile(rf"{_LABEL}[\s*_]*", re.IGNORECASE)
"""All that stands before the words of a line."""
_OFFER_REACH = 400
_OFFER_WORDS = (
    "let me know",
    "feel free",
    "hope this",
    "hope that",
    "hesitate",
    "if you",
    "you like",
    "you want",
    "is there any",
    "do you have any",
    "make sense",
)
"""One of them is in every offer; looking for them is much quicker than the pattern."""
_OFFER = re.compile(
    r"(?:^|(?<=[.!?\n*)\]}]))\s*[*_]{0,2}(?:please )?(?:let me know|feel free|(?:i )?hope th(?:is|at)|"
    r"(?:do not|don't) hesitate|would you like|do you want|(?:is there|do you have) any(?:thing)?\b|"
    r"does (?:that|this|it) (?:all )?make sense|if you(?:'d like| would like| want me| "
    r"(?:have|need) (?:any|help|more|further|anything|another)))\b"
)
"""How a chat takes its leave: `Let me know if you need the other 2`."""
_CHECK_REACH = 600
_CHECK_WORDS = ("heck", "erify", "onfirm")
_CHECK = re.compile(
    r"(?:^|(?<=[.!?\n)]))[ \t*_#>]{0,8}(?:(?:now|finally|we can|let['’]s|let us|i'll|to),?\s+){0,3}"
    r"(?:double[ -]?)?(?:check|verify|confirm)(?:ing)?\s+(?:(?:the|our|my|this)\s+)?(?:final\s+)?"
    r"(?:answer|result|solution|calculation|work)s?(?:\s+is\s+(?:correct|right))?[*_]{0,2}:",
    re.IGNORECASE,
)
"""A check of what was answered: `Let's verify the answer:`."""
_CONCLUSION = re.compile(
    r"\b(?:(?:so|therefore|thus|hence)\b[^.\n]{0,200}\d|(?:wait|but|however|wrong|incorrect|mistake|actually)\b)",
    re.IGNORECASE,
)
_ON_THE_LINE = re.compile(r"[^\n]*\d[^\n]*(?=\n)")
"""After a check's colon: the whole of the check, so that what follows is said of the answer again."""
_PROSE = re.compile(
    r"\n[ \t*_#>-]{0,8}(?!(?:if|when|since|from)\b)[^\W\d_]+\s+[^\W\d_]{2,}[^\n]{0,200}\d", re.IGNORECASE
)
"""A line that speaks of a number: `She earned 50 * $0.2 = $10.`"""
_DIGIT = re.compile(r"\d")
_NOTE = re.compile(
    r"\s{0,8}(?:[*_#>]{0,4}\s?(?:note|notes|n\.b\.|assumptions?|assuming|disclaimer|hint|p\.s\.|check(?=[:*])|verification(?=[:*]))\b|\([^()\n]{0,300}\)\s*$)",
    re.IGNORECASE,
)
"""A line that comments on what stands above it."""
_ASIDE = re.compile(
    r"\([^()\n]{0,200}\)|\d[\d.,]{0,20}\s?%\s(?:more|less|higher|lower)\sthan\b[^\n,;]*"
    r"|\b(?:i\.\s?e\.|e\.g\.|that is,|check:)[^\n;]*"
    r"|\b(?:in other words|since|because|assuming|given that|considering|if|when|"
    r"while|so that|(?:by|after) [a-z]{2,20}ing|(?<!needs )(?<!need )(?<!has )(?<!have )(?<!had )(?<!able )"
    r"(?<!going )(?<!wants )(?<!want )"
    r"to (?:complete|earn|get|have|make|reach|buy|cover|fill|finish|pay|save|meet|serve|download|travel|"
    r"drive|read|produce))"
    r"\b[^\n,;]*",
    re.IGNORECASE,
)
_DENIAL = re.compile(r"(?:\bnot|n't)\s+$", re.IGNORECASE)
_PHRASE = re.compile(
    r"\b(?:not|for|in|after|within|over|during|every|per|each|from|than|at|by|with|between|until|before|on|"
    r"(?<!total )(?<!sum )(?<!profit )(?<!average )(?<!cost )(?<!amount )(?<!rate )(?<!price )(?<!score )of)"
    r"\s+(?:(?:the|all|her|his|their|its|a|an|other|first|last|next|same|these|those|about|only)\s+){0,2}[*_]{0,2}$",
    re.IGNORECASE,
)
_AFTER_EQUALS = re.compile(r"=\s{0,3}[*_]{0,3}$")
_CURRENCY = re.compile(r"\s?(?:dollars?|cents?|euros?|pounds?|USD)\b")
_SALE = re.compile(r"\b(?:sells?|sold|selling|buys?|bought|buying|pays?|paid|purchase[sd]?)\b", re.IGNORECASE)
_ABLE = re.compile(r"\b(?:can|could|able|enough|needs?|must|should)\b|\bif\b", re.IGNORECASE)
_EACH = re.compile(
    r"(?:\s?(?:dollars?|cents?|euros?|pounds?|USD)\b)?\s{0,3}[*_]{0,2}\s{0,3}"
    r"(?:apiece|[x×]|(?:(?:for )?(?:each|every)|per|an?\b|/)(?!\s{0,3}(?:day|week|month|year|hour)))",
    re.IGNORECASE,
)
_SENTENCE = re.compile(rf"[.!?]{ABBREVIATION}[\"'*)]*\s+|[。！？।]|;\s+")
_REFUSAL_REACH = 300
_REFUSAL_WORDS = ("cannot", "can't", "not ", "impossible", "unable", "information")
"""One of them is in every refusal; looking for them is much quicker than the pattern."""
_REFUSAL = re.compile(
    r"\b(?:cannot|can't|can not|could not|(?:impossible|unable|not possible) to)\s+(?:be\s+)?(?:further\s+)?"
    r"(?:determine|answer|calculate|solve|say|simplif)|\b(?:not enough|insufficient|more) information",
)
_OPERATOR_GAP = re.compile(
    r"[\s)]*(?:[^\W\d_]{1,20}\s+)?[)\s]*(?:[+*/×÷·]|[-−–]|x|\\times|\\cdot|\\div)[\s($\\]*"
)


class Closing(NamedTuple):
    """What the end of a response states: a number, or why there is none."""

    number: Number | None
    reason: str = ""


def last_statement(text: str, start: int, end: int, comma_decimal: bool | None) -> Closing:
    """The number stated by the last sentence that states one; what a chat says in parting is no statement."""
    end = _before_check(text, start, _before_offer(text, start, end))
    if _loops(text, start, end):
        return Closing(None, "repetition")
    if _refuses(text[max(start, end - _REFUSAL_REACH) : end]):
        return Closing(None, "refusal")
    stop = len(text[start:end].rstrip()) + start
    if text[start:stop].endswith(("?", "？")):
        return Closing(None, QUESTION)
    for line_start, line_stop in _lines_from_end(text, start, end):
        if _NOTE.match(text, line_start, line_stop) and text[start:line_start].strip():
            continue
        for sentence_start, sentence_stop in _sentences_from_end(text, line_start, line_stop):
            found = _stated(text, sentence_start, sentence_stop, comma_decimal)
            if found is not None:
                return found
    words = _last_words(text, start, end)
    return Closing(words, "" if words else NOTHING)


def _before_offer(text: str, start: int, end: int) -> int:
    """Where the text ends without the offer of further help that its last line may close with."""
    begin = max(start, end - _OFFER_REACH)
    tail = text[begin:end].rstrip().lower()
    if len(tail) != len(text[begin:end].rstrip()) or not any(word in tail for word in _OFFER_WORDS):
        return end
    last_line = tail.rfind("\n") + 1
    for offer in _OFFER.finditer(tail):
        if offer.end() > last_line and tail[: offer.start()].strip():
            return begin + offer.start()
    return end


def _before_check(text: str, start: int, end: int) -> int:
    """Where the text ends without a closing check of the answer, unless that concludes anything."""
    begin = max(start, end - _CHECK_REACH)
    tail = text[begin:end]
    if not any(word in tail for word in _CHECK_WORDS):
        return end
    check = _CHECK.search(tail)
    if check is None or _CONCLUSION.search(tail, check.end()) or _is_spoken_on(tail, check.end()):
        return end
    line = tail.rfind("\n", 0, check.start()) + 1
    cut = begin + (line if _NUMBERING.fullmatch(tail, line, check.start()) else check.start())
    return cut if _DIGIT.search(text, start, cut) else end


def _is_spoken_on(tail: str, at: int) -> bool:
    """Whether a check that ends with its line is followed by sentences about numbers."""
    check = _ON_THE_LINE.match(tail, at)
    return check is not None and _PROSE.search(tail, check.end()) is not None


def _refuses(tail: str) -> bool:
    tail = tail.lower()
    return any(word in tail for word in _REFUSAL_WORDS) and _REFUSAL.search(tail) is not None


def _loops(text: str, start: int, end: int) -> bool:
    """Whether the response ends in a loop: its last characters occur several times near the end."""
    tail = text[max(start, end - 2000) : end].rstrip()
    last = tail[-_LOOP:]
    return len(last) == _LOOP and tail.count(last) >= _LOOP_TIMES


def _lines_from_end(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    stop = end
    for _ in range(MAX_LINES):
        if stop <= start:
            return
        line = text.rfind("\n", start, stop) + 1 or start
        yield max(line, stop - MAX_LINE), stop
        stop = line - 1


def _sentences_from_end(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    enumerator = _ENUMERATOR.match(text, start, stop)
    begin = enumerator.end() if enumerator else start
    cuts = [begin, *(match.end() for match in _SENTENCE.finditer(text, begin, stop)), stop]
    return list(pairwise(cuts))[::-1]


def _stated(text: str, start: int, stop: int, comma_decimal: bool | None) -> Closing | None:
    """What one sentence states; None where it has no number and an earlier one is to be read."""
    tokens = list(find_tokens(text, start, stop, comma_decimal))
    if not tokens or text[start:stop].rstrip().endswith("?"):
        return None
    chosen = tokens[0] if len(tokens) == 1 else _asserted(text, start, stop, tokens)
    if isinstance(chosen, Unreadable):
        return Closing(None, chosen.reason)
    if chosen is not tokens[0] and stands_beside(text, tokens[tokens.index(chosen) - 1].end, chosen.start):
        return Closing(None, SEVERAL)
    if _DENIAL.search(text[max(start, chosen.start - 12) : chosen.start]):
        return Closing(None, "denied")
    first = _calculation_start(text, tokens, chosen)
    reading: Reading = settle(text, first, stop, comma_decimal)
    return Closing(reading, "") if isinstance(reading, Number) else Closing(None, reading)


def beside_the_point(text: str, start: int, stop: int, at: int, numbers: list[Number]) -> bool:
    """Whether of a line's numbers the one at `at` is in an aside, but another of its sentence in none."""
    sentences = _sentences_from_end(text, start, stop)
    begin, end = next((s for s in sentences if s[0] <= at), (start, stop))
    asides = [a for a in _asides(text, begin, end) if text[a[0] : a[0] + 3].lower() != "to "]
    outside = [
        number.start
        for number in numbers
        if begin <= number.start < end
        and (
            _AFTER_EQUALS.search(text, begin, number.start)
            or not (_is_in(asides, number.start) or _is_in_phrase(text, begin, number))
        )
    ]
    return bool(outside) and at not in outside


def _asserted(text: str, start: int, stop: int, tokens: list[Number | Unreadable]) -> Number | Unreadable:
    equals = text.rfind("=", start, stop)
    after = [token for token in tokens if token.start > equals] if equals >= 0 else []
    if after:
        return after[0]
    asides = _asides(text, start, stop)
    plain = [t for t in tokens if not _is_in(asides, t.start)]
    stated = [t for t in tokens if not _is_in_phrase(text, start, t)]
    both = [t for t in plain if t in stated]
    return (both or stated or plain or tokens)[-1]


def _asides(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    return [match.span() for match in _ASIDE.finditer(text, start, stop)]


def _is_in(asides: list[tuple[int, int]], at: int) -> bool:
    return any(begin <= at < end for begin, end in asides)


def _is_in_phrase(text: str, start: int, token: Number | Unreadable) -> bool:
    if isinstance(token, Number) and token.clock:
        return True
    phrase = _PHRASE.search(text, max(start, token.start - 40), token.start)
    return phrase is not None and not (phrase[0][:3].lower() == "for" and _is_price(text, start, token))


def _is_price(text: str, start: int, token: Number | Unreadable) -> bool:
    """Whether the amount after `for` is what was paid: `sells 9 eggs for $18`, not `can buy 9 for $18`."""
    amount = text[token.start] in "$€£\\" or _CURRENCY.match(text, token.end) is not None
    return (
        amount
        and _SALE.search(text, start, token.start) is not None
        and _ABLE.search(text, start, token.start) is None
        and _EACH.match(text, token.end) is None
    )


def _calculation_start(text: str, tokens: list[Number | Unreadable], chosen: Number) -> Number:
    """The first operand of the calculation that `chosen` is an operand of."""
    at = tokens.index(chosen)
    while at > 0:
        before = tokens[at - 1]
        gap = text[before.end : chosen.start]
        hyphen = gap in "-–"
        if not isinstance(before, Number) or hyphen or not _OPERATOR_GAP.fullmatch(gap):
            break
        chosen, at = before, at - 1
    return chosen


def _last_words(text: str, start: int, end: int) -> Number | None:
    """The last whole number in words, in the last sentences only: `one` and `half` are often no answer."""
    sentences = 0
    for line_start, line_stop in _lines_from_end(text, start, end):
        for sentence_start, sentence_stop in _sentences_from_end(text, line_start, line_stop):
            if not text[sentence_start:sentence_stop].strip():
                continue
            found = [w for w in find_words(text, sentence_start, sentence_stop) if isinstance(w.value, int)]
            if found:
                return Number(*found[-1])
            sentences += 1
            if sentences >= _WORD_SENTENCES:
                return None
    return None
