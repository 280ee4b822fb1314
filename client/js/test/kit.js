// What tests of the client share: a WebSocket without a network, and waiting.
import assert from 'node:assert/strict';
import { createClient } from '../client.js';

/** Whether got has everything that want has. */
export function contains(got, want) {
  if (want === null || typeof want !== 'object') return Object.is(got, want);
  return got !== null && typeof got === 'object' && Object.entries(want).every(([k, v]) => contains(got[k], v));
}

/** Waits until f gives something true, and returns it. */
export async function until(f, what = String(f), patience = +(process.env.PATIENCE ?? 60_000)) {
  const deadline = Date.now() + patience;
  for (;;) {
    const value = f();
    if (value) return value;
    if (Date.now() > deadline) assert.fail(`not within ${patience} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 5));
  }
}

/** The events of a client as they come: one list per event. */
export function record(client, ...names) {
  const all = Object.fromEntries(names.map((name) => [name, []]));
  for (const name of names) client.on(name, (...args) => all[name].push(args.length > 1 ? args : args[0]));
  return all;
}

/** Sockets without a network: the test plays the server. */
export class FakeServer {
  sockets = [];
  #taken = 0;
  /** Answers the next handshakes instead of opening. */
  refuse = () => false;

  constructor() {
    const server = this;
    this.WebSocket = class extends FakeSocket {
      constructor(url, protocols) {
        super(url, protocols, server.refuse);
        server.sockets.push(this);
      }
    };
  }

  /** The next connection, once it is open and welcomed. */
  async next() {
    const socket = await until(() => this.sockets.slice(this.#taken).find((s) => s.readyState === 1), 'a connection');
    this.#taken = this.sockets.indexOf(socket) + 1;
    socket.say({ type: 'welcome', protocol: 1, node: `n${this.#taken}`, server_time: new Date().toISOString() });
    return socket;
  }
}

class FakeSocket {
  readyState = 0;
  heard = [];

  constructor(url, protocols, refuse) {
    this.url = url;
    this.protocols = protocols;
    setImmediate(() => {
      const why = refuse(this);
      if (why) return this.fail(typeof why === 'string' ? why : '');
      if (this.readyState !== 0) return;
      this.readyState = 1;
      this.onopen?.({});
    });
  }

  send(data) {
    if (this.readyState === 1) this.heard.push(JSON.parse(data));
  }

  close() {
    this.readyState = 3;
  }

  fail(message) {
    this.readyState = 3;
    this.onerror?.({ message });
    this.onclose?.({ code: 1006, reason: '' });
  }

  // From here on: what the test does.

  say(...objects) {
    for (const o of objects) this.onmessage?.({ data: JSON.stringify(o) });
  }

  end(code = 1006, reason = '') {
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }

  /** The next message of the client, heartbeats left out; it must have these keys. */
  async want(keys) {
    const skip = (m) => m.type === 'ping' || m.type === 'pong';
    await until(() => {
      while (this.heard.length > 0 && skip(this.heard[0])) this.heard.shift();
      return this.heard.length > 0;
    }, `a message like ${JSON.stringify(keys)}`);
    const got = this.heard.shift();
    assert.ok(contains(got, keys), `client sent ${JSON.stringify(got)}, want ${JSON.stringify(keys)} in it`);
    return got;
  }

  /** Nothing was sent: pings are answered in order. */
  async quiet() {
    this.say({ type: 'ping' });
    await until(() => this.heard.some((m) => m.type === 'pong'), 'a pong');
    const more = this.heard.splice(0).filter((m) => m.type !== 'pong' && m.type !== 'ping');
    assert.deepEqual(more, [], 'the client sent more');
  }

  /** Answers a resume_chat. */
  resume(request, header = {}, ...frames) {
    const h = {
      type: 'chat_resumed', thread_id: request.data.thread_id, status: 'running', last_seq: 0, replay_count: frames.length,
      replay_incomplete: false, epoch: 'e1', first_seq: 0, turn_id: 'turn-1', outcome: '', on_disconnect: 'grace', ...header,
    };
    this.say(h, ...frames, { message: 'Chat resumed', thread_id: h.thread_id, replay_count: h.replay_count, request_id: request.request_id });
  }

  /** Acknowledges a chat_message. */
  accept(request, turn = 'turn-1', more = {}) {
    this.say({
      message: 'Chat message processing started', thread_id: request.data.thread_id, turn_id: turn, epoch: 'e1', on_disconnect: 'grace',
      request_id: request.request_id, ...more,
    });
  }
}

export const frame = (type, seq, more = {}) => ({ type, thread_id: 't1', turn_id: 'turn-1', ...(seq && { chat_seq: seq }), ...more });
export const started = (seq, more) => frame('turn_started', seq, { attempt: 1, epoch: 'e1', message: { role: 'user', content: 'hi' }, ...more });
export const chunk = (seq, content = 'x', more) => frame('chunk', seq, { content, ...more });
export const finished = (seq, outcome = 'completed', more) => frame('turn_finished', seq, { outcome, ...more });

/** A client of a fake server, closed with the test. */
export function fake(t, options = {}) {
  const server = new FakeServer();
  const client = createClient('ws://fake/ws', { WebSocket: server.WebSocket, fetch: noFetch, history: false, ...options });
  t.after(() => client.close());
  return { server, client };
}

/** A network without HTTP. */
export const noFetch = async () => { throw new TypeError('no HTTP here'); };

/** A client with a turn on t1 that has started. */
export async function begun(t, options) {
  const { server, client } = fake(t, options);
  client.connect();
  const socket = await server.next();
  if (options?.tools) await socket.want({ type: 'client_tools_manifest' });
  const thread = client.thread('t1');
  thread.send('hi', { id: 'm1' });
  socket.accept(await socket.want({ command: 'chat_message' }));
  socket.say(started(1, { message: { id: 'm1', role: 'user', content: 'hi' } }));
  return { server, client, socket, thread };
}

/** A Storage of one test. */
export class MemoryStorage {
  all = new Map();
  getItem(key) {
    return this.all.get(key) ?? null;
  }
  setItem(key, value) {
    this.all.set(key, String(value));
  }
  removeItem(key) {
    this.all.delete(key);
  }
}
