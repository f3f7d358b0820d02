import type { MemoryScope } from "./scope.ts";
import { Turn, type TurnMessage, type TurnOptions } from "./turn.ts";

/** Message of a run, as Mastra keeps it. */
interface StoredMessage {
  role: string;
  content: { parts: readonly unknown[] };
}

interface SystemMessage {
  role: "system";
  content: string;
}

/** Values that a program gives a run: Mastra's `RequestContext`. */
export interface RunContext {
  get(name: string): unknown;
}

/** What `MastraProcessor` reads of the arguments of a processor. */
interface RunInput<M extends StoredMessage, S> {
  messages: M[];
  systemMessages: S[];
  state: Record<string, unknown>;
  requestContext?: RunContext | undefined;
}

interface RunOutput<M extends StoredMessage> {
  messages: M[];
  result: { text: string };
  state: Record<string, unknown>;
}

/**
 * Processor of Mastra: memories into the instructions of a run, and what the user and the agent say into the store.
 *
 *     const memory = new MastraProcessor((context) => client.scope({ user: String(context?.get("user")) }));
 *     const agent = new Agent({ ..., inputProcessors: [memory], outputProcessors: [memory] });
 *
 * Give one object as input processor and as output processor. A run with several steps is one turn.
 * A failing memory never fails a run: errors go to `onError`.
 *
 * `scopeOf`: scope of every run, or a function that finds it from the run's request context.
 */
export class MastraProcessor {
  readonly id = "memwarden";
  readonly #scopeOf: (context: RunContext | undefined) => MemoryScope;
  readonly #options: TurnOptions;

  constructor(scopeOf: MemoryScope | ((context: RunContext | undefined) => MemoryScope), options: TurnOptions = {}) {
    this.#scopeOf = typeof scopeOf === "function" ? scopeOf : () => scopeOf;
    this.#options = options;
  }

  /** Called by Mastra before the first step of a run. */
  async processInput<M extends StoredMessage, S>(
    run: RunInput<M, S>,
  ): Promise<{ messages: M[]; systemMessages: (S | SystemMessage)[] }> {
    const scope = this.#scopeOf(run.requestContext);
    const said: TurnMessage[] = run.messages.map(({ role, content }) => ({ role, content: [...content.parts] }));
    const turn = await Turn.begin(scope, said, this.#options);
    run.state[this.id] = turn;
    const text = turn.block?.text;
    const block: SystemMessage[] = text ? [{ role: "system", content: text }] : [];
    return { messages: run.messages, systemMessages: [...run.systemMessages, ...block] };
  }

  /** Called by Mastra after the last step of a run. */
  async processOutputResult<M extends StoredMessage>(run: RunOutput<M>): Promise<M[]> {
    const turn = run.state[this.id];
    try {
      if (turn instanceof Turn) await turn.end(run.result.text);
    } catch (error) {
      (this.#options.onError ?? ((lost: unknown) => console.error("memwarden: an answer was not stored:", lost)))(error);
    }
    return run.messages;
  }
}
