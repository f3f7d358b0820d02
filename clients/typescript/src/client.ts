import createClient, { type Client } from "openapi-fetch";
import { MemwardenError, take } from "./errors.ts";
import type { components, paths } from "./schema.d.ts";
import { MemoryScope, type Identity } from "./scope.ts";

/** Part of a fetch function that the client calls. */
export type Fetch = (request: Request) => Promise<Response>;

export interface ClientOptions {
  /** URL of the server, for example "https://memory.example.com". */
  url: string;
  /** Key of the server. A server without keys takes none. */
  key?: string | undefined;
  /** Seconds until a call without an answer fails. Default 30. Streams end when their signal says so. */
  seconds?: number;
  /** Function to use in place of the global fetch. */
  fetch?: Fetch;
}

/** Connection to a server of memwarden. Holds nothing open. */
export class Memwarden {
  /** Every route of the server, typed by its OpenAPI document. Calls return `{ data, error, response }`. */
  readonly api: Client<paths>;
  readonly url: string;
  readonly #key: string | undefined;
  readonly #fetch: Fetch;

  constructor(options: ClientOptions) {
    this.url = options.url.replace(/\/+$/, "");
    this.#key = options.key;
    this.#fetch = options.fetch ?? ((request) => fetch(request));
    const milliseconds = 1000 * (options.seconds ?? 30);
    this.api = createClient<paths>({
      baseUrl: this.url,
      headers: this.#key === undefined ? {} : { Authorization: `Bearer ${this.#key}` },
      fetch: (request) => this.send(new Request(request, { signal: limited(request.signal, milliseconds) })),
    });
  }

  /** Return the verbs of a user. Without a user the key decides. */
  scope(identity: Identity = {}): MemoryScope {
    return new MemoryScope(this, identity);
  }

  /** Return the names of users whom the key may read. */
  async users(): Promise<components["schemas"]["UserList"]["items"]> {
    return take(await this.api.GET("/v1/users")).items;
  }

  /** Send a request. Throws MemwardenError with status 0 if no answer came, and the reason of an aborted signal. */
  async send(request: Request): Promise<Response> {
    try {
      return await this.#fetch(request);
    } catch (cause) {
      if (request.signal.aborted && !isTimeout(request.signal.reason)) throw cause;
      throw new MemwardenError(`${this.url} does not answer`, 0, "StoreUnavailable", undefined, { cause });
    }
  }

  /** Return headers of a request that is not sent by `api`. */
  headers(more: Record<string, string>): Record<string, string> {
    const authorization = this.#key === undefined ? {} : { Authorization: `Bearer ${this.#key}` };
    return { "Content-Type": "application/json", ...authorization, ...more };
  }
}

function limited(signal: AbortSignal, milliseconds: number): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(milliseconds)]);
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}
