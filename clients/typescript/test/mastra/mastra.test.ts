import { Agent, type AgentConfig } from "@mastra/core/agent";
import type { InputProcessor, OutputProcessor } from "@mastra/core/processors";
import { RequestContext } from "@mastra/core/request-context";
import { createTool } from "@mastra/core/tools";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { expect, test } from "vitest";
import { z } from "zod";
import { Memwarden, type MemoryScope, type TurnOptions } from "../../src/index.ts";
import { MastraProcessor, type RunContext } from "../../src/mastra.ts";
import { key, someone, url } from "../server.ts";

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const STOP = { unified: "stop", raw: "stop" } as const;
const NOTED = { content: [{ type: "text" as const, text: "Noted." }], finishReason: STOP, usage: USAGE, warnings: [] };
const TOOL = { unified: "tool-calls", raw: "tool-calls" } as const;

function model(first: Partial<typeof NOTED> | object = {}): MockLanguageModelV4 {
  let calls = 0;
  return new MockLanguageModelV4({
    doGenerate: async () => (calls++ === 0 ? { ...NOTED, ...first } : NOTED),
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: "Pea" },
          { type: "text-delta", id: "1", delta: "nuts." },
          { type: "text-end", id: "1" },
          { type: "finish", finishReason: STOP, usage: USAGE },
        ],
      }),
    }),
  });
}

const client = new Memwarden({ url, key });

function agentOf(mock: MockLanguageModelV4, scope?: MemoryScope, options?: TurnOptions, tools = {}): Agent {
  const find = (context: RunContext | undefined): MemoryScope =>
    client.scope({ user: String(context?.get("user")), thread: String(context?.get("thread")) });
  const memory: InputProcessor & OutputProcessor = new MastraProcessor(scope ?? find, options);
  const processors = { inputProcessors: [memory], outputProcessors: [memory] };
  // Mastra has types of its own for models; the strictness of this project tells them from the AI SDK's.
  const asked = mock as unknown as AgentConfig["model"];
  return new Agent({ id: "helper", name: "helper", instructions: "Be brief.", model: asked, tools, ...processors });
}

async function turns(me: MemoryScope): Promise<(string | null)[]> {
  const found = await me.find({ filters: { channel: "turn" }, order_by: "written", descending: false });
  return found.items.map(({ text }) => text);
}

test("one agent serves two people: the first session is in the prompt of the third, and nothing of the other", async () => {
  const mock = model();
  const agent = agentOf(mock);
  const ana = `ana-${Math.random()}`;
  for (const [thread, said] of [
    ["monday", "I am allergic to peanuts."],
    ["tuesday", "My sister Maria lives in Lyon."],
    ["friday", "What am I allergic to?"],
  ] as const) {
    for (const user of [ana, `${ana}-other`]) {
      const requestContext = new RequestContext([["user", user], ["thread", thread]]);
      const words = user === ana ? said : "What is Ana allergic to?";
      expect((await agent.generate(words, { requestContext })).text).toBe("Noted.");
    }
  }
  const prompts = mock.doGenerateCalls.map(({ prompt }) => JSON.stringify(prompt));
  expect(prompts[4]).toContain("I am allergic to peanuts.");
  expect(prompts.filter((prompt, place) => place % 2 === 1 && /peanuts|Lyon/.test(prompt))).toEqual([]);
  expect((await turns(client.scope({ user: ana }))).slice(0, 2)).toEqual(["I am allergic to peanuts.", "Noted."]);
});

test("a stream passes unchanged and is stored at its end", async () => {
  const me = someone();
  const pieces: string[] = [];
  for await (const piece of (await agentOf(model(), me).stream("What can't I eat?")).textStream) pieces.push(piece);
  expect(pieces.join("")).toBe("Peanuts.");
  expect(await turns(me)).toEqual(["What can't I eat?", "Peanuts."]);
});

test("a run that calls a tool is one turn, with the memories in each step", async () => {
  const me = someone();
  await me.remember("Ana lives in Graz.");
  const call = { type: "tool-call", toolCallId: "1", toolName: "weather", input: '{"city":"Graz"}' };
  const mock = model({ content: [call], finishReason: TOOL });
  const weather = createTool({
    id: "weather",
    description: "The weather of a city",
    inputSchema: z.object({ city: z.string() }),
    execute: async () => ({ sky: "clear" }),
  });
  const answer = await agentOf(mock, me, {}, { weather }).generate("Where do I live, and what is the weather there?");
  expect(answer.text).toBe("Noted.");
  const blocks = mock.doGenerateCalls.map(({ prompt }) => JSON.stringify(prompt).split("Ana lives in Graz.").length - 1);
  expect(blocks).toEqual([1, 1]);
  expect(await turns(me)).toEqual(["Where do I live, and what is the weather there?", "Noted."]);
});

test("a memory that does not answer never fails a run", async () => {
  const errors: unknown[] = [];
  const nowhere = new Memwarden({ url: "http://127.0.0.1:9" }).scope({ user: "ana" });
  const agent = agentOf(model(), nowhere, { onError: (error) => errors.push(error) });
  expect((await agent.generate("Hello there, who am I?")).text).toBe("Noted.");
  expect(errors).toHaveLength(3);
});
