"""A person logs in with a key, finds what is remembered, looks where it comes from, corrects it and takes that back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from web_site import Site, find_violations, tab


@pytest.fixture
def ana(chromium: Browser, pages: Site) -> Iterator[Page]:
    with tab(chromium, pages, "ana") as page:
        yield page


def tab_to(page: Page, name: str, most: int = 60) -> None:
    """Press Tab until the focus is on what has this name."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(document.activeElement.innerText || document.activeElement.value || '').trim()") == name:
            return
    raise AssertionError(f"the keyboard alone does not reach {name!r}")


def test_a_stranger_is_asked_for_a_key_and_a_wrong_key_opens_nothing(chromium: Browser, pages: Site) -> None:
    with tab(chromium, pages) as page:
        page.goto("/ui/memories?user=ana")
        expect(page).to_have_url(re.compile("/ui/login$"))
        page.get_by_label("Key").fill("mw_0123456789abcdef_" + "A" * 43)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("no key of this server")
        assert find_violations(page) == []
        assert page.context.cookies() == []


def test_the_session_is_out_of_reach_of_scripts_and_of_other_sites(chromium: Browser, pages: Site) -> None:
    with tab(chromium, pages) as page:
        page.goto("/ui/login")
        page.get_by_label("Key").fill(pages.keys["ana"])
        page.get_by_role("button", name="Log in").click()
        page.wait_for_selector("nav")
        (cookie,) = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/ui")
        assert pages.keys["ana"] not in cookie["value"]
        assert "memwarden_session" not in str(page.evaluate("document.cookie"))
        page.get_by_role("button", name="Log out").click()
        expect(page).to_have_url(re.compile("/ui/login$"))
        page.context.add_cookies([{**cookie, "partitionKey": None}])  # type: ignore[typeddict-item]
        page.goto("/ui/memories")
        expect(page).to_have_url(re.compile("/ui/login$"))


def test_what_is_remembered_about_a_topic_is_found_by_words_and_by_filter(ana: Page) -> None:
    ana.goto("/ui/memories")
    expect(ana.locator(".row")).to_have_count(7)  # of Paris, what is no longer true is left out
    ana.get_by_role("searchbox").fill("Where does Mira live?")
    expect(ana.locator(".row").first).to_contain_text("Mira now lives in Leipzig.")
    assert "q=Where" in ana.url
    scores = [float(text) for text in ana.locator(".row .score").all_inner_texts()]
    assert scores == sorted(scores, reverse=True)
    assert 1 <= len(scores) <= 7
    # A slow hand: leaving the field while the button is down must not take the link away under it.
    ana.get_by_role("link", name="Show it too").click(delay=500)
    expect(ana.locator(".row")).to_have_count(7)
    ana.get_by_role("link", name="Search what was said too").click()
    expect(ana.get_by_label("What")).to_have_value("all")
    ana.get_by_role("searchbox").fill("the shed")
    expect(ana.locator(".row").first).to_contain_text("behind the shed")
    ana.get_by_label("What").select_option("")
    ana.get_by_role("searchbox").fill("")
    ana.get_by_label("Category").select_option("event")
    expect(ana.locator(".row")).to_have_count(1)
    ana.get_by_label("What").select_option("turn")
    expect(ana.locator("#results")).to_contain_text("Nothing passes the filter.")
    ana.reload()  # the address holds what was asked for
    expect(ana.get_by_label("Category")).to_have_value("event")


