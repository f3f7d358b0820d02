import { chatWords, type ChatOptions, type ChatRequest } from "./chat.ts";
import type { Memwarden } from "./client.ts";
import { take } from "./errors.ts";
import type { components, paths } from "./schema.d.ts";
import { Turn, type TurnMessage, type TurnOptions } from "./turn.ts";

type Schemas = components["schemas"];
/** Fields of a body that a scope fills in. */
type Filled = "user_id" | "agent" | "thread_id" | "run_id" | "actor_id" | "project_id" | "task_id" | "role";

export type Message = Schemas["MessageBody"];
export type Memory = Schemas["MemoryView"];
export type MemoryPage = Schemas["MemoryPage"];
export type WriteResult = Schemas["WriteView"];
export type QueryResult = Schemas["QueryView"];
export type ContextBlock = Schemas["BlockView"];
export type HistoryEntry = Schemas["HistoryView"];
export type ObserveOptions = Omit<Schemas["ObserveBody"], Filled | "messages">;
export type QueryOptions = Omit<Schemas["QueryBody"], Filled | "query">;
export type ContextOptions = Omit<Schemas["BlockBody"], Filled | "messages">;
export type RememberOptions = Omit<Schemas["MemoryBody"], Filled | "text" | "texts">;
export type MemoryChange = Schemas["MemoryPatch"];
export type FindOptions = Omit<NonNullable<paths["/v1/memories"]["get"]["parameters"]["query"]>, "user_id" | "agent" | "thread_id" | "filters"> & {
  /** Conditions that must all hold. */
  filters?: Record<string, unknown>;
};

/** Whose memory it is, and in which conversation. */
export interface Identity {
  user?: string;
  thread?: string;
  agent?: string;
  run?: string;
  project?: string;
}

/** The verbs of a user. Made by `Memwarden.scope`; holds nothing open. Verbs throw MemwardenError. */
export class MemoryScope {
  readonly client: Memwarden;
  readonly identity: Identity;

  constructor(client: Memwarden, identity: Identity) {
    this.client = client;
    this.identity = identity;
  }

  /** Return the same user in a thread. */
  thread(thread: string): MemoryScope {
    return new MemoryScope(this.client, { ...this.identity, thread });
  }

  /** Store what was said, word for word and once. A text alone is the user's. */
  async observe(messages: string | Message | Message[], options: ObserveOptions = {}): Promise<WriteResult> {
    const body = { ...this.#body(), ...options, messages };
    return take(await this.client.api.POST("/v1/memory/observe", { body }));
  }

  /** Store a statement, or several. What is known already is merged, an older value is replaced. */
  async remember(text: string | string[], options: RememberOptions = {}): Promise<WriteResult> {
    const body = { ...this.#body(), ...options, ...(typeof text === "string" ? { text } : { texts: text }) };
    return take(await this.client.api.POST("/v1/memories", { body }));
  }

  /** Find memories that answer a question, best first. */
  async query(query: string, options: QueryOptions = {}): Promise<QueryResult> {
    return take(await this.client.api.POST("/v1/memory/query", { body: { ...this.#body(), ...options, query } }));
  }

  /** Return the block of memories to put before the last of some messages. Its text is empty without relevant ones. */
  async context(messages: string | Message[], options: ContextOptions = {}): Promise<ContextBlock> {
    return take(await this.client.api.POST("/v1/memory/context", { body: { ...this.#body(), ...options, messages } }));
  }

  /** Return a memory by its id. */
  async get(id: string): Promise<Memory> {
    const params = { path: { memory_id: id }, query: this.#query() };
    return take(await this.client.api.GET("/v1/memories/{memory_id}", { params }));
  }

  /** Return a page of memories, the newest first. Its `cursor` begins the next page. */
  async find(options: FindOptions = {}): Promise<MemoryPage> {
    const { filters, ...rest } = options;
    const query = { ...this.#query(), ...rest, ...(filters === undefined ? {} : { filters: JSON.stringify(filters) }) };
    return take(await this.client.api.GET("/v1/memories", { params: { query } }));
  }

  /** Change a memory. */
  async update(id: string, change: MemoryChange): Promise<WriteResult> {
    const params = { path: { memory_id: id }, query: this.#query() };
    return take(await this.client.api.PATCH("/v1/memories/{memory_id}", { params, body: change }));
  }

  /** Forget a memory. `restore` brings it back for 30 days. */
  async forget(id: string): Promise<WriteResult> {
    const params = { path: { memory_id: id }, query: this.#query() };
    return take(await this.client.api.DELETE("/v1/memories/{memory_id}", { params }));
  }

  /** Bring a forgotten memory back. */
  async restore(id: string): Promise<WriteResult> {
    const params = { path: { memory_id: id }, query: this.#query() };
    return take(await this.client.api.POST("/v1/memories/{memory_id}/restore", { params }));
  }

  /** Return the changes of a memory. */
  async history(id: string): Promise<HistoryEntry[]> {
    const params = { path: { memory_id: id }, query: this.#query() };
    return take(await this.client.api.GET("/v1/memories/{memory_id}/history", { params }));
  }

  /** Undo the changes of a revision. */
  async undo(rev: number): Promise<WriteResult> {
    return take(await this.client.api.POST("/v1/journal/{rev}/undo", { params: { path: { rev }, query: this.#query() } }));
  }

  /**
   * Begin a turn around your own call of a model: store what the user said, and put memories into the messages.
   *
   *     const turn = await me.turn(messages);
   *     const answer = await model(turn.messages);
   *     await turn.end(answer);
   */
  async turn<M extends TurnMessage>(messages: readonly M[], options: TurnOptions = {}): Promise<Turn<M>> {
    return Turn.begin(this, messages, options);
  }

  /** Yield the words of a model's answer, which the server asks with memory woven in. Takes a server with an upstream. */
  chat(request: ChatRequest, options: ChatOptions = {}): AsyncGenerator<string, void, undefined> {
    return chatWords(this, request, options);
  }

  #body(): Partial<Pick<Schemas["ObserveBody"], "user_id" | "thread_id" | "agent" | "run_id" | "project_id">> {
    const { user, thread, agent, run, project } = this.identity;
    return defined({ user_id: user, thread_id: thread, agent, run_id: run, project_id: project });
  }

  #query(): { user_id?: string; agent?: string; thread_id?: string } {
    const { user, agent, thread } = this.identity;
    return defined({ user_id: user, agent, thread_id: thread });
  }
}

/** Fields that are not undefined. */
type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(fields: T): Defined<T> {
  const given: Defined<T> = {};
  for (const name of Object.keys(fields) as (keyof T)[]) {
    const value = fields[name];
    if (value !== undefined) given[name] = value as Exclude<T[keyof T], undefined>;
  }
  return given;
}
