/** The server that the tests run against, which tests/integration/test_typescript_client.py starts. */
import { Memwarden, type MemoryScope } from "../src/index.ts";

declare const process: { env: Record<string, string | undefined> };

export const url = process.env["MEMWARDEN_URL"] ?? "http://127.0.0.1:8765";
export const key = process.env["MEMWARDEN_KEY"] ?? "";
let users = 0;

/** Return a new user's scope. */
export function someone(thread = "t1"): MemoryScope {
  users += 1;
  return new Memwarden({ url, key }).scope({ user: `user${users}-${Math.random()}`, thread });
}
