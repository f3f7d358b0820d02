"""Weights of the cues, fitted on conversations of RealMem (Apache-2.0; see NOTICE) and on nothing else.

Made by::

    python bench/fit_personal_gate.py \
        Kim_Ji_young_dialogues_256k.json \
        Oliver_Smith_dialogues_256k.json \
        Sarah_Miller_dialogues_256k.json \
        --out src/memwarden/remember/extraction/gate_weights.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PERSONAL: Final[Mapping[str, float]] = {
    "i": 2.00,
    "contracted_i": 1.40,
    "my": 1.10,
    "me": 0.70,
    "we": 0.20,
    "lets": 1.00,
    "our": -0.60,
    "you": -0.35,
    "your": 0.50,
    "relation": -0.10,
    "feeling": -0.40,
    "agreement": 1.60,
    "thanks": 0.20,
    "greeting": 2.05,
    "opener": 1.75,
    "now": 1.20,
    "since_last": 0.05,
    "next_step": 1.35,
    "want": 0.15,
    "progress": 0.30,
    "plan": 1.30,
    "past_we": 0.65,
    "not": -0.30,
    "contraction": 1.60,
    "really": 1.80,
    "please": -0.35,
    "can_you": -0.85,
    "command": -0.80,
    "inner_command": 0.30,
    "artefact": -0.80,
    "question_first": -1.15,
    "asks": 0.50,
    "asks_general": -0.85,
    "exclaims": -0.05,
    "colon_list": -0.85,
    "quote": -0.05,
    "role_play": 0.05,
    "script": -0.40,
    "markup": -0.60,
    "digits": -0.40,
    "citation": -0.10,
    "capitals": -0.70,
    "names": 0.40,
    "third_person": -0.60,
    "short": -1.40,
    "length": 1.80,
    "long": -2.15,
    "constant": -2.75,
}
"""A user's own words rather than a pasted task or role play. ``constant`` is added."""

NOTE: Final[Mapping[str, float]] = {
    "i": 1.10,
    "my": 0.15,
    "relation": 1.15,
    "past": -0.20,
    "time": 0.40,
    "content": 1.00,
    "share": 0.50,
    "few": -1.80,
    "constant": -2.15,
}
"""A user's turn from which a gold memory was drawn. ``constant`` is added."""
