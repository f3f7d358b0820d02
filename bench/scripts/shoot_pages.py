"""Takes pictures of all pages of the demo, light and dark, wide and narrow: shoot_pages.py URL FOLDER [NAME...]."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ARGUMENTS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-sync".split()
COLOURS = 160
WAIT_MILLISECONDS = 400
# Whose history `make serve` has.
PERSON = "ines"


class View(NamedTuple):
    """A page, and what is done on it before the picture is taken: a text to click, a link to follow."""

    path: str
    follow: str = ""
    click: str = ""


VIEWS = {
    "login": View("/ui/login"),
    "overview": View("/ui/overview"),
    "memories": View("/ui/memories"),
    "memory": View("/ui/memories?q=favourite+colour", follow=".row a"),
    "preview": View("/ui/preview?message=What+can+Tomas+eat%3F+Is+he+allergic%3F&budget=300&overview=60"),
    "compare": View("/ui/compare?message=What+can+Tomas+eat%3F&budget_a=120"),
    "shown": View("/ui/shown"),
    "inbox": View("/ui/inbox", click="Hidden: held back"),
    "threads": View("/ui/threads"),
    "thread": View("/ui/thread?thread=2025-09-14-kitchen"),
    "state": View("/ui/state"),
    "trash": View("/ui/trash"),
    "graph": View("/ui/graph"),
    "events": View("/ui/events?days=1"),
    "agents": View("/ui/agents"),
    "import": View("/ui/import"),
    "erase": View("/ui/erase"),
    "jobs": View("/ui/jobs"),
    "keys": View("/ui/keys"),
    "doctor": View("/ui/doctor"),
}
SIZES = {"wide": (1200, 750), "narrow": (390, 750)}


def shoot(page: Page, view: View, file: Path) -> None:
    """Open a page and write its picture, with few colours: pages have few."""
    page.goto(view.path + ("&" if "?" in view.path else "?") + f"user={PERSON}")
    if view.follow:
        page.locator(view.follow).first.click()
        page.wait_for_load_state("load")
    if view.click:
        page.get_by_text(view.click).first.click()
    page.wait_for_timeout(WAIT_MILLISECONDS)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)


def shoot_all(browser: Browser, url: str, folder: Path, names: list[str]) -> None:
    """Take the pictures of pages in both schemes and sizes."""
    for scheme in ("light", "dark"):
        for size, (width, height) in SIZES.items():
            viewport = {"width": width, "height": height}
            context = browser.new_context(base_url=url, viewport=viewport, color_scheme=scheme)  # type: ignore[arg-type]
            page = context.new_page()
            for name in names:
                shoot(page, VIEWS[name], folder / f"{name}-{scheme}-{size}.png")
            context.close()


def main() -> None:
    """Take all pictures, or those that are named."""
    url, folder, *names = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        shoot_all(browser, url, Path(folder), names or list(VIEWS))
        browser.close()


if __name__ == "__main__":
    main()
