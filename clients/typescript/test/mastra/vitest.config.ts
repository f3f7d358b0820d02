import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["test/mastra/*.test.ts"], testTimeout: 30_000 } });
