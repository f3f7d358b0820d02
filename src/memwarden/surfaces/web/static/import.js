// Sends a file with a bar that tells how much is sent; without this script the form does the same without a bar.
"use strict";

const form = document.getElementById("import");
const bar = document.getElementById("progress");
const told = document.getElementById("progress-words");

function send(event) {
  event.preventDefault();
  const body = new FormData(form);
  body.append("action", event.submitter?.value || "try");
  const request = new XMLHttpRequest();
  request.open("POST", form.getAttribute("action")); // a button is named action too
  request.setRequestHeader("HX-Request", "true");
  request.upload.addEventListener("progress", (sent) => {
    if (!sent.lengthComputable) return;
    bar.value = (100 * sent.loaded) / sent.total;
    told.textContent = sent.loaded < sent.total ? "Sending…" : "Reading it…";
  });
  request.addEventListener("load", () => {
    document.getElementById("answer").innerHTML = request.responseText;
    finish("");
  });
  request.addEventListener("error", () => finish("The server does not answer. Try again."));
  bar.hidden = false;
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  request.send(body);
}

function finish(words) {
  bar.hidden = true;
  bar.value = 0;
  told.textContent = words;
  for (const button of form.querySelectorAll("button")) button.disabled = false;
}

if (form) form.addEventListener("submit", send);
