// An agent behind a URL: verifies the signature, streams server-sent events, and
// keeps nothing between two calls. Nothing but Node.
//
//   WEBHOOK_SECRET=0123456789abcdef0123 PORT=9000 node examples/webhook/agent.mjs
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const secret = process.env.WEBHOOK_SECRET;

function verify(headers, body) {
  const stamp = headers["webhook-timestamp"] ?? "0";
  const mac = createHmac("sha256", secret).update(`${headers["webhook-id"]}.${stamp}.`).update(body);
  const want = Buffer.from("v1," + mac.digest("base64"));
  const good = (headers["webhook-signature"] ?? "").split(" ").some((text) => {
    const got = Buffer.from(text);
    return got.length === want.length && timingSafeEqual(got, want);
  });
  return good && Math.abs(Date.now() / 1000 - Number(stamp)) < 300;
}

const textOf = ({ content }) => (typeof content === "string" ? content : content.map((b) => b.text ?? "").join(" "));

// answer yields the frames that answer one POST.
function* answer(line) {
  let text;
  if (line.type === "start") {
    text = textOf(line.message);
    if (text.split(" ").includes("shout")) {
      yield { type: "checkpoint", state: { text } }; // comes back with the answer
      yield { type: "tool_approval_request", ref: 1, tool_name: "shout", args: {} };
      return;
    }
  } else if (line.type === "answer") {
    text = line.checkpoint.text;
    if (line.answer?.decision?.startsWith("allow")) text = text.toUpperCase();
  } else {
    return;
  }
  for (const word of ["You", "said:", ...text.split(" ")]) yield { type: "chunk", content: word + " " };
  yield { type: "end", usage: { words: text.split(" ").length } };
}

const server = createServer(async (req, res) => {
  const parts = [];
  for await (const part of req) parts.push(part);
  const body = Buffer.concat(parts);
  if (!verify(req.headers, body)) return res.writeHead(401).end();
  res.writeHead(200, { "content-type": "text/event-stream" });
  for (const frame of answer(JSON.parse(body))) {
    if (res.destroyed) return; // the turn was stopped
    res.write(`data: ${JSON.stringify(frame)}\n\n`);
  }
  res.end();
});
server.listen(Number(process.env.PORT ?? 9000), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/`);
});
