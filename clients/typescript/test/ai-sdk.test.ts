import { generateText, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { expect, test } from "vitest";
import { memwardenMiddleware } from "../src/ai-sdk.ts";
import { Memwarden } from "../src/index.ts";
import type { MemoryScope } from "../src/index.ts";
import { someone } from "./server.ts";

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const FINISH = { unified: "stop", raw: "stop" } as const;

function model(): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: async () => ({
      content: [{ type: "text", text: "Noted." }],
      finishReason: FINISH,
      usage: USAGE,
      warnings: [],
    }),
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: "Pea" },
          { type: "text-delta", id: "1", delta: "nuts." },
          { type: "text-end", id: "1" },
          { type: "finish", finishReason: FINISH, usage: USAGE },
        ],
      }),
    }),
  });
}

async function turns(me: MemoryScope): Promise<(string | null)[]> {
  return (await me.find({ filters: { channel: "turn" }, order_by: "written", descending: false })).items.map(
    ({ text }) => text,
  );
}

test("the first session is in the prompt of the third, and nothing of another user", async () => {
  const [ana, bob, mock] = [someone(), someone(), model()];
  for (const [day, prompt] of [
    ["monday", "I am allergic to peanuts."],
    ["tuesday", "My sister Maria lives in Lyon."],
    ["friday", "What am I allergic to?"],
  ] as const) {
    for (const scope of [ana, bob]) {
      const said = scope === ana ? prompt : "What is Ana allergic to?";
      const wrapped = wrapLanguageModel({ model: mock, middleware: memwardenMiddleware(scope.thread(day)) });
      expect((await generateText({ model: wrapped, prompt: said })).text).toBe("Noted.");
    }
  }
  const prompts = mock.doGenerateCalls.map(({ prompt }) => JSON.stringify(prompt));
  expect(prompts[4]).toContain("I am allergic to peanuts.");
  expect(prompts.filter((prompt, place) => place % 2 === 1 && /peanuts|Lyon/.test(prompt))).toEqual([]);
  expect((await turns(ana)).slice(0, 2)).toEqual(["I am allergic to peanuts.", "Noted."]);
});

test("a stream passes unchanged and is stored at its end", async () => {
  const me = someone();
  const wrapped = wrapLanguageModel({ model: model(), middleware: memwardenMiddleware(me) });
  const pieces: string[] = [];
  for await (const piece of streamText({ model: wrapped, prompt: "What can't I eat?" }).textStream) pieces.push(piece);
  expect(pieces).toEqual(["Pea", "nuts."]);
  expect(await turns(me)).toEqual(["What can't I eat?", "Peanuts."]);
});

test("a memory that does not answer never fails the call", async () => {
  const errors: unknown[] = [];
  const nowhere = new Memwarden({ url: "http://127.0.0.1:9" }).scope({ user: "ana" });
  const middleware = memwardenMiddleware(nowhere, { onError: (error) => errors.push(error) });
  const wrapped = wrapLanguageModel({ model: model(), middleware });
  expect((await generateText({ model: wrapped, prompt: "Hello there, who am I?" })).text).toBe("Noted.");
  expect(errors).toHaveLength(3);
});
