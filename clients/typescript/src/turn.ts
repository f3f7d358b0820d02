import type { ContextBlock, ContextOptions, MemoryScope, Message, WriteResult } from "./scope.ts";

/** Message of a conversation with a model. content: a text, or parts of which those with `text` are read. */
export interface TurnMessage {
  role: string;
  content: unknown;
}

export interface TurnOptions {
  /** Options of the block of memories. */
  context?: ContextOptions;
  /** Part that memory takes: "on" (default), "read" stores nothing, "write" puts nothing in. */
  memory?: "on" | "read" | "write";
  /** Called with an error of memory, without which the turn goes on. Default: console.warn. */
  onError?: (error: unknown) => void;
}

/** A turn around a call of a model. Made by `MemoryScope.turn`. A failing memory never fails the turn before its end. */
export class Turn<M extends TurnMessage> {
  /** Messages for the model: those that were given, after a system message with memories if there are any. */
  readonly messages: (M | { role: "system"; content: string })[];
  /** Memories that were found. undefined if nothing was searched or the search failed. */
  readonly block: ContextBlock | undefined;
  readonly #scope: MemoryScope;
  readonly #said: Message[];
  readonly #stores: boolean;
  #stored: boolean;

  private constructor(
    scope: MemoryScope,
    messages: readonly M[],
    said: Message[],
    block: ContextBlock | undefined,
    stored: boolean,
    stores: boolean,
  ) {
    this.#scope = scope;
    this.#said = said;
    this.#stored = stored;
    this.#stores = stores;
    this.block = block;
    this.messages = withBlock(messages, block?.text ?? "");
  }

  /** Search, store what was said, and return the turn. */
  static async begin<M extends TurnMessage>(
    scope: MemoryScope,
    messages: readonly M[],
    options: TurnOptions,
  ): Promise<Turn<M>> {
    const said = readSpoken(messages);
    const memory = options.memory ?? "on";
    const report = options.onError ?? ((error: unknown) => console.warn("memwarden:", error));
    const attempt = async <T>(wanted: boolean, call: () => Promise<T>): Promise<T | undefined> => {
      if (!wanted || said.length === 0) return undefined;
      try {
        return await call();
      } catch (error) {
        report(error);
        return undefined;
      }
    };
    const block = await attempt(memory !== "write", () => scope.context(said, options.context));
    const stored = await attempt(memory !== "read", () => scope.observe(said));
    return new Turn(scope, messages, said, block, stored !== undefined, memory !== "read");
  }

  /** Store the answer, and what the user said if that failed before. Throws MemwardenError if it cannot be stored. */
  async end(answer: string): Promise<WriteResult | undefined> {
    const answers: Message[] = answer.trim() ? [{ role: "assistant", content: answer }] : [];
    const said = this.#stored ? [] : this.#said;
    if (!this.#stores || said.length + answers.length === 0) return undefined;
    const result = await this.#scope.observe([...said, ...answers]);
    this.#stored = true;
    return result;
  }

  /** Pass on the words of a stream and end the turn with those that were passed on, however the stream ends. */
  async *stream(words: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
    let answer = "";
    try {
      for await (const piece of words) {
        answer += piece;
        yield piece;
      }
    } finally {
      await this.end(answer);
    }
  }
}

/** Return the words of users and the assistant. */
export function readSpoken(messages: readonly TurnMessage[]): Message[] {
  return messages.flatMap(({ role, content }) => {
    const text = readText(content);
    return (role === "user" || role === "assistant") && text.trim() ? [{ role, content: text }] : [];
  });
}

function readText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((part: unknown) => (isText(part) ? part.text : ""));
  return texts.filter((text) => text).join("\n");
}

function isText(part: unknown): part is { text: string } {
  if (typeof part !== "object" || part === null || !("type" in part) || !("text" in part)) return false;
  return part.type === "text" && typeof part.text === "string";
}

function withBlock<M extends TurnMessage>(
  messages: readonly M[],
  text: string,
): (M | { role: "system"; content: string })[] {
  if (!text) return [...messages];
  const place = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  const at = place < 0 ? messages.length : place;
  return [...messages.slice(0, at), { role: "system", content: text }, ...messages.slice(at)];
}
