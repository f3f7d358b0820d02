// Draws the relations that the page's address gives; colours are those of the style sheet.
"use strict";

const place = document.getElementById("graph");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function style() {
  return [
    { selector: "node", style: { label: "data(label)", "background-color": colour("--tier-1"), color: colour("--ink"), "font-size": 10, "text-wrap": "wrap", "text-max-width": 120, "text-valign": "bottom", "text-margin-y": 4, "min-zoomed-font-size": 10, width: 14, height: 14 } },
    { selector: 'node[kind = "closed"]', style: { "background-color": colour("--free"), color: colour("--dim") } },
    { selector: 'node[kind = "episodic"]', style: { "background-color": colour("--tier-3") } },
    { selector: "edge", style: { width: "mapData(strength, 0, 1, 1, 4)", "line-color": colour("--dim"), opacity: 0.6, "curve-style": "bezier" } },
    { selector: 'edge[kind = "supersedes"]', style: { "line-color": colour("--tier-3"), "target-arrow-color": colour("--tier-3"), "target-arrow-shape": "triangle" } },
  ];
}

async function draw() {
  const answer = await fetch(place.dataset.from, { credentials: "same-origin" });
  if (!answer.ok) return;
  const { nodes, edges } = await answer.json();
  const elements = [...nodes.map((data) => ({ data })), ...edges.map((data) => ({ data }))];
  const layout = { name: nodes.length > 150 ? "concentric" : "cose", animate: false, padding: 30, nodeRepulsion: () => 60000, idealEdgeLength: () => 90, componentSpacing: 90, concentric: (node) => node.degree() };
  const graph = cytoscape({ container: place, elements, style: style(), layout, maxZoom: 1.4 });
  graph.on("tap", "node", (event) => location.assign(event.target.data("link")));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.style(style()));
  place.dataset.drawn = String(nodes.length);
}

if (place) draw();
