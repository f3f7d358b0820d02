"""Sentences that state nothing about their speaker: questions, chat, requests, words about the talk itself.

And English words that tell nothing when nobody knows the talk around them, so that they are not quoted.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime
from typing import Final

from memwarden.remember.extract import rules as en
from memwarden.remember.extract.rules import VAGUE_NOUNS
from memwarden.remember.extract.rules.clauses import drop_openers
from memwarden.remember.extract.rules.gate import judge_worth
from memwarden.statements.wording import relations_in
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.language import is_english
from memwarden.text.lexicon import load_lexicon
from memwarden.text.sentences import split_spans

# Reactions to what the other said.
_CHAT: Final = re.compile(
    r"^(?:that(?:'s| is| was| sounds| makes| would| will| really| must| means| feels| works| looks)\b|th(?:is|ese|"
    r"ose) (?:is|are|was|looks?|sounds?|"
    r"feels?|really|all|makes?|one)\b|sounds\b|thanks?\b|thank you|glad\b|happy to\b|nice\b|great\b|good (?:luck|"
    r"to|for|point|idea|call)|"
    r"congrats|congratulations|you\b|your\b|it\b|it's\b|what (?:a|an)\b|how \w+\b|no doubt|can't wait|cannot wait|"
    r"can not wait|looking forward|"
    r"hope\b|sorry\b|wish\b|here(?:'s| is| are)\b|there(?:'s| is| are)\b|"
    r"i (?:really |also |just |totally |completely |absolutely |definitely |truly |do |still |can )*(?:love|like|"
    r"hate|enjoy)s?"
    r" (?:this|that|it|how|the (?:idea|sound|way|look|concept|fact|thought|focus|plan|suggestion|approach|"
    r"structure)|your|you|those|these|to (?:hear|see)|seeing|hearing|what)\b|"
    r"i (?:really |also |just |totally |completely |absolutely |definitely |truly |do |can |will |fully |so "
    r")*(?:appreciate|agree|understand|"
    r"see|get|hear|know|guess|think|believe|feel|hope|wish|bet|mean|remember|wonder|imagine|promise|suppose|swear|"
    r"trust|assume|"
    r"expect|anticipate|doubt|admire|respect|relate|hear)\b|"
    r"i (?:am|was) (?:really |so |very |just |super |also |still |totally |definitely |pretty |quite |a bit |"
    r"incredibly |truly |always |here )*(?:glad|happy|excited|ready|"
    r"sorry|proud|sure|curious|here|back|thrilled|looking forward|grateful|thankful|impressed|pleased|relieved|"
    r"confident|hoping (?:you|that|we)|wondering|feeling|stoked|pumped|good|fine|okay|all|not sure|amazed|"
    r"surprised|honou?red|"
    r"touched|certain|aware|afraid|worried|concerned|interested in (?:hearing|seeing|your)|satisfied|done|eager|"
    r"keen to|"
    r"in|on it|willing to (?:try|do|give|wait|accept|let|go)|open to|tired|exhausted|overwhelmed|stressed|nervous|"
    r"anxious|frustrated|listening|counting on you|rooting|with you|down)\b|"
    r"i (?:cannot|can not|could not) (?:wait|believe|agree|imagine|thank)|i (?:would|will) (?:say|be|definitely|"
    r"love to hear|let you|"
    r"tell you|check (?:it|that|this|them)|keep (?:you|it|that)|make sure)\b|i have (?:a question|to say|great "
    r"news|good news|some news|got to say|no idea|no doubt|"
    r"faith|been (?:thinking|wondering|meaning)|a feeling)\b)",
    re.IGNORECASE,
)
# An order to an assistant says what somebody wants done, not who they are.
_REQUEST: Final = re.compile(
    r"^(?:please|kindly|write|rewrite|create|make|generate|give|list|explain|describe|summari[sz]e|translate|act|"
    r"tell|show|continue|"
    r"provide|design|improve|convert|add|use|change|do|do not|don't|find|suggest|compare|define|draft|analy[sz]e|"
    r"turn|fix|imagine|"
    r"include|remove|rephrase|edit|discuss|answer|calculate|help|outline|proceed|ensure|confirm|prepare|present|let me|"
    r"keep|go|take|put|set|start|stop|focus|check|look|remind|send|update|walk|move|consider|remember|wait|be|get|"
    r"note|log|try|come|have a|enjoy|stay|read|never mind|let us (?!go with|stick|choose|book|schedule|add|swap|"
    r"replace)|let's (?!go with|stick (?:with|to)|choose|book|schedule|add|swap|replace)|can|could|would|will|"
    r"should|shall|may|may i|do you|did you|are you|"
    r"is there|is it|are there|what|why|who|which|where|when (?:do|is|are|can|will|should|did)|how (?:do|is|are|"
    r"can|will|should|did|about|many|much))\b|"
    r"\b(?:can|could|would|will) you\b|\bplease\b|\bi need to (?:know|see|understand|get|focus|make sure|hear|"
    r"have)\b|\bi (?:just |really |still |also )*(?:require|demand|expect)\b|\b(?:i|we) (?:will |just |really |"
    r"still |also )*need (?:you|this|that|it|them|those|these|your?|more|some|help|(?:an? |the )?(?:\w+ "
    r"){0,2}?(?:clear|concrete|actual|actionable|simple|simpler|specific|plan|list|details?|answer|solution|"
    r"confirmation|data|quotes?|overview|updates?|breakdown|draft|step|steps|schedule|protocol|version|summary|moment|"
    r"break)\b|something|everything|everyone|to (?:be able|move|figure|nail|look|pick|initiate|absorb|frame|think|"
    r"process|track|capture|use|work|do|go|start|build|review|streamline|stop|find|focus|finali[sz]e|decide|"
    r"address|discuss|prioriti[sz]e|pinpoint|finish|keep|ensure|remember))\b|"
    r"\bi (?:would|'d) (?:really |just |also |still |definitely )*(?:like|love|appreciate|want) (?:to|you|a|the|"
    r"some|that|it|if|your)\b|"
    r"\bi (?:want|need|would like|expect|am asking|am waiting for|trust|hope|am counting on) you\b|"
    r"\bi (?:just |really |still |also |do |definitely |only )*want (?:to (?:see|know|make sure|understand|hear|"
    r"get|focus|be|use|go over|talk|start|ensure|have|review|keep|"
    r"look|ask|do|confirm|feel|say|point|clarify|check|discuss|dive|find|give|think|move|go through|really|share|"
    r"show)|this|that|it|the|a|an|"
    r"these|those|us|everything|all|something|no|your|my|and|people|them)\b",
    re.IGNORECASE,
)
# "I already told you": a statement about the talk.
_ABOUT_THE_TALK: Final = re.compile(
    r"\b(?:i|we) (?:have )?(?:just |already |explicitly |specifically |clearly |previously |repeatedly |precisely |"
    r"actually )*(?:requested|stated|demanded|asked|"
    r"specified|instructed|told you|said|mentioned|gave you|talked|discussed|agreed|went over|outlined|established|"
    r"uploaded|"
    r"sent you|provided|clarified|covered|reviewed|confirmed|approved|identified|noted|finali[sz]ed|nailed|locked|"
    r"tweaked|adjusted|listed|"
    r"settled on the|worked on|put together|broke down|set up)\b|\bas (?:i|you|we) (?:said|mentioned|discussed|"
    r"agreed|stated|planned|requested)|"
    r"\bthis (?:conversation|chat|module|format)\b|\byou(?:r|'re|'ve| have| are| were| did| said| mentioned| gave| "
    r"can| will)\b|"
    r"\b(?:my|our) (?:last|previous|earlier) (?:message|instruction|request|conversation|chat|session|question)|"
    r"\b(?:my|the) (?:instructions?|request|directive|expectation|question|point|message|response|answer|"
    r"records?)\b (?:is|was|were|are|clearly|indicates?|remains?)",
    re.IGNORECASE,
)
# Who wonders states nothing.
_WAVERING: Final = re.compile(
    r"\b(?:not sure|no idea|maybe i|i guess|wonder(?:ing)? (?:if|whether)|what if|would have|could have|should "
    r"have|wish i|if i (?:were|had|could)|"
    r"supposed to|pretend|imagine|hypothetical\w*|as if)\b|^if\b|\bif only\b",
    re.IGNORECASE,
)
# Takes back the sentence before it.
_TAKEN_BACK: Final = re.compile(r"\b(?:kidding|joking)\b", re.IGNORECASE)
_SPOKEN_TO: Final = re.compile(r"\byou\b|\byour\b", re.IGNORECASE)
# A capital letter inside of a sentence; its beginning proves nothing.
_NAME: Final = re.compile(r"(?<![.!?] )(?<!^)\b(?!I\b)[A-Z][\w'&-]*\w")
_ENGLISH: Final = load_lexicon("en").words
_MONTH: Final = f"(?:{'|'.join(name.title() for name in (*_ENGLISH['months'], *_ENGLISH['weekdays']))})"
# Capitals that name no thing: months, "Step", "Option".
_NOT_A_NAME: Final = re.compile(rf"{_MONTH}|I|OK|Okay|Day|Step|Option|Phase|Week|Chapter|Section|Part|AI|Assistant")
# A plan for the talk itself ("I will try that now") is over when it is read.
_SESSION: Final = re.compile(
    rf"\b(?:going to|will|want to|plan to|planning to|plan on|hope to|intend to|aim to|need to|about to|ready to|"
    rf"try to|tend to|have to) (?:\w+ly )?(?:{en.SESSION_VERBS})\b",
    re.IGNORECASE,
)


def reject_sentence(sentence: str, asks: bool) -> str | None:
    """Why nothing of a sentence is a statement about its speaker, or None. ``sentence``: contractions written out."""
    if asks:
        return "question"
    if supposes(sentence) or _TAKEN_BACK.search(sentence):
        return "not stated as true"
    return None


def supposes(sentence: str) -> bool:
    """Whether an English sentence supposes something, or wonders about it."""
    return _WAVERING.search(sentence) is not None


def reject_clause(clause: str, *, two_person: bool) -> str | None:
    """Return why a clause is no statement, or None."""
    if _CHAT.match(clause):
        return "chat"
    if _REQUEST.search(clause) if not two_person else _REQUEST.match(clause):
        return "request"
    if not two_person and _ABOUT_THE_TALK.search(clause):
        return "about the talk itself"
    if two_person and _SPOKEN_TO.search(clause):
        return "speaks to the other"
    return None


# Between two people nearly all that says less of its speaker is encouragement; a name or a number makes up for it.
MIN_NOTE: Final = 0.25
# A message to an assistant of which this share of sentences speaks to it, or of the talk, is a step of a task.
MAX_OF_THE_TALK: Final = 0.5
MAX_WORDS_OF_OTHERS: Final = 12
# "Thanks, Melanie!" is no sentence of its own.
MIN_WORDS: Final = 2

_SPEAKER: Final = re.compile(
    r"\b(?:i|im|ive|i'm|i've|i'd|i'll|my|me|mine|we|we're|we've|we'll|our|ours|us)\b", re.IGNORECASE
)
_TO_THE_ASSISTANT: Final = re.compile(r"\byou\b|\byour\b|\byou'(?:re|ve|d|ll)\b|\bassistant\b", re.IGNORECASE)
# What is done in the talk itself, now or at its last time.
_IN_THE_TALK: Final = re.compile(
    r"\bi(?:'ll| will) (?:\w+ )?(?:go|do|be|take|check|come|start|try|let|use|make|read|follow|send|get|hit|find|look|"
    r"work|keep|review)\b|"
    r"\b(?:i am|i'm) (?:\w+ )?(?:going (?:now|to)|ready|off to|back|trying|done|on it)\b|\bready to\b|\bgot it\b|"
    r"\blet's\b|\bwe (?:did|discussed|started|talked|decided|defined|went|set|have been)\b|\blast time\b",
    re.IGNORECASE,
)
# "She told me!": nobody knows who.
_POINTS: Final = re.compile(
    r"^(?:she|he|they|it|that|this|these|those|both|neither|one (?:at|in|for|with|on|is|was))(?:'\w+|s)?\b|"
    r"\b(?:it|this|that|them|those|there)[.!]*$|"
    r"^[\d.,]+ (?:of|yep|yes|yeah|no|ok|okay|then|now|but|please)\b",
    re.IGNORECASE,
)
# "She's 11": nobody knows who.
_SOMEBODY: Final = re.compile(r"\b(?:she|he|they|him)(?:'\w+)?\b", re.IGNORECASE)
# "Monday at nine works" agrees to what is not shown, and "first off, nobody ..." begins on what is not named.
_AGREES: Final = re.compile(
    r"^.{0,40}\b(?:\d+ ?(?:am|pm)|\d:\d\d|\w+day|tomorrow|morning|afternoon|evening)\b[^.!?;]{0,20}"
    r"\b(?:works(?= ?(?:[.,;!?…)]|$)| (?:for (?:me|us)|great|fine|well|best)\b)|"
    r"sounds (?:good|great|perfect|fine|right)\b)|"
    r"^(?:first(?:ly)? off|secondly|thirdly),? (?:nobody|none|nothing|no one)\b",
    re.IGNORECASE,
)
# "The trip was never in July": somebody who plans several does not know which.
_UNNAMED: Final = re.compile(
    rf"^(?:as for |regarding |about )?the (?:{VAGUE_NOUNS})\b(?! (?:of|to|in|with|at|called)\b)", re.IGNORECASE
)
# "9 minutes. Self-hosted", "480 yep. Deposit as before" answer what is not shown.
_BARE_NUMBER: Final = re.compile(r"^\d[\d.,:]*\s*[^\W\d]{1,12}[.;!]\s")
# What stands around a day that is all that a sentence says.
_BESIDE_A_DAY: Final = re.compile(
    r"\b(?:on|at|from|until|till|by|the|next|am|im|um|ab|bis|den|dem|der|vom|el|los|en|del|desde|hasta|que|viene|le|"
    r"les|au|du|dès)\b|[\s\W_]+|から|まで|です|[はにので]"
)
# Who types small letters may have named somebody in so many words.
MIN_WORDS_TO_NAME: Final = 5
_CAPITALISED: Final = re.compile(r"\b[A-Z]\w+")


def tells_of_life(sentence: str) -> bool:
    """Whether a sentence to an assistant tells something: it does not speak to it, nor of the talk itself.

    A long one that says nothing of its speaker is of a story or an article.
    """
    typed = sentence[:1].isupper() and _SPEAKER.search(sentence) is None
    if typed and len(sentence.split()) > MAX_WORDS_OF_OTHERS:
        return False
    return not (_TO_THE_ASSISTANT.search(sentence) or _IN_THE_TALK.search(sentence) or is_about_the_talk(sentence))


def is_mostly_of_the_talk(sentences: Collection[str]) -> bool:
    """Whether so many of a message's sentences speak to the assistant that the rest are steps of a task as well."""
    return sum(not tells_of_life(each) for each in sentences) > MAX_OF_THE_TALK * len(sentences)


