/** Event of a stream of server-sent events. */
export interface ServerEvent {
  event: string;
  data: string;
  id: string | undefined;
}

/** Yield the events of a body. Pieces of the body may break anywhere. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += value ?? "";
      // A carriage return at the end of a piece may be the first half of a line break.
      const ready = done ? rest : rest.replace(/\r$/, "");
      const blocks = ready.split(/\r\n\r\n|\n\n|\r\r/);
      const last = blocks.pop() ?? "";
      rest = last + rest.slice(ready.length);
      for (const block of blocks) yield* readEvent(block);
      if (done) return yield* readEvent(rest);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function* readEvent(block: string): Generator<ServerEvent, void, undefined> {
  const data: string[] = [];
  let event = "message";
  let id: string | undefined;
  for (const line of block.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    if (name === "event") event = value;
    if (name === "id") id = value;
  }
  if (data.length > 0) yield { event, data: data.join("\n"), id };
}
