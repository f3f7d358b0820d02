// The clients of npm as programs write them, at the base URL that is given: node clients.mjs URL HEADERS QUESTION.
// It prints what each of them read of the answer, by the name of the call.
import OpenAI from "openai";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";

const [baseURL, given, question] = process.argv.slice(2);
const headers = JSON.parse(given);
const messages = [{ role: "user", content: question }];
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0, defaultHeaders: headers });
const provider = createOpenAI({ baseURL, apiKey: "none", headers });

async function joined(pieces, read) {
  let whole = "";
  for await (const piece of pieces) whole += read(piece) ?? "";
  return whole;
}

const calls = {
  chat: async () => (await client.chat.completions.create({ model: "gpt-5", messages })).choices[0].message.content,
  chatStream: async () =>
    joined(await client.chat.completions.create({ model: "gpt-5", messages, stream: true }), (piece) => piece.choices[0]?.delta?.content),
  responses: async () => (await client.responses.create({ model: "gpt-5", input: question })).output_text,
  generateText: async () => (await generateText({ model: provider("gpt-5"), prompt: question, maxRetries: 0 })).text,
  streamText: async () => joined(streamText({ model: provider.chat("gpt-5"), prompt: question, maxRetries: 0 }).textStream, (piece) => piece),
  refused: async () => {
    const wrong = new OpenAI({ baseURL, apiKey: "mw_wrong", maxRetries: 0 });
    return wrong.chat.completions.create({ model: "gpt-5", messages }).then(() => "", (error) => `${error.status} ${error.code}`);
  },
};

const read = {};
for (const [name, call] of Object.entries(calls)) read[name] = await call();
console.log(JSON.stringify(read));
