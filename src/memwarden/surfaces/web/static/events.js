// Draws how often what was done, as bars that stand on each other.
"use strict";

const chart = document.getElementById("chart");
const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function stack(rows) {
  const sums = rows[0].map(() => 0);
  return rows.map((row) => row.map((count, at) => (sums[at] += count)));
}

async function drawEvents() {
  const answer = await fetch(chart.dataset.from, { credentials: "same-origin" });
  if (!answer.ok) return;
  const { times, series } = await answer.json();
  const names = Object.keys(series);
  const rows = names.map((name) => series[name]);
  const axis = { stroke: ink("--dim"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
  const bars = uPlot.paths.bars({ size: [0.7, 60] });
  const days = times.at(-1) - times[0] > 86400 * 2;
  const bar = (name, number) => ({
    label: name,
    fill: ink(number < 5 ? `--tier-${number + 1}` : "--dim"),
    width: 0,
    paths: bars,
    points: { show: false },
    value: (drawn, sum, index, at) => (at === null || at === undefined ? "" : String(rows[number][at])),
  });
  // The highest is drawn first, so that the lower stand before it.
  const order = names.map((name, number) => number).reverse();
  const stacked = stack(rows);
  const span = times.length > 1 ? times[1] - times[0] : 3600;
  const options = {
    width: chart.clientWidth,
    height: 240,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: { x: { range: () => [times[0] - span / 2, times.at(-1) + span / 2] }, y: { range: (drawn, least, most) => [0, Math.max(most, 1) * 1.05] } },
    series: [{ label: "From", value: days ? "{YYYY}-{MM}-{DD}" : "{YYYY}-{MM}-{DD} {HH}:{mm}" }, ...order.map((number) => bar(names[number], number))],
    axes: [{ ...axis, values: (drawn, marks) => marks.map((mark) => uPlot.fmtDate(days ? "{DD}.{MM}." : "{HH}:{mm}")(uPlot.tzDate(new Date(mark * 1000), "Etc/UTC"))) }, { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000] }],
  };
  const drawn = new uPlot(options, [times, ...order.map((number) => stacked[number])], chart);
  window.addEventListener("resize", () => drawn.setSize({ width: chart.clientWidth, height: 240 }));
  chart.dataset.drawn = String(names.length);
}

if (chart) drawEvents();
