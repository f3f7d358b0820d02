import { buildSync } from "esbuild";
import { expect, test } from "vitest";

test("all of the client is smaller than 30 kB", () => {
  const entryPoints = ["src/index.ts", "src/ai-sdk.ts", "src/mastra.ts"];
  const { outputFiles } = buildSync({ entryPoints, bundle: true, minify: true, format: "esm", write: false, outdir: "x" });
  const [whole] = outputFiles.map(({ contents }) => contents.length);
  expect(whole).toBeGreaterThan(3_000);
  expect(whole).toBeLessThan(30_000);
});
