import type { components } from "./schema.d.ts";

/** Problem document of the server (RFC 9457). */
export type Problem = components["schemas"]["Problem"];

/** Refusal of the server, or a request that did not reach it. */
export class MemwardenError extends Error {
  /** HTTP status. 0 if no answer came. */
  readonly status: number;
  /** Name of the error in the Python package, for example "NotFound" or "Conflict". */
  readonly error: string;
  /** The whole problem document, if the server sent one. */
  readonly problem: Problem | undefined;

  constructor(message: string, status: number, error: string, problem?: Problem, options?: ErrorOptions) {
    super(message, options);
    this.name = "MemwardenError";
    this.status = status;
    this.error = error;
    this.problem = problem;
  }
}

/** Result of a call of openapi-fetch. */
export interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Return the data of an answer. Throws MemwardenError for a refusal. */
export function take<T>(answer: Answer<T>): T {
  if (answer.response.ok && answer.data !== undefined) return answer.data;
  throw refusal(answer.response.status, answer.error);
}

/** Return the error for a refused request. body: JSON or text of the answer. */
export function refusal(status: number, body: unknown): MemwardenError {
  if (isProblem(body)) return new MemwardenError(body.detail, status, body.error, body);
  const inner = typeof body === "object" && body !== null && "error" in body ? body.error : body;
  const message = typeof inner === "object" && inner !== null && "message" in inner ? String(inner.message) : "";
  return new MemwardenError(message || `the server answered with status ${status}`, status, "StoreError");
}

function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && "detail" in body && "error" in body;
}
