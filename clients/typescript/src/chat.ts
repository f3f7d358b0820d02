import { MemwardenError, refusal } from "./errors.ts";
import type { MemoryScope } from "./scope.ts";
import { readEvents } from "./sse.ts";

/** Request of OpenAI's chat completions, without `stream`. */
export interface ChatRequest {
  model: string;
  messages: readonly { role: string; content: unknown }[];
  [name: string]: unknown;
}

export interface ChatOptions {
  /** Part that memory takes: "on" (default), "read" stores nothing, "write" puts nothing in. */
  memory?: "on" | "read" | "write";
  /** Ends the stream. Words that were passed on stay stored. */
  signal?: AbortSignal;
}

/** Yield the words of a model's answer as they arrive. Throws MemwardenError for a refusal and a broken stream. */
export async function* chatWords(
  scope: MemoryScope,
  request: ChatRequest,
  options: ChatOptions,
): AsyncGenerator<string, void, undefined> {
  const { client, identity } = scope;
  const headers: Record<string, string> = { "X-Memory": options.memory ?? "on" };
  if (identity.user !== undefined) headers["X-Memory-User"] = headerText(identity.user);
  if (identity.thread !== undefined) headers["X-Memory-Thread"] = headerText(identity.thread);
  if (identity.agent !== undefined) headers["X-Memory-Agent"] = headerText(identity.agent);
  if (identity.project !== undefined) headers["X-Memory-Project"] = headerText(identity.project);
  const init = { method: "POST", headers: client.headers(headers), body: JSON.stringify({ ...request, stream: true }) };
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  const response = await client.send(new Request(`${client.url}/v1/chat/completions`, { ...init, ...signal }));
  if (!response.ok || response.body === null) throw refusal(response.status, await readBody(response));
  for await (const { data } of readEvents(response.body)) {
    if (data === "[DONE]") return;
    const words = readWords(data);
    if (words) yield words;
  }
  throw new MemwardenError("the stream broke off", response.status, "StoreUnavailable");
}

/** Return a name as `fetch` takes it in a header: a character for each byte of its UTF-8, which the server reads. */
function headerText(name: string): string {
  if (/[\u0000-\u001f\u007f]/.test(name)) {
    throw new MemwardenError("a name holds a control character", 0, "InvalidInput");
  }
  return Array.from(new TextEncoder().encode(name), (byte) => String.fromCharCode(byte)).join("");
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function readWords(data: string): string {
  const chunk: { choices?: { index?: number; delta?: { content?: string | null } }[] } = JSON.parse(data);
  return chunk.choices?.find((choice) => !choice.index)?.delta?.content ?? "";
}
