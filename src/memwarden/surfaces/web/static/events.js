// Draws how often what was done, over time.
"use strict";

const chart = document.getElementById("chart");
const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

async function drawEvents() {
  const answer = await fetch(chart.dataset.from, { credentials: "same-origin" });
  if (!answer.ok) return;
  const { times, series } = await answer.json();
  const names = Object.keys(series);
  const axis = { stroke: ink("--dim"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
  const line = (name, number) => ({ label: name, stroke: ink(`--tier-${(number % 5) + 1}`), width: 2, points: { show: times.length < 40 }, dash: number > 4 ? [6, 4] : undefined });
  const options = {
    width: chart.clientWidth,
    height: 240,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    series: [{ label: "Time" }, ...names.map(line)],
    axes: [axis, axis],
  };
  const drawn = new uPlot(options, [times, ...names.map((name) => series[name])], chart);
  window.addEventListener("resize", () => drawn.setSize({ width: chart.clientWidth, height: 240 }));
  chart.dataset.drawn = String(names.length);
}

if (chart) drawEvents();
