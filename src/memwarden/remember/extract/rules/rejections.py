"""Sentences that state nothing about their speaker: questions, chat, requests, words about the talk itself."""

from __future__ import annotations

import re
from typing import Final

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
    r"supposed to|pretend|imagine|hypothetical\w*|as if|kidding|joking)\b|^if\b|\bif only\b",
    re.IGNORECASE,
)
_SPOKEN_TO: Final = re.compile(r"\byou\b|\byour\b", re.IGNORECASE)


def reject_sentence(sentence: str, asks: bool) -> str | None:
    """Why nothing of a sentence is a statement about its speaker, or None. ``sentence``: contractions written out."""
    if asks:
        return "question"
    if _WAVERING.search(sentence):
        return "not stated as true"
    return None


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
