import { expect, test } from "vitest";
import { readEvents, type ServerEvent } from "../src/sse.ts";

const STREAM = ": comment\r\n\r\nid: 1\r\nevent: change\r\ndata: ä\r\ndata:🥜\r\n\r\ndata: last";

test.each([1, 2, 3, 7, 1000])("events are the same in pieces of %i bytes", async (size) => {
  const bytes = new TextEncoder().encode(STREAM);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
  const events: ServerEvent[] = [];
  for await (const event of readEvents(body)) events.push(event);
  expect(events).toEqual([
    { event: "change", data: "ä\n🥜", id: "1" },
    { event: "message", data: "last", id: undefined },
  ]);
});
