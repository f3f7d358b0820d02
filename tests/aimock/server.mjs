// aimock as the upstream of the tests of SDKs, in a process of its own. It prints its URL and ends when its stdin does.
//
// Its journal holds what aimock made of a request (of Anthropic's and of Responses' it makes a chat completion). Prompts are
// compared with what came over the wire, so the bytes are kept here as well: GET /received, emptied by DELETE /received.
import { createServer } from "@copilotkit/aimock";

const { server, url } = await createServer([], { port: 0, host: "127.0.0.1", logLevel: "silent", strict: true });
const [answer] = server.listeners("request");
let received = [];

function keep(request) {
  const one = { path: request.url, headers: request.headers, chunks: [] };
  const emit = request.emit;
  request.emit = (event, ...given) => {
    if (event === "data") one.chunks.push(given[0]);
    return emit.call(request, event, ...given);
  };
  received.push(one);
}

server.removeAllListeners("request");
server.on("request", (request, response) => {
  if (request.url !== "/received") {
    if (request.method === "POST" && !request.url.startsWith("/__aimock/")) keep(request);
    return answer(request, response);
  }
  if (request.method === "DELETE") received = [];
  response.setHeader("Content-Type", "application/json");
  const shown = received.map(({ chunks, ...rest }) => ({ ...rest, body: Buffer.concat(chunks).toString("utf8") }));
  return response.end(JSON.stringify(shown));
});

process.stdin.on("end", () => process.exit(0)).resume();
console.log(url);