def test_hostile_text_is_shown_and_does_nothing(ana: Page, pages: Site) -> None:
    asked: list[str] = []

    def note(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    ana.on("dialog", note)
    ana.goto("/ui/memories")
    row = ana.locator(".row", has_text="alert(1)")
    expect(row).to_contain_text("<script>alert(1)</script><img src=x onerror=alert(2)>")
    expect(row).to_contain_text("{{ 7*7 }}")
    assert row.locator(".unseen").all_inner_texts() == ["U+202E", "U+202C", "U+200B"]
    ana.goto(f"/ui/memory?id={pages.ids['hostile']}")
    expect(ana.locator(".big")).to_contain_text("<script>alert(1)</script>")
    assert asked == []


def test_what_is_private_is_hidden_until_somebody_asks(ana: Page) -> None:
    ana.goto("/ui/memories")
    words = ana.get_by_text("writes a diary")
    expect(words).to_be_hidden()
    ana.get_by_text("Hidden: tagged as private. Show").click()
    expect(words).to_be_visible()


def test_a_memory_shows_where_it_comes_from_and_what_it_replaced(ana: Page, pages: Site) -> None:
    ana.goto(f"/ui/memory?id={pages.ids['leipzig']}")
    expect(ana.locator(".turn")).to_contain_text("My sister Mira moved to Leipzig last spring.")
    assert ana.locator(".chain li a").all_inner_texts() == ["Mira lives in Paris.", "Mira now lives in Leipzig."]
    assert find_violations(ana) == []
    ana.get_by_role("link", name="Open what was said").click()
    expect(ana.locator(".big")).to_contain_text("My sister Mira moved")


def test_a_wrong_memory_is_corrected_by_keyboard_alone_and_the_correction_undone(ana: Page, pages: Site) -> None:
    ana.goto("/ui/memories")
    ana.keyboard.press("/")
    ana.keyboard.type("allergic to peanuts")
    expect(ana.locator(".row").first).to_contain_text("Ana is allergic to peanuts.")
    tab_to(ana, "Ana is allergic to peanuts.")
    ana.keyboard.press("Enter")
    expect(ana.locator(".turn")).to_contain_text("I am allergic to walnuts")
    tab_to(ana, "Correct it")
    ana.keyboard.press("Enter")
    tab_to(ana, "Ana is allergic to peanuts.")
    ana.keyboard.press("Control+A")
    ana.keyboard.type("Ana is allergic to walnuts.")
    tab_to(ana, "Save the correction")
    ana.keyboard.press("Enter")
    expect(ana.get_by_role("status")).to_contain_text("Corrected.")
    expect(ana.locator(".exact")).to_contain_text("Ana is allergic to walnuts.")
    assert ana.locator(".diff del").first.inner_text().endswith("peanuts")
    assert ana.locator(".diff ins").first.inner_text().endswith("walnuts")
    assert find_violations(ana) == []
    ana.get_by_role("status").get_by_role("button", name="Undo").press("Enter")
    expect(ana.get_by_role("status")).to_contain_text("Undone.")
    expect(ana.locator(".big")).to_contain_text("Ana is allergic to peanuts.")


def test_several_memories_are_pinned_and_forgotten_at_once_and_come_back(ana: Page) -> None:
    ana.goto("/ui/memories")
    for words in ("Mira is Ana's sister.", "Ana planted three cherry trees."):
        ana.locator(".row", has_text=words).get_by_role("checkbox").check()
    expect(ana.get_by_text("2 chosen:")).to_be_visible()
    ana.get_by_role("button", name="Pin", exact=True).click()
    expect(ana.locator(".mark-pinned")).to_have_count(2)
    for words in ("Mira is Ana's sister.", "Ana planted three cherry trees."):
        ana.locator(".row", has_text=words).get_by_role("checkbox").check()
    ana.get_by_role("button", name="Forget…").click()
    expect(ana.get_by_role("heading", level=1)).to_have_text("Forget these 2 memories?")
    assert find_violations(ana) == []
    ana.get_by_role("button", name="Forget").click()
    expect(ana.get_by_role("status")).to_contain_text("It can be restored for 30 days.")
    expect(ana.locator(".row")).to_have_count(5)
    ana.get_by_role("link", name="Trash").click()
    expect(ana.locator(".row")).to_have_count(2)
    expect(ana.locator(".row").first).to_contain_text("goes for good on")
    assert find_violations(ana) == []
    for box in ana.get_by_role("checkbox").all():
        box.check()
    ana.get_by_role("button", name="Restore the chosen").click()
    expect(ana.locator("#main")).to_contain_text("The trash is empty.")
    ana.goto("/ui/memories")
    expect(ana.locator(".row")).to_have_count(7)


def test_a_phone_shows_the_list_without_sideways_scrolling(chromium: Browser, pages: Site) -> None:
    for scheme in ("light", "dark"):
        size = {"viewport": {"width": 390, "height": 844}, "color_scheme": scheme}
        with tab(chromium, pages, "ana", **size) as page:
            page.goto("/ui/memories")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            expect(page.get_by_role("link", name="Trash")).to_be_hidden()
            page.get_by_text("Menu").click()
            expect(page.get_by_role("link", name="Trash")).to_be_visible()
            assert find_violations(page) == [], scheme
    with tab(chromium, pages, "operator", viewport={"width": 390, "height": 844}) as page:
        for place, name in (("/ui/jobs?user=ana", "All jobs"), ("/ui/agents?user=ana", "Allowlists")):
            page.goto(place)
            table = page.get_by_role("region", name=name)
            assert table.evaluate("it => it.scrollWidth <= it.clientWidth"), "rows become cards"
            assert find_violations(page) == []
