import { expect, test } from "vitest";
import { Memwarden, MemwardenError } from "../src/index.ts";
import { key, someone, url } from "./server.ts";

const FACT = "I am allergic to peanuts.";
const QUESTION = "What am I allergic to?";

test("what is observed is found by query and context, by its user alone", async () => {
  const me = someone();
  const written = await me.observe([{ role: "user", content: FACT, id: "m1" }]);
  expect(written.results.map(({ outcome }) => outcome)).toEqual(["created"]);
  expect((await me.query(QUESTION, { top_k: 3 })).items[0]?.text).toContain("peanuts");
  expect((await me.thread("t2").context(QUESTION, { budget_tokens: 300 })).text).toContain(FACT);
  expect((await someone().context(QUESTION)).text).toBe("");
});

test("a statement is stored, changed, forgotten and brought back", async () => {
  const me = someone();
  const stated = await me.remember("Ana lives in Graz.", { tags: ["home"], key: "import-1" });
  const id = stated.results[0]?.id ?? "";
  expect((await me.remember("Ana lives in Graz.", { tags: ["home"], key: "import-1" })).rev).toBe(stated.rev);
  await me.update(id, { text: "Ana lives in Linz." });
  expect((await me.get(id)).text).toBe("Ana lives in Linz.");
  expect((await me.history(id)).map(({ event }) => event)).toEqual(["ADD", "UPDATE"]);
  await me.forget(id);
  expect((await me.find()).items).toEqual([]);
  await me.restore(id);
  expect((await me.find({ filters: { tags: ["home"] }, limit: 5 })).items.map(({ text }) => text)).toEqual([
    "Ana lives in Linz.",
  ]);
});

test("a revision is undone", async () => {
  const me = someone();
  await me.remember(["Ana plays the cello.", "Ana has a cat called Minka."]);
  const { rev } = await me.remember("Ana sings in a choir.");
  await me.undo(rev);
  expect((await me.find()).items.map(({ text }) => text).sort()).toEqual([
    "Ana has a cat called Minka.",
    "Ana plays the cello.",
  ]);
});

test("a refusal is an error with its problem document", async () => {
  const unknown = someone().get("unknown");
  await expect(unknown).rejects.toThrow(MemwardenError);
  await expect(unknown).rejects.toMatchObject({ status: 404, error: "NotFound", problem: { status: 404 } });
  const stranger = new Memwarden({ url, key: "mw_wrong" }).scope({ user: "ana" });
  await expect(stranger.query(QUESTION)).rejects.toMatchObject({ status: 401 });
  const { error } = await new Memwarden({ url, key }).api.GET("/v1/memories", { params: { query: { limit: 0 } } });
  expect(error?.status).toBe(422);
});

test("a server that does not answer is an error, and so is one that is late", async () => {
  const nowhere = new Memwarden({ url: "http://127.0.0.1:9" }).scope({ user: "ana" });
  await expect(nowhere.query(QUESTION)).rejects.toMatchObject({ status: 0, error: "StoreUnavailable" });
  const late = new Memwarden({
    url,
    seconds: 0.05,
    fetch: (request) =>
      new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason))),
  });
  await expect(late.users()).rejects.toMatchObject({ status: 0, error: "StoreUnavailable" });
});

test("a turn puts memories in and stores question and answer", async () => {
  const me = someone();
  await me.observe(FACT);
  const friday = me.thread("friday");
  const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: [{ type: "text", text: QUESTION }] }];
  const turn = await friday.turn(messages);
  expect(turn.messages.map(({ role }) => role)).toEqual(["system", "system", "user"]);
  expect(turn.messages[1]?.content).toContain(FACT);
  async function* words(): AsyncGenerator<string> {
    yield* ["Pea", "nuts."];
  }
  const heard: string[] = [];
  for await (const piece of turn.stream(words())) heard.push(piece);
  expect(heard.join("")).toBe("Peanuts.");
  const said = await me.find({ filters: { thread_id: "friday" }, order_by: "written", descending: false });
  expect(said.items.map(({ role, text }) => [role, text])).toEqual([
    ["user", QUESTION],
    ["assistant", "Peanuts."],
  ]);
});

test("a stream that is left early keeps what was passed on; read alone keeps nothing", async () => {
  const me = someone();
  async function* words(): AsyncGenerator<string> {
    yield* ["One ", "two", " three"];
  }
  const turn = await me.turn([{ role: "user", content: "Count, please." }]);
  for await (const piece of turn.stream(words())) if (piece === "two") break;
  expect((await me.find({ order_by: "written" })).items[0]?.text).toBe("One two");
  const reading = await someone().turn([{ role: "user", content: QUESTION }], { memory: "read" });
  expect(await reading.end("Nothing.")).toBeUndefined();
});

test("a turn goes on without memory, and its end tells what was not stored", async () => {
  const errors: unknown[] = [];
  const nowhere = new Memwarden({ url: "http://127.0.0.1:9" }).scope({ user: "ana" });
  const messages = [{ role: "user", content: QUESTION }];
  const turn = await nowhere.turn(messages, { onError: (error) => errors.push(error) });
  expect(turn.messages).toEqual(messages);
  expect(errors).toHaveLength(2);
  await expect(turn.end("Peanuts.")).rejects.toThrow(MemwardenError);
});

test("a chat streams the words of a model that was given memories", async () => {
  const me = someone();
  await me.observe(FACT);
  const request = { model: "gpt-5-mini", messages: [{ role: "user", content: QUESTION }] };
  const heard: string[] = [];
  for await (const piece of me.thread("chat").chat(request)) heard.push(piece);
  expect(heard.join("")).toBe("Peanuts, Ana. — 🥜");
  expect(heard.length).toBeGreaterThan(2);
  const said = await me.find({ filters: { thread_id: "chat" }, order_by: "written", descending: false });
  expect(said.items.map(({ text }) => text)).toEqual([QUESTION, "Peanuts, Ana. — 🥜"]);
  for (const name of ["Καλημέρα 你好 🥜", "Zoë", "Ã©"]) {
    for await (const _ of me.thread(name).chat(request));
    expect((await me.find({ filters: { thread_id: name } })).items.length).toBeGreaterThan(0);
  }
  await expect(me.thread("a\nb").chat(request).next()).rejects.toMatchObject({ error: "InvalidInput", status: 0 });
  const wrong = new Memwarden({ url, key: "mw_wrong" }).scope({ user: "ana" }).chat(request);
  await expect(wrong.next()).rejects.toMatchObject({ status: 401 });
  const aborted = AbortSignal.abort(new Error("left"));
  await expect(me.chat(request, { signal: aborted }).next()).rejects.toThrow("left");
});
