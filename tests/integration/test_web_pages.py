"""Journeys through the pages: what an agent would be given and why, and what waits for a decision."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from web_site import Site, browser, find_violations, site, tab


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), "auto") as served:
        yield served


@pytest.fixture(scope="module")
def chromium(pages: Site) -> Iterator[Browser]:  # the store is filled before, by an event loop of its own
    with browser() as started:
        yield started


@pytest.fixture
def ana(chromium: Browser, pages: Site) -> Iterator[Page]:
    with tab(chromium, pages, "ana") as page:
        yield page


def test_a_person_is_seen_at_a_glance_and_each_value_leads_to_its_words(ana: Page) -> None:
    ana.goto("/ui/")
    expect(ana.get_by_role("heading", level=1)).to_have_text("What is known of ana")
    changes = ana.get_by_role("region", name="What changed lately")
    expect(changes).to_contain_text("Ana planted three cherry trees.")
    assert "writes a diary" not in changes.inner_text()  # hidden until somebody asks
    assert find_violations(ana) == []
    ana.get_by_role("region", name="Open values").get_by_role("link").first.click()
    expect(ana.get_by_role("heading", name="History")).to_be_visible()


def test_a_wrong_memory_is_seen_in_a_prompt_traced_to_its_turn_corrected_told_and_taken_back(ana: Page) -> None:
    ana.goto("/ui/preview")
    ana.get_by_label("The message").fill("What is Ana allergic to?")
    ana.get_by_role("button", name="Show").click()
    exact = ana.get_by_role("region", name="What is injected")
    expect(exact).to_contain_text("<memories>")
    expect(exact).to_contain_text("Ana is allergic to peanuts.")
    item = ana.get_by_role("region", name="Why each is in").locator("li", has_text="peanuts")
    item.locator("summary").click()
    expect(item.get_by_role("region", name="Parts of the score")).to_contain_text("base")
    expect(ana.get_by_role("img", name="of 500 tokens")).to_be_visible()
    cut = ana.get_by_role("region", name="What was cut, and by which gate")
    expect(cut).to_contain_text("a newer fact took its place")
    assert find_violations(ana) == []
    item.get_by_role("link", name="Open the memory").click()
    expect(ana.locator(".turn")).to_contain_text("I am allergic to walnuts")
    ana.get_by_text("Correct it").click()
    ana.get_by_label("What is remembered").fill("Ana is allergic to walnuts.")
    ana.get_by_role("button", name="Save the correction").click()
    told = ana.get_by_role("region", name="What conversations are told of it")
    expect(told).to_contain_text("updated: [Activity] Ana is allergic to walnuts.")
    ana.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(ana.locator(".big")).to_contain_text("Ana is allergic to peanuts.")
    ana.goto("/ui/preview?message=What+is+Ana+allergic+to%3F")
    expect(ana.get_by_role("region", name="What is injected")).to_contain_text("peanuts")


def test_a_preview_shows_the_whole_request_of_each_mode_and_what_an_agent_may_see(ana: Page) -> None:
    ana.goto("/ui/preview?message=Where+does+Mira+live%3F")
    shown = {}
    for mode in ("system_append", "context_message", "user_prefix"):
        ana.get_by_label("Mode").select_option(mode)
        with ana.expect_response("**/ui/preview**") as answer:
            ana.get_by_role("button", name="Show").click()
        assert answer.value.ok
        expect(ana.locator(".htmx-request")).to_have_count(0)
        shown[mode] = ana.locator("details", has_text="The whole request").last.locator("pre").all_text_contents()
    assert ["<memories>" in text for text in shown["system_append"]] == [True, False]
    assert ["<memories>" in text for text in shown["context_message"]] == [False, True, False]
    assert ["<memories>" in text for text in shown["user_prefix"]] == [False, True]
    ana.get_by_label("Agent").select_option("planner")  # it may read neither activity nor event
    ana.get_by_role("button", name="Show").click()
    expect(ana.locator("#answer")).to_contain_text("Nothing would be injected.")
    assert "Leipzig" not in ana.locator("#answer").inner_text()


def test_a_part_of_a_page_says_what_was_wrong_with_a_form(ana: Page) -> None:
    ana.goto("/ui/preview")
    ana.get_by_label("The message").fill("Hello?")
    ana.get_by_label("Bar, 0 to 1").fill("high")
    ana.get_by_role("button", name="Show").click()
    expect(ana.get_by_role("alert")).to_contain_text("the bar is a number from 0 to 1")


def test_two_ways_of_asking_are_compared_by_keyboard_alone(ana: Page) -> None:
    ana.goto("/ui/compare")
    ana.get_by_label("The message").focus()
    ana.keyboard.type("What is Ana allergic to?")
    ana.keyboard.press("Tab")
    ana.keyboard.press("Tab")  # past the agent, to the budget
    ana.keyboard.press("Control+A")
    ana.keyboard.type("30")
    ana.keyboard.press("Enter")
    side_a, side_b = ana.get_by_role("region", name="A: "), ana.get_by_role("region", name="B: ")
    expect(side_b).to_contain_text("only B")
    expect(side_a.get_by_role("img", name="of 30 tokens")).to_be_visible()
    expect(side_b.get_by_role("img", name="of 500 tokens")).to_be_visible()
    assert find_violations(ana) == []
