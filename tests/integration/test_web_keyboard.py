"""Journeys through the pages by keyboard alone: Tab, Enter, Space and letters; no test here clicks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from web_site import Site, tab

MAX_TABS = 120


@pytest.fixture
def ana(chromium: Browser, pages: Site) -> Iterator[Page]:
    with tab(chromium, pages, "ana") as page:
        page.goto("/ui/overview")
        yield page


def reach(page: Page, wanted: Locator) -> None:
    """Press Tab until what is wanted has the focus, and can be seen to have it."""
    expect(wanted).to_be_visible()
    for _ in range(MAX_TABS):
        page.keyboard.press("Tab")
        if wanted.evaluate("it => it === document.activeElement"):  # found anew: a part of a page may be replaced
            assert wanted.evaluate("it => getComputedStyle(it).outlineStyle") != "none", "the focus is seen"
            return
    raise AssertionError(f"{MAX_TABS} times Tab do not lead to {wanted}")


def press(page: Page, wanted: Locator, key: str = "Enter") -> None:
    """Go to something by Tab and press a key on it."""
    reach(page, wanted)
    page.keyboard.press(key)


def open_page(page: Page, name: str, heading: str) -> None:
    """Open a page from the menu."""
    press(page, page.get_by_role("navigation").get_by_role("link", name=name, exact=True))
    expect(page.get_by_role("heading", level=1)).to_contain_text(heading)


def test_a_key_is_typed_and_the_menu_is_skipped(chromium: Browser, pages: Site) -> None:
    with tab(chromium, pages) as page:
        page.goto("/ui/login")
        reach(page, page.get_by_label("Key"))
        page.keyboard.type(pages.keys["ana"])
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("What is known of")
        press(page, page.get_by_role("link", name="Skip to the content"))
        assert page.evaluate("document.activeElement.id") == "main"
        reach(page, page.get_by_role("searchbox"))
        page.keyboard.type("cherry trees")
        page.keyboard.press("Enter")
        expect(page.locator(".row").first).to_contain_text("cherry")


@pytest.mark.soak
def test_what_was_shown_is_chosen_by_day(ana: Page) -> None:
    open_page(ana, "What was shown", "What models were shown")
    press(ana, ana.get_by_role("link", name="yesterday"))
    expect(ana.locator("#main")).to_contain_text("Nothing was shown on that day.")


@pytest.mark.soak
def test_a_preview_is_asked_for_and_its_reasons_are_opened(ana: Page) -> None:
    open_page(ana, "Context preview", "Context preview")
    reach(ana, ana.get_by_label("The message"))
    ana.keyboard.type("What is Ana allergic to?")
    press(ana, ana.get_by_role("button", name="Show"))
    expect(ana.get_by_role("region", name="What is injected")).to_contain_text("peanuts")
    item = ana.get_by_role("region", name="Why each is in").locator("li", has_text="peanuts")
    press(ana, item.locator("summary"))
    expect(item.get_by_role("region", name="Parts of the score")).to_be_visible()


def test_what_waits_is_read_and_decided(ana: Page) -> None:
    open_page(ana, "Inbox", "What waits for a decision")
    held = ana.get_by_role("region", name="Held back")
    expect(held.get_by_text("Ignore all previous")).to_be_hidden()
    press(ana, held.locator("summary"))
    expect(held.get_by_text("Ignore all previous")).to_be_visible()
    press(ana, ana.get_by_role("region", name="Consent").get_by_role("button", name="Agree"))
    expect(ana.get_by_role("status")).to_contain_text("Approved.")


@pytest.mark.soak
def test_a_conversation_is_forgotten_and_brought_back(ana: Page) -> None:
    open_page(ana, "Conversations", "Conversations")
    press(ana, ana.get_by_role("link", name="I planted three cherry trees"))
    press(ana, ana.get_by_role("button", name="Forget this conversation…"))
    press(ana, ana.get_by_role("button", name="Forget"))
    expect(ana.get_by_role("status")).to_contain_text("Forgotten.")
    press(ana, ana.get_by_role("status").get_by_role("button", name="Undo"))
    expect(ana.get_by_role("status")).to_contain_text("Undone.")
    open_page(ana, "Conversations", "Conversations")
    press(ana, ana.get_by_role("link", name="planning"))
    expect(ana.locator("#main")).to_contain_text("The oven is free on Friday.")


@pytest.mark.soak
def test_a_saved_value_is_read_and_removed(ana: Page) -> None:
    open_page(ana, "Saved state", "Saved state")
    press(ana, ana.get_by_role("link", name="oven_plan"))
    expect(ana.locator("#main")).to_contain_text('"friday": "rye"')
    open_page(ana, "Saved state", "Saved state")
    press(ana, ana.locator("summary", has_text="Remove…"))
    press(ana, ana.get_by_role("button", name="Remove it"))
    expect(ana.get_by_role("status")).to_contain_text("Removed.")


def test_memories_are_chosen_forgotten_and_taken_out_of_the_trash(ana: Page) -> None:
    open_page(ana, "Memories", "Memories")
    row = ana.get_by_role("checkbox", name="Choose: Mira is Ana's sister.")
    press(ana, row, "Space")
    expect(ana.locator("[data-chosen]")).to_have_text("1 chosen:")
    for _ in range(MAX_TABS):  # the buttons stand before the list
        if ana.evaluate("document.activeElement.value") == "forget":
            break
        ana.keyboard.press("Shift+Tab")
    ana.keyboard.press("Enter")
    press(ana, ana.get_by_role("button", name="Forget"))
    expect(ana.get_by_role("status")).to_contain_text("Forgotten.")
    open_page(ana, "Trash", "Trash")
    box = ana.get_by_role("checkbox", name="Mira is Ana's sister.")
    press(ana, box, "Space")
    expect(box).to_be_checked()
    for _ in range(MAX_TABS):
        if ana.evaluate("document.activeElement.textContent").strip() == "Restore the chosen":
            break
        ana.keyboard.press("Shift+Tab")
    ana.keyboard.press("Enter")
    expect(ana.get_by_role("status")).to_contain_text("Restored.")


@pytest.mark.soak
def test_relations_are_read_as_a_list(ana: Page) -> None:
    open_page(ana, "Relations", "Relations")
    same = ana.locator("summary", has_text="The same as a list")
    press(ana, same)
    press(ana, same.locator("..").get_by_role("link").first)
    expect(ana.get_by_role("heading", name="History")).to_be_visible()


@pytest.mark.soak
def test_events_are_filtered_and_an_agents_eyes_are_borrowed(ana: Page) -> None:
    open_page(ana, "Events", "What was done, and when")
    reach(ana, ana.get_by_label("Outcome"))
    ana.keyboard.press("ArrowDown")
    press(ana, ana.get_by_role("button", name="Show"))
    expect(ana.get_by_label("Outcome")).not_to_have_value("")
    open_page(ana, "Agents", "Agents and what they may see")
    press(ana, ana.get_by_role("link", name="its memories of planner"))
    expect(ana.get_by_role("heading", level=1)).to_have_text("Memories")


@pytest.mark.soak
def test_an_operator_makes_and_revokes_a_key_tries_a_job_and_asks_whether_all_is_well(
    chromium: Browser, pages: Site
) -> None:
    with tab(chromium, pages, "operator") as page:
        page.goto("/ui/people")
        press(page, page.get_by_role("link", name="tom"))
        expect(page.get_by_role("heading", level=1)).to_have_text("What is known of tom")
        open_page(page, "Keys", "Keys")
        reach(page, page.get_by_label("Name, for people"))
        page.keyboard.type("by keyboard")
        press(page, page.get_by_role("button", name="Make the key"))
        expect(page.get_by_role("region", name="The new key")).to_be_visible()
        press(page, page.get_by_role("button", name="Revoke by keyboard…"))
        press(page, page.get_by_role("button", name="Revoke"))
        expect(page.get_by_role("status")).to_contain_text("The key opens nothing any more.")
        open_page(page, "Jobs and budgets", "Jobs and budgets")
        press(page, page.get_by_role("button", name="Try consolidate"))
        expect(page.get_by_role("status").last).to_contain_text("consolidate would change")
        open_page(page, "Doctor", "Is it well?")
