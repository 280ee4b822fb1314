// The small parts: waits, options, events, storage, event streams.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from '../backoff.js';
import { createClient } from '../client.js';
import { oncePerDevice } from '../device.js';
import { Emitter } from '../emitter.js';
import { EventParser } from '../eventstream.js';
import { byteLength, newId } from '../ids.js';
import { endpoint } from '../options.js';
import { Requests } from '../requests.js';
import { lossOf, lossOfStatus } from '../socket.js';
import { expiry } from '../token.js';
import { begun, chunk, fake, frame, MemoryStorage, noFetch, record, until } from './kit.js';

test('waits: none, then jitter under a doubling ceiling, up to the limit', () => {
  const b = new Backoff(4000, () => 0.5);
  const waits = Array.from({ length: 8 }, () => b.next({}));
  assert.deepEqual(waits, [0, 125, 250, 500, 1000, 2000, 2000, 2000]);
  b.healthy();
  assert.equal(b.next({}), 0);
  const spread = new Backoff(10_000, () => 0.5);
  assert.equal(spread.next({ restart: true }), 500, 'a node that goes: its clients are spread over a second');
  assert.ok(spread.next({ later: 3000 }) >= 3000, 'the server asked for it');
  assert.ok(spread.next({ later: 3_600_000 }) <= 11_000, 'but not for ever');
});

test('close codes and statuses decide how to come back', () => {
  assert.ok(lossOf(1008, '').fatal && lossOf(1009, '').fatal && lossOf(4003, '').fatal);
  assert.ok(lossOf(1012, '').restart && lossOf(1006, '').restart);
  assert.ok(lossOf(4001, '').token);
  assert.deepEqual([lossOf(4008, 'silent').fatal, lossOf(4008, '').restart], [undefined, false]);
  assert.match(lossOf(1009, 'too big').error.message, /limits.inbound_bytes/);
  assert.ok(lossOfStatus(401, 0, '').token && lossOfStatus(403, 0, '').fatal);
  assert.equal(lossOfStatus(503, 2000, '').later, 2000);
  assert.equal(lossOfStatus(502, 0, '').fatal, undefined);
});

