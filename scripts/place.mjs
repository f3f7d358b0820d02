// Places the scripts of others, each with its licence, where the web page serves them from.
import { copyFileSync, mkdirSync } from "node:fs";

const place = new URL("../src/memwarden/surfaces/web/vendor/", import.meta.url);
const files = {
  "cytoscape.js": "cytoscape/dist/cytoscape.min.js",
  "cytoscape.LICENSE": "cytoscape/LICENSE",
  "htmx.js": "htmx.org/dist/htmx.min.js",
  "htmx.LICENSE": "htmx.org/LICENSE",
  "uplot.css": "uplot/dist/uPlot.min.css",
  "uplot.js": "uplot/dist/uPlot.iife.min.js",
  "uplot.LICENSE": "uplot/LICENSE",
};
mkdirSync(place, { recursive: true });
for (const [name, file] of Object.entries(files)) {
  copyFileSync(new URL(`node_modules/${file}`, import.meta.url), new URL(name, place));
}
