// What HTML alone cannot do: the menu on wide windows, failures of fragments, how many memories are chosen.
"use strict";

const wide = window.matchMedia("(min-width: 60rem)");
function openMenu() {
  for (const menu of document.querySelectorAll("[data-menu]")) menu.open = wide.matches;
}
wide.addEventListener("change", openMenu);
openMenu();

function countChosen() {
  const label = document.querySelector("[data-chosen]");
  if (!label) return;
  const chosen = document.querySelectorAll('input[name="id"][form="act"]:checked').length;
  label.textContent = chosen ? `${chosen} chosen:` : "Chosen memories:";
}
document.addEventListener("change", countChosen);

function showFailure(words) {
  const place = document.getElementById("failure");
  if (!place) return;
  place.textContent = words;
  place.hidden = false;
}
document.addEventListener("htmx:error", () => showFailure("The server does not answer. Try again."));
document.addEventListener("htmx:after:request", () => {
  const place = document.getElementById("failure");
  if (place) place.hidden = true;
});

// "/" leads to the search from anywhere, as in many tools.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  const search = document.querySelector('input[type="search"]');
  if (event.key === "/" && !typing && search && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    search.focus();
  }
});
