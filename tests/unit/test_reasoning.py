"""Hidden reasoning and citation marks leave an answer; what speaks about them stays."""

from __future__ import annotations

import time

import pytest

from memwarden.models.reasoning import strip_reasoning


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("<think>The user is poor.</think>Take the Alpha pump.", "Take the Alpha pump."),
        ("<think>\none\n\ntwo\n</think>\n\nTake it.", "Take it."),
        ("<THINKING>a</THINKING> Take it.", "Take it."),
        ("a plan\nof lines\n</think>\n\nTake it.", "Take it."),
        ("◁think▷hm◁/think▷Take it.", "Take it."),
        (
            '<details type="reasoning" done="true"><summary>Thought for 3 seconds</summary>hidden</details>Pump three.',
            "Pump three.",
        ),
        ("[THINK]ein Plan[/THINK]Nimm die Pumpe.", "Nimm die Pumpe."),
        ("<seed:think>計画</seed:think>ポンプです。", "ポンプです。"),
        (
            "<|begin_of_thought|>plan<|end_of_thought|>\n<|begin_of_solution|>La pompe.<|end_of_solution|>",
            "La pompe.",
        ),
        ("<|START_THINKING|>plan<|END_THINKING|><|START_RESPONSE|>La bomba.<|END_RESPONSE|>", "La bomba."),
        (
            "<|channel|>analysis<|message|>no<|end|><|start|>assistant<|channel|>final<|message|>Take it.<|return|>",
            "Take it.",
        ),
        ("<|channel|>analysis<|message|>cut off", ""),
        ("The tag <|channel|>final<|message|> comes from a template.",) * 2,
        ("First.\n<think>again</think>\nSecond.", "First.\nSecond."),
        ("<think>a</think><think>b</think>Take it.", "Take it."),
        ("<think>cut off after a while", ""),
        ("The pump is new.\ue200cite\ue202turn0search1\ue201", "The pump is new."),
        ("The pump is new 【10†source】.", "The pump is new."),
        ('<think type="deep">plan</think >Take it.', "Take it."),
        ("<think>a<think>b</think>c</think>Take it.", "Take it."),
        ("<think>I close with </think>Take it.", "Take it."),
        ("<scratchpad>計画</scratchpad>ポンプです。", "ポンプです。"),
        ("<reflection>plan</reflection>\nPrends-la.", "Prends-la."),
        ("The pump is new. citeturn0search1turn0news2", "The pump is new."),
        ("[cite_start]La bomba es nueva.[cite: 1, 12]", "La bomba es nueva."),
        ("Die Pumpe ist neu[^1^].", "Die Pumpe ist neu."),
        ('The <cite index="1-2">pump</cite> is new.', "The pump is new."),
        ("It is <cite>Moby Dick</cite>.",) * 2,
        (
            'Neu.<grok:render card_id="a" type="render_inline_citation"><argument name="id">3</argument></grok:render>',
            "Neu.",
        ),
        ("Plain text.", "Plain text."),
        ("Wrap it in <think> and </think> tags.", "Wrap it in <think> and </think> tags."),
        ("```xml\n<think>shown</think>\n```", "```xml\n<think>shown</think>\n```"),
        ("<details><summary>More</summary>text</details>", "<details><summary>More</summary>text</details>"),
        ("Use this:\n<think> opens it", "Use this:\n<think> opens it"),
        ("[think] about it\nand call me",) * 2,
        ("[THINK] about it\nand call me",) * 2,
        ("[THINK] about it\n[/think] and call me",) * 2,
        ("I think <|START_RESPONSE|> opens it.",) * 2,
        ("【注意】今日は休み。", "【注意】今日は休み。"),
    ],
)
def test_only_what_is_hidden_is_removed(answer: str, left: str) -> None:
    assert strip_reasoning(answer) == left
    assert strip_reasoning(left) == left


def test_many_tags_are_read_in_little_time() -> None:
    for tags in ("x\n" + "<think>\n" * 20_000, "<think>\n" * 20_000 + "</think>", "x <cite index=1>" * 20_000):
        begun = time.process_time()
        strip_reasoning(tags)
        assert time.process_time() - begun < 5