test('addresses', (t) => {
  const none = { user: '', codec: null, httpUrl: '' };
  assert.deepEqual(endpoint('https://x.example', none), { socket: 'wss://x.example/ws?batch=1', http: 'https://x.example' });
  assert.deepEqual(endpoint('ws://x:1/base/ws?client=web', { ...none, user: 'a b', codec: {} }), {
    socket: 'ws://x:1/base/ws?client=web&user=a%20b&batch=1&encoding=msgpack', http: 'http://x:1/base',
  });
  assert.equal(endpoint('ws://x/ws', { ...none, httpUrl: 'https://api.example/' }).http, 'https://api.example');
  globalThis.location = { href: 'https://app.example/chat/' };
  t.after(() => delete globalThis.location);
  assert.deepEqual(endpoint('/ws', none), { socket: 'wss://app.example/ws?batch=1', http: 'https://app.example' });
  delete globalThis.location;
  for (const bad of ['ftp://x', 'nonsense', '', 'ws://', 'ws:///ws']) assert.throws(() => endpoint(bad, none), { code: 'invalid_option', message: /ws:\/\// });
});

test('options that cannot work are errors that say what to do', () => {
  const make = (options) => () => createClient('ws://x', { fetch: noFetch, ...options });
  assert.throws(make({ silence: -1 }), /silence/);
  assert.throws(make({ transport: 'pigeon' }), /transport/);
  assert.throws(make({ transport: 'websocket', WebSocket: null }), /npm's ws/);
  assert.throws(make({ WebSocket: null, fetch: null }), /neither/);
  assert.throws(make({ tools: { x: {} } }), /run function/);
  assert.throws(make({ once: 'never' }), /once/);
  assert.throws(make({ token: () => 't', storage: new MemoryStorage() }), /storageKey/);
});

test('a listener leaves by its function or its signal, and may listen twice', () => {
  const emitter = new Emitter(assert.fail);
  const abort = new AbortController();
  let n = 0;
  const count = () => n++;
  const off = emitter.on('x', count);
  emitter.on('x', count, { signal: abort.signal });
  emitter.emit('x');
  off();
  emitter.emit('x');
  abort.abort();
  emitter.emit('x');
  assert.equal(n, 3);
  assert.equal(emitter.has('x'), false);
  emitter.on('x', count, { signal: abort.signal });
  assert.equal(emitter.has('x'), false);
});

test('event streams in pieces of any size, with any line end', () => {
  const text = '\ufeffretry: 5\n\n: comment\nevent: welcome\r\ndata: {"a":1}\r\n\r\nid: e:1\rdata: one\rdata:two\r\rdata\n\nid: e:2\ndata:  x é\n\n';
  const want = [
    { event: 'welcome', data: '{"a":1}', id: '' }, { event: 'message', data: 'one\ntwo', id: 'e:1' },
    { event: 'message', data: '', id: 'e:1' }, { event: 'message', data: ' x é', id: 'e:2' },
  ];
  for (let size = 1; size <= text.length; size++) {
    const parser = new EventParser();
    const got = [];
    for (let i = 0; i < text.length; i += size) got.push(...parser.push(text.slice(i, i + size)));
    assert.deepEqual(got, want, `pieces of ${size}`);
  }
});

test('ids differ, and sizes are those of the wire', () => {
  assert.equal(new Set(Array.from({ length: 1000 }, newId)).size, 1000);
  for (const s of ['', 'abc', 'é', '漢字', '👍🏽x']) assert.equal(byteLength(s), Buffer.byteLength(s), s);
});

test('the expiry of a JWT', () => {
  const part = (o) => Buffer.from(JSON.stringify(o)).toString('base64url');
  assert.equal(expiry(`h.${part({ exp: 12, sub: 'ÿ?>' })}.s`), 12_000);
  for (const no of ['', 'a.b.c', `h.${part({})}.s`, 'opaque']) assert.equal(expiry(no), 0);
});

test('requests that are closed are remembered, and not for ever', () => {
  const r = new Requests();
  for (let i = 0; i < 3000; i++) {
    r.see(`q${i}`, 't', 1);
    r.end(`q${i}`, 'answered');
  }
  assert.equal(r.see('q2999', 't', 2).fresh, false);
  assert.equal(r.see('q0', 't', 2).fresh, true);
  r.end('unseen', 'expired');
  assert.equal(r.see('unseen', 't', 2).fresh, false);
});

test('once per device: one run, also for two tabs at once, and the oldest calls are forgotten', async () => {
  const store = new MemoryStorage();
  let queue = Promise.resolve();
  const locks = { request: (_, f) => (queue = queue.then(f)) };
  const [tab1, tab2] = [oncePerDevice(store, locks), oncePerDevice(store, locks)];
  let runs = 0;
  const run = async () => ({ ok: true, result: ++runs });
  assert.deepEqual(await Promise.all([tab1('c', run), tab2('c', run)]), [{ ok: true, result: 1 }, { ok: true, result: 1 }]);
  for (let i = 0; i < 300; i++) await tab1(`c${i}`, run);
  assert.ok(store.all.size <= 202, `${store.all.size} entries`);
  const full = { getItem: () => null, removeItem: () => {}, setItem: () => { throw new Error('quota'); } };
  assert.deepEqual(await oncePerDevice(full)('x', async () => ({ ok: true, result: 'ran' })), { ok: true, result: 'ran' });
});

test('storage that is full, forbidden or damaged costs nothing but the reload', async (t) => {
  const refuses = { getItem: () => { throw new Error('SecurityError'); }, setItem: () => { throw new Error('quota'); }, removeItem: () => { throw new Error('SecurityError'); } };
  const { client, socket, thread } = await begun(t, { storage: refuses, user: 'u' });
  socket.say(chunk(2, 'a'));
  assert.equal(thread.snapshot.draft.text, 'a');
  await client.close();
  for (const bad of ['{', '{"v":9,"machine":{"cursor":5,"epoch":"e"},"transcript":{"messages":[]}}', '{"v":1,"machine":{"cursor":"x"}}', 'null']) {
    const storage = new MemoryStorage();
    storage.setItem('turnlog:u:t1', bad);
    const other = fake(t, { storage, user: 'u' }).client;
    other.thread('t1').open();
    assert.equal(other.thread('t1').snapshot.lastSeq, 0);
  }
});

test('storage keeps cursor and transcript as one, per user', async (t) => {
  const storage = new MemoryStorage();
  const { client, socket } = await begun(t, { storage, user: 'ann' });
  socket.say(chunk(2, 'a'));
  await until(() => storage.getItem('turnlog:ann:t1')?.includes('"text":"a"'));
  await client.close();
  const again = fake(t, { storage, user: 'ann' });
  again.client.thread('t1').open();
  again.client.connect();
  const next = await again.server.next();
  next.resume(await next.want({ command: 'resume_chat', data: { last_seq: 2, epoch: 'e1' } }), { last_seq: 3, first_seq: 3 }, chunk(3, 'b'));
  assert.equal(again.client.thread('t1').snapshot.draft.text, 'ab');
  const bob = fake(t, { storage, user: 'bob' }).client;
  bob.thread('t1').open();
  assert.equal(bob.thread('t1').snapshot.lastSeq, 0);
});

test('storage keeps the newest messages of a long thread, and the rest can be loaded', async (t) => {
  const storage = new MemoryStorage();
  const { client, socket } = await begun(t, { storage, user: 'ann' });
  for (let seq = 2; seq < 42; seq++) socket.say(frame('message', seq, { role: 'assistant', content: `${seq} ${'x'.repeat(20_000)}` }));
  await client.close();
  assert.ok(storage.getItem('turnlog:ann:t1').length <= 512 * 1024);
  const { messages, hasOlder, lastSeq } = (() => {
    const again = fake(t, { storage, user: 'ann' }).client.thread('t1');
    again.open();
    return again.snapshot;
  })();
  assert.ok(messages.length >= 10 && messages.length < 41);
  assert.equal(messages.at(-1).seq, 41);
  assert.ok(messages.every((m) => m.content.startsWith(`${m.seq} x`)));
  assert.deepEqual([hasOlder, lastSeq], [true, 41]);
});

test('the page that is back ends a wait at once, and listeners of the page are taken off', async (t) => {
  const page = new EventTarget();
  globalThis.window = page;
  t.after(() => delete globalThis.window);
  const { server, client } = fake(t, { maxDelay: 600_000, random: () => 0.999 });
  let down = true;
  server.refuse = () => down;
  client.connect();
  for (const event of Array.from({ length: 11 }, (_, i) => ['online', 'pageshow'][i % 2])) { // the waits grow to minutes
    await until(() => client.state.phase === 'waiting' && client.state.delay > 100);
    const { attempt } = client.state;
    page.dispatchEvent(new Event(event));
    await until(() => client.state.phase === 'waiting' && client.state.attempt > attempt);
  }
  assert.ok(client.state.delay > 100_000);
  down = false;
  page.dispatchEvent(new Event('online'));
  await server.next();
  await client.close();
  const before = server.sockets.length;
  page.dispatchEvent(new Event('online'));
  assert.equal(server.sockets.length, before);
});

test('a silent connection is replaced; one that answers is not', async (t) => {
  const { server, client } = fake(t, { silence: 200 });
  client.connect();
  const first = await server.next();
  let pings = 0;
  const quiet = setInterval(() => first.heard.splice(0).forEach((m) => m.type === 'ping' && ++pings && first.say({ type: 'pong' })), 10);
  await until(() => pings >= 6); // three times the silence
  assert.equal(server.sockets.length, 1);
  clearInterval(quiet);
  await server.next();
  assert.equal(first.readyState, 3);
});

test('drop cuts and stays away, whatever wakes it', async (t) => {
  const { server, client } = fake(t, {});
  const got = record(client, 'state');
  client.connect();
  await server.next();
  const at = Date.now();
  client.drop(300);
  await until(() => client.state.phase === 'waiting');
  client.wake();
  await server.next();
  assert.ok(Date.now() - at >= 290);
  assert.ok(got.state.find((s) => s.phase === 'waiting').delay > 200);
});
