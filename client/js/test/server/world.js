// The servers that js_test.go started, and what it does to them on request.
import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import { createClient } from '../../client.js';

const control = process.env.TURNLOG_CONTROL;
if (!control) throw new Error('these tests need servers: run them with `go test ./client/js`');

const post = async (path) => {
  const response = await fetch(control + path, { method: 'POST' });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return response.json();
};

/** A proxy of the test's own in front of a node: a number, or 'guarded'. */
export async function proxy(node = 0) {
  const { id, host, target } = await post(`/proxy?node=${node}`);
  const does = (what) => () => post(`/proxy/${id}/${what}`);
  return {
    url: `ws://${host}/ws`, direct: `ws://${target}/ws`, cut: does('cut'), refuse: does('refuse'), blackhole: does('blackhole'), halfopen: does('halfopen'),
    resume: does('resume'), block: does('block'), unblock: does('unblock'), cutAfter: (bytes) => post(`/proxy/${id}/cutafter?bytes=${bytes}`),
  };
}

/** A node that may be killed. */
export async function mortal() {
  const { id, host } = await post('/mortal');
  return { url: `ws://${host}/ws`, kill: () => post(`/mortal/${id}/kill`) };
}

/** A token that is believed for so long. */
export const token = async (user, ms) => (await fetch(`${control}/token?user=${user}&ms=${ms}`)).text();

/** A client that is closed with the test. Retries are quick, so that tests are. */
export function client(t, url, options = {}) {
  const c = createClient(url, { WebSocket, maxDelay: 50, user: options.token ? '' : (t.user ??= randomUUID()), ...options });
  t.after(() => c.close());
  c.connect();
  return c;
}

/** Data that tells the demo agent what to say. */
export const demo = (frames, more = {}) => ({ extra: { demo: { frames, ...more } } });

/** What the demo agent says in so many chunks. */
export const said = (frames) => Array.from({ length: frames }, (_, i) => `${i + 1}: `).join('');

/** The next event of a client. */
export const next = (c, event, fits = () => true) => new Promise((resolve) => {
  const off = c.on(event, (value, ...rest) => {
    if (!fits(value, ...rest)) return;
    off();
    resolve(value);
  });
});

/** Checks that numbered frames come once and in order, between jumps that a header announced. */
export function watch(c) {
  const last = new Map();
  const wrong = [];
  const texts = new Map();
  const partial = new Set(); // turns whose beginning was left to the history
  c.on('header', (h) => {
    if (h.replay_incomplete || h.status === 'unknown') last.delete(h.thread_id);
    if (h.replay_incomplete) partial.add(h.turn_id);
  });
  c.on('frame', (f) => {
    if (!f.chat_seq) return;
    const before = last.get(f.thread_id);
    if (before !== undefined && f.chat_seq !== before + 1) wrong.push(`${f.thread_id}: ${f.chat_seq} after ${before}`);
    last.set(f.thread_id, f.chat_seq);
    if (f.type === 'chunk') texts.set(f.turn_id, (texts.get(f.turn_id) ?? '') + f.content);
  });
  return { wrong, texts, partial };
}

/** All messages of a thread as the HTTP API has them. */
export async function messages(url, user, threadId) {
  const base = url.replace('ws://', 'http://').replace(/\/ws$/, '');
  const all = [];
  for (let before = null; ;) {
    const query = `user=${user}&limit=100${before ? `&before=${before}` : ''}`;
    const page = await (await fetch(`${base}/v1/threads/${threadId}/messages?${query}`)).json();
    all.unshift(...page.messages);
    before = page.next;
    if (!before) return all;
  }
}
