"""Journeys through the pages: what an agent would be given and why, and what waits for a decision."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from memwarden.stores.transfer.erasure import read_receipt
from web_site import Site, find_violations, site, tab


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), "auto") as served:
        yield served


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
    ana.get_by_role("region", name="What is known").get_by_role("link").first.click()
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
    expect(item.get_by_role("region", name="Parts of the score")).to_contain_text("words")
    expect(ana.get_by_role("img", name="of 1500 tokens")).to_be_visible()
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


def test_why_an_item_was_put_into_a_prompt_yesterday_is_found_with_its_question_and_reasons(
    ana: Page, pages: Site
) -> None:
    asked = {"messages": [{"role": "user", "content": "Where does Mira live these days?"}], "thread_id": "kitchen"}
    with httpx2.Client(base_url=pages.url, headers={"Authorization": f"Bearer {pages.keys['ana']}"}) as client:
        assert "Leipzig" in client.post("/v1/memory/context", json=asked, timeout=300).json()["text"]
    ana.goto("/ui/")
    ana.get_by_role("link", name="What was shown").click()
    prompt = ana.get_by_role("article", name="Where does Mira live these days?")
    for _ in range(200):  # it is written beside the call, about a second later
        if prompt.count():
            break
        ana.get_by_role("link", name="What was shown").click()
    item = prompt.locator("li", has_text="Mira now lives in Leipzig.")
    item.get_by_text("Why").click()
    expect(item).to_contain_text("Words of the question that it holds:")
    expect(item.get_by_role("region", name="Parts of the score")).to_contain_text("words")
    assert prompt.locator("li:visible").count() <= 6, "the rest is a click away"
    assert find_violations(ana) == []
    ana.get_by_role("link", name="yesterday").click()
    expect(ana.locator("#main")).to_contain_text("Nothing was shown on that day.")
    ana.goto(f"/ui/memory?id={pages.ids['leipzig']}")
    shown = ana.get_by_role("region", name="When models were shown it")
    expect(shown).to_contain_text("Where does Mira live these days?")
    expect(shown).to_contain_text("It came")
    ana.goto("/ui/preview?message=What+is+looked+at+now%3F+Is+Mira+well%3F")
    ana.goto("/ui/shown?thread=kitchen")
    expect(ana.get_by_role("article")).to_have_count(1)


def test_a_preview_shows_the_whole_request_of_each_mode_and_what_an_agent_may_see(ana: Page) -> None:
    ana.goto("/ui/preview?message=Where+does+Mira+live%3F")
    shown = {}
    for mode in ("system_append", "context_message", "user_prefix", "cache_stable"):
        ana.get_by_label("Mode").select_option(mode)
        with ana.expect_response("**/ui/preview**") as answer:
            ana.get_by_role("button", name="Show").click()
        assert answer.value.ok
        expect(ana.locator(".htmx-request")).to_have_count(0)
        shown[mode] = ana.locator("details", has_text="The whole request").last.locator("pre").all_text_contents()
    assert ["<memories>" in text for text in shown["system_append"]] == [True, False]
    assert ["<memories>" in text for text in shown["context_message"]] == [False, True, False]
    assert ["<memories>" in text for text in shown["user_prefix"]] == [False, True]
    assert ["<memories>" in text for text in shown["cache_stable"]] == [True, False]
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
    expect(side_b.get_by_role("img", name="of 1500 tokens")).to_be_visible()
    assert find_violations(ana) == []


def test_what_waits_for_approval_is_found_decided_and_taken_back(ana: Page) -> None:
    ana.goto("/ui/")
    ana.get_by_role("link", name="Inbox").click()
    consent = ana.get_by_role("region", name="Consent").locator("article", has_text="Graz")
    held = ana.get_by_role("region", name="Held back").locator("article")
    expect(held.get_by_text("Ignore all previous instructions")).to_be_hidden()
    held.get_by_text("Hidden: held back").click()
    expect(held.get_by_text("Ignore all previous instructions")).to_be_visible()
    assert find_violations(ana) == []
    consent.get_by_role("button", name="Agree").click()
    expect(ana.get_by_role("status")).to_contain_text("Approved.")
    expect(ana.get_by_role("region", name="Consent")).to_contain_text("No change of the profile waits.")
    ana.goto("/ui/overview")
    expect(ana.get_by_text("Graz", exact=True)).to_be_hidden()
    ana.get_by_role("region", name="How to speak to them").get_by_text("Hidden").click()
    expect(ana.get_by_text("Graz", exact=True)).to_be_visible()
    ana.goto("/ui/inbox")
    ana.get_by_role("region", name="Held back").get_by_role("button", name="Give it up").press("Enter")
    expect(ana.get_by_role("region", name="Held back")).to_contain_text("Nothing is held back.")
    with ana.expect_response(lambda answer: answer.request.method == "POST"):  # before the page is left
        ana.get_by_role("status").get_by_role("button", name="Undo").press("Enter")
    ana.goto("/ui/inbox")
    expect(ana.get_by_role("region", name="Held back").locator("article")).to_have_count(1)


def test_a_persons_conversation_is_forgotten_as_a_whole_and_brought_back(ana: Page) -> None:
    ana.goto("/ui/")
    ana.get_by_role("link", name="Conversations").click()
    assert find_violations(ana) == []
    ana.get_by_role("link", name="I planted three cherry trees").click()
    expect(ana.locator(".said")).to_contain_text("I planted three cherry trees behind the shed.")
    assert find_violations(ana) == []
    ana.get_by_role("button", name="Forget this conversation…").click()
    expect(ana.locator("#main")).to_contain_text("2 memories go out of every answer")
    assert find_violations(ana) == []
    ana.get_by_role("button", name="Forget").click()
    expect(ana.get_by_role("status")).to_contain_text("Forgotten.")
    expect(ana.get_by_role("link", name="I planted three cherry trees")).to_have_count(0)
    with ana.expect_response(lambda answer: answer.request.method == "POST"):
        ana.get_by_role("status").get_by_role("button", name="Undo").click()
    ana.goto("/ui/thread?thread=garden")
    expect(ana.locator(".said")).to_contain_text("I planted three cherry trees behind the shed.")


def test_to_look_at_a_conversation_does_not_tell_it_what_changed(ana: Page, pages: Site) -> None:
    with httpx2.Client(base_url=pages.url, headers={"Authorization": f"Bearer {pages.keys['ana']}"}) as client:
        ana.goto("/ui/thread?thread=kitchen")
        ana.goto("/ui/memories?q=tea")
        ana.goto("/ui/preview?message=What+is+Ana+allergic+to%3F")
        told = client.get("/v1/threads/kitchen/delta").json()
    assert "cherry" in told["text"]  # what was stated in another conversation is news to this


def test_a_stored_session_shows_exchanges_cached_results_and_what_its_agent_receives(ana: Page) -> None:
    ana.goto("/ui/threads")
    ana.get_by_role("link", name="planning").click()
    expect(ana.get_by_role("region", name="Last exchanges")).to_contain_text("The oven is free on Friday.")
    expect(ana.get_by_role("region", name="Cached results", exact=True)).to_contain_text("sunny")
    ana.get_by_label("If the user said").fill("And on Saturday?")
    ana.get_by_role("button", name="Show").click()
    receives = ana.get_by_role("region", name="What its agent receives")
    for view in ("=== MEMORY STATE ===", "=== FUNCTION CACHE STATE ===", "=== AGENT RECEIVES", "And on Saturday?"):
        expect(receives).to_contain_text(view)
    assert find_violations(ana) == []


def test_saved_state_is_found_read_and_removed(ana: Page) -> None:
    ana.goto("/ui/state")
    ana.get_by_label("Keys that match").fill("oven_*")
    ana.get_by_role("button", name="Show").click()
    assert find_violations(ana) == []
    ana.get_by_role("link", name="oven_plan").click()
    expect(ana.get_by_role("region", name="Its value")).to_contain_text('"friday": "rye"')
    assert find_violations(ana) == []
    ana.go_back()
    ana.get_by_text("Remove…").click()
    ana.get_by_role("button", name="Remove it").click()
    expect(ana.locator("#main")).to_contain_text("No key matches.")


def test_relations_are_drawn_and_told_as_a_list_and_lead_to_memories(ana: Page, pages: Site) -> None:
    ana.goto(f"/ui/graph?id={pages.ids['leipzig']}")
    expect(ana.locator("#graph canvas").first).to_be_visible()
    assert int(ana.locator("#graph[data-drawn]").get_attribute("data-drawn") or 0) > 1
    ana.get_by_text("The same as a list").click()
    listed = ana.locator("li", has_text="replaced 1.00")
    expect(listed).to_contain_text("Mira lives in Paris.")
    assert find_violations(ana) == []
    listed.get_by_role("link", name="Mira lives in Paris.").click()
    expect(ana.locator(".big")).to_have_text("Mira lives in Paris.")
    ana.goto("/ui/graph")
    expect(ana.locator("#graph[data-drawn]")).to_be_visible()


def test_what_happened_is_drawn_over_time_and_why_an_item_was_found_is_told(ana: Page) -> None:
    ana.goto("/ui/events?days=1")
    expect(ana.locator("#chart[data-drawn] canvas")).to_be_visible()
    ana.get_by_label("What").select_option("remembered")
    ana.get_by_role("button", name="Show").click()
    rows = ana.get_by_role("region", name="The newest events").locator("tbody tr")
    expect(rows.first).to_contain_text("remembered")
    assert find_violations(ana) == []
    rows.get_by_role("link").first.click()
    expect(ana.get_by_role("heading", name="When models were shown it")).to_be_visible()


def test_agents_and_their_allowlists_are_shown_and_each_sees_through_its_eyes(ana: Page) -> None:
    ana.goto("/ui/agents")
    row = ana.get_by_role("row", name="planner")
    expect(row).to_contain_text("procedural")
    assert find_violations(ana) == []
    row.get_by_role("link", name="its memories").click()
    expect(ana.locator("#results")).to_contain_text("Nothing")


def test_the_operator_makes_a_key_uses_it_and_revokes_it(chromium: Browser, pages: Site) -> None:
    with tab(chromium, pages, "operator") as page:
        page.goto("/ui/people")
        page.get_by_role("link", name="Keys").click()
        assert find_violations(page) == []
        page.get_by_label("Name, for people").fill("kiosk")
        page.get_by_label("For the user").fill("tom")
        page.get_by_role("button", name="Make the key").click()
        text = page.get_by_role("region", name="The new key").inner_text().strip()
        with tab(chromium, Site(pages.url, {"kiosk": text}, {}), "kiosk") as other:
            other.goto("/ui/")
            expect(other.get_by_role("heading", level=1)).to_have_text("What is known of tom")
            page.get_by_role("button", name="Revoke kiosk…").click()
            assert find_violations(page) == []
            page.get_by_role("button", name="Revoke").click()
            expect(page.get_by_role("row", name="kiosk")).to_contain_text("revoked")
            other.reload()
            expect(other.get_by_label("Key")).to_be_visible()


def test_the_doctor_says_whether_server_and_memories_are_well(chromium: Browser, pages: Site) -> None:
    with tab(chromium, pages, "operator") as page:
        page.goto("/ui/doctor?user=ana")
        expect(page.get_by_role("region", name="The server: ok")).to_contain_text("store")
        expect(page.get_by_role("region", name="What is remembered of ana")).to_contain_text("active")
        assert find_violations(page) == []
        page.goto("/ui/people")
        assert find_violations(page) == []
        page.get_by_role("link", name="tom").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("What is known of tom")


def test_a_job_is_tried_and_run_and_says_what_it_changed(chromium: Browser, pages: Site) -> None:
    with tab(chromium, pages, "operator") as page:
        page.goto("/ui/jobs?user=ana")
        assert find_violations(page) == []
        row = page.get_by_role("row", name="consolidate")
        expect(row).to_contain_text("–")
        limits = page.get_by_role("region", name="What is limited")
        expect(limits).to_contain_text("50 a day for a person, the others wait facts_a_day")
        expect(limits.locator("div", has_text="earlier versions")).to_contain_text("no limit")
        row.get_by_role("button", name="Try consolidate").click()
        expect(page.get_by_role("status").last).to_contain_text("consolidate would change")
        page.get_by_role("button", name="Run consolidate").click()
        expect(page.get_by_role("status").last).to_contain_text("consolidate changed")
        assert find_violations(page) == []


def test_a_chat_is_looked_into_and_then_brought_in_by_keyboard_alone(
    chromium: Browser, pages: Site, tmp_path: Path
) -> None:
    file = tmp_path / "chat.json"
    said = [
        {"role": "user", "content": "Hello there!", "id": "r1", "created_at": "2026-05-01T10:00:00Z"},
        {
            "role": "user",
            "content": "Noor sails all the way to Gotland in June.",
            "id": "r2",
            "created_at": "2026-05-01T10:01:00Z",
        },
    ]
    file.write_text(json.dumps({"messages": said, "thread": "sailing"}), "utf-8")
    with tab(chromium, pages, "operator") as page:
        page.goto("/ui/import?user=noor")
        assert find_violations(page) == []
        page.get_by_label("The file").set_input_files(file)
        page.get_by_role("button", name="See what it holds").press("Enter")
        answer = page.get_by_role("region", name="It would bring in 2. Nothing was stored yet.")
        expect(answer).to_contain_text("Nothing of it was left out.")
        assert find_violations(page) == []
        page.get_by_role("button", name="Bring it in for noor").press("Enter")
        expect(page.get_by_role("region", name="2 came in.")).to_be_visible()
        page.goto("/ui/threads?user=noor")
        expect(page.locator(".row")).to_contain_text("Noor sails all the way to Gotland in June.")
        page.goto("/ui/import?user=noor")
        (tmp_path / "picture.json").write_bytes(bytes(range(256)))
        page.get_by_label("The file").set_input_files(tmp_path / "picture.json")
        page.get_by_role("button", name="See what it holds").click()
        expect(page.locator("#answer").get_by_role("alert")).to_contain_text("That cannot be read")
        assert str(tmp_path) not in page.content()
        assert "memwarden-import" not in page.content()


def test_a_person_is_erased_for_good_once_their_name_is_typed_and_the_receipt_is_saved(
    chromium: Browser, pages: Site, tmp_path: Path
) -> None:
    headers = {"Authorization": f"Bearer {pages.keys['operator']}"}
    with httpx2.Client(base_url=pages.url, headers=headers) as client:
        body = {"text": "Bo collects stamps.", "user_id": "bo", "thread_id": "letters"}
        assert client.post("/v1/memories", json=body, timeout=300).is_success
    with tab(chromium, pages, "operator") as page:
        page.goto("/ui/overview?user=bo")
        page.get_by_role("link", name="Erase bo…").press("Enter")
        expect(page.get_by_role("region", name="What would go")).to_contain_text("memories1")
        assert find_violations(page) == []
        page.get_by_label("Type bo to erase it").fill("bob")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("Nothing was erased.")
        page.get_by_label("Type bo to erase it").fill("bo")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Erased for good")
        assert find_violations(page) == []
        with page.expect_download() as download:
            page.get_by_role("link", name="Save the receipt").press("Enter")
        download.value.save_as(tmp_path / "erased.json")
        page.goto("/ui/memories?user=bo")
        expect(page.locator("#results")).to_contain_text("Nothing is remembered yet.")
    receipt = read_receipt((tmp_path / "erased.json").read_text("utf-8"))
    assert (receipt.path, receipt.counts["memories"]) == ("user/bo", 1)


def test_a_line_of_the_overview_is_corrected_where_it_is_shown_and_taken_back(chromium: Browser, pages: Site) -> None:
    headers = {"Authorization": f"Bearer {pages.keys['operator']}"}
    said = "I live in Bern. My bike code is 4711."
    with httpx2.Client(base_url=pages.url, headers=headers) as client:
        body = {"messages": [{"role": "user", "content": said}], "user_id": "di", "thread_id": "letters"}
        assert client.post("/v1/memory/observe", json=body, timeout=300).is_success
    with tab(chromium, pages, "operator") as page:
        page.goto("/ui/overview?user=di")
        known = page.get_by_role("region", name="What is known")
        known.get_by_label("Correct: I live in Bern.").press("Enter")
        assert find_violations(page) == []
        known.get_by_label("The right words").and_(page.locator("input:visible")).fill("I live in Basel.")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("Corrected.")
        expect(known).to_contain_text("I live in Basel.")
        expect(known).to_contain_text("My bike code is 4711.")
        expect(known).not_to_contain_text("Bern")
        page.get_by_role("status").get_by_role("button", name="Undo").press("Enter")
        expect(page.get_by_role("status")).to_contain_text("Undone.")
        expect(known).to_contain_text("I live in Bern.")
        expect(known).not_to_contain_text("Basel")


def test_a_rejected_or_corrected_line_names_the_answer_that_repeats_it(chromium: Browser, pages: Site) -> None:
    headers = {"Authorization": f"Bearer {pages.keys['operator']}"}
    messages = [
        {"role": "user", "content": "I live in Bern."},
        {"role": "assistant", "content": "Noted: you live in Bern."},
    ]
    with httpx2.Client(base_url=pages.url, headers=headers) as client:
        body = {"messages": messages, "user_id": "eve", "thread_id": "letters"}
        assert client.post("/v1/memory/observe", json=body, timeout=300).is_success
    with tab(chromium, pages, "operator") as page:
        known, status = page.get_by_role("region", name="What is known"), page.get_by_role("status")
        for button, done in (("Correct", "Corrected."), ("Reject", "Forgotten.")):
            page.goto("/ui/overview?user=eve")
            known.get_by_label(f"{button}: I live in Bern.").press("Enter")
            if button == "Correct":
                known.get_by_label("The right words").and_(page.locator("input:visible")).fill("I live in Basel.")
                page.keyboard.press("Enter")
            expect(status).to_contain_text(done)
            assert find_violations(page) == []
            status.get_by_role("link", name="Open the answer").press("Enter")
            expect(page.locator("main")).to_contain_text("Noted: you live in Bern.")
            page.go_back()
            status.get_by_role("button", name="Undo").press("Enter")
            expect(status).to_contain_text("Undone.")


def test_conversations_without_facts_are_named_as_what_is_kept(chromium: Browser, pages: Site) -> None:
    headers = {"Authorization": f"Bearer {pages.keys['operator']}"}
    with httpx2.Client(base_url=pages.url, headers=headers) as client:
        body = {"messages": [{"role": "user", "content": "Good morning."}], "user_id": "cy", "thread_id": "letters"}
        assert client.post("/v1/memory/observe", json=body, timeout=300).is_success
    with tab(chromium, pages, "operator") as page:
        page.goto("/ui/memories?user=cy")
        results = page.locator("#results")
        expect(results).to_contain_text("No facts yet.")
        assert find_violations(page) == []
        results.get_by_role("link", name="Show conversations").press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Conversations")
        expect(page.locator("main")).to_contain_text("letters")


def test_an_agent_and_a_reader_find_no_way_to_erase_or_bring_in(chromium: Browser, pages: Site) -> None:
    for who in ("planner", "reader"):
        with tab(chromium, pages, who) as page:
            for path in ("/ui/import", "/ui/erase"):
                page.goto(path)
                expect(page.get_by_role("heading", level=1)).to_have_text("Not allowed")
            assert page.get_by_role("link", name="Erase").count() == 0


def test_a_person_takes_everything_along(ana: Page, tmp_path: Path) -> None:
    ana.goto("/ui/overview")
    with ana.expect_download() as download:
        ana.get_by_role("link", name="Take all of it along").click()
    download.value.save_as(tmp_path / "memories.zip")
    with zipfile.ZipFile(tmp_path / "memories.zip") as opened:
        held = b"".join(opened.read(name) for name in opened.namelist()).decode()
    assert "Mira now lives in Leipzig." in held
    assert "heliotrope" not in held
