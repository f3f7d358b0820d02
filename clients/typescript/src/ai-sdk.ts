import type { LanguageModelV4Middleware, LanguageModelV4Prompt, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { MemoryScope } from "./scope.ts";
import { Turn, type TurnOptions } from "./turn.ts";

/**
 * Middleware of the AI SDK: memories into each prompt, and what the user and the model say into the store.
 *
 *     const model = wrapLanguageModel({ model: openai("gpt-5-mini"), middleware: memwardenMiddleware(me) });
 *     await generateText({ model, prompt: "What am I allergic to?" });
 *
 * An answer is stored before the call returns, or when its stream ends. A failing memory never fails the call:
 * errors go to `onError`.
 */
export function memwardenMiddleware(scope: MemoryScope, options: TurnOptions = {}): LanguageModelV4Middleware {
  const turns = new WeakMap<LanguageModelV4Prompt, Turn<LanguageModelV4Prompt[number]>>();
  const end = async (prompt: LanguageModelV4Prompt, answer: string): Promise<void> => {
    try {
      await turns.get(prompt)?.end(answer);
    } catch (error) {
      (options.onError ?? ((lost: unknown) => console.error("memwarden: an answer was not stored:", lost)))(error);
    }
  };
  return {
    specificationVersion: "v4",
    async transformParams({ params }) {
      const turn = await Turn.begin(scope, params.prompt, options);
      const prompt: LanguageModelV4Prompt = turn.messages;
      turns.set(prompt, turn);
      return { ...params, prompt };
    },
    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      const texts = result.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
      await end(params.prompt, texts.join(""));
      return result;
    },
    async wrapStream({ doStream, params }) {
      const { stream, ...rest } = await doStream();
      return { stream: passing(stream, (answer) => end(params.prompt, answer)), ...rest };
    },
  };
}

/** Return the same stream. When it ends, breaks off or is cancelled, the words that were passed on are handed over. */
function passing(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  end: (answer: string) => Promise<void>,
): ReadableStream<LanguageModelV4StreamPart> {
  const reader = stream.getReader();
  let answer = "";
  return new ReadableStream<LanguageModelV4StreamPart>({
    async pull(controller) {
      const { done, value } = await reader.read().catch(async (error: unknown) => {
        await end(answer);
        throw error;
      });
      if (done) {
        await end(answer);
        controller.close();
        return;
      }
      if (value.type === "text-delta") answer += value.delta;
      controller.enqueue(value);
    },
    async cancel(reason) {
      await reader.cancel(reason);
      await end(answer);
    },
  });
}
