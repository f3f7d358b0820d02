export { type ChatOptions, type ChatRequest } from "./chat.ts";
export { type ClientOptions, type Fetch, Memwarden } from "./client.ts";
export { MemwardenError, type Problem } from "./errors.ts";
export type { components, paths } from "./schema.d.ts";
export {
  type ContextBlock,
  type ContextOptions,
  type FindOptions,
  type HistoryEntry,
  type Identity,
  type Memory,
  type MemoryChange,
  type MemoryPage,
  MemoryScope,
  type Message,
  type ObserveOptions,
  type QueryOptions,
  type QueryResult,
  type RememberOptions,
  type WriteResult,
} from "./scope.ts";
export { type ServerEvent } from "./sse.ts";
export { Turn, type TurnMessage, type TurnOptions } from "./turn.ts";