def says_enough(
    words: str, sentences: Collection[str], speakers: Collection[str], *, two_person: bool, answers: bool = False
) -> bool:
    """Whether words can be understood and are worth having later.

    words: all that would be quoted. sentences: of it. speakers: the first names of those who talk, in small letters:
    whoever is spoken to is nobody whom the words tell of. answers: the question that they answer stands beside them.
    """
    bare = [drop_openers(each) for each in sentences]
    told = [each for each in bare if len(each.split()) >= MIN_WORDS]
    if not told:
        return answers and not two_person
    others = _CAPITALISED.sub(lambda name: "" if name[0].casefold() in speakers else name[0], " ".join(told))
    anchored = any(map(str.isdigit, others)) or bool(names_in(others))
    if not answers and (_POINTS.search(told[0]) or _AGREES.search(words)):
        return False
    if not (answers or two_person or names_in(others)) and _UNNAMED.search(told[0]):
        return False
    if two_person:
        return anchored or judge_worth(words).note >= MIN_NOTE
    return answers or anchored or _SPEAKER.search(words) is not None or judge_worth(words).note >= MIN_NOTE


def points_at_somebody(words: str) -> bool:
    """Whether English words speak of somebody before they say who that is."""
    pointer = _SOMEBODY.search(words)
    if pointer is None or not is_english(words):
        return False
    before = words[: pointer.start()]
    return len(before.split()) < MIN_WORDS_TO_NAME and not (names_in(before) or relations_in(before))


def begins_with_an_answer(words: str, said: datetime) -> bool:
    """Whether words begin with a number or a day to come by itself: "On Monday the 8th. They say ...".

    Any language. A day that is over begins a story.
    """
    first = next((span.text for span in split_spans(words)), "")
    ahead = [span for span in spans_in(first, said) if span.last > said.date()]
    rest = first
    for span in ahead:
        rest = rest.replace(span.text, " ")
    return _BARE_NUMBER.match(words) is not None or (bool(ahead) and not _BESIDE_A_DAY.sub("", rest.lower()))


def names_in(text: str) -> list[str]:
    """Capitalised words inside a statement that are no months, week-days or headings."""
    return [name for name in _NAME.findall(text) if not _NOT_A_NAME.fullmatch(name)]


def is_about_the_talk(text: str) -> bool:
    """Whether a plan is about what is done in the talk itself ("going to open a new document")."""
    return _SESSION.search(text) is not None
