// Networks that cut, refuse, swallow and go half open.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { record, until } from '../kit.js';
import { client, demo, messages, next, proxy, said, watch } from './world.js';

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Turns one after another on some threads, while the network is cut at random moments. */
async function storm(t, options, { threads, turns }) {
  const p = await proxy(0);
  const q = await proxy(1); // another node, where there is one
  const c = client(t, [p.url, q.url], options);
  const { wrong, texts, partial } = watch(c);
  let going = true;
  let cuts = 0;
  const cutter = (async () => {
    while (going) {
      await pause(20 + Math.random() * 130);
      if (Math.random() < 0.2) await Promise.all([p, q].map((x) => x.cutAfter(Math.floor(Math.random() * 4000))));
      await Promise.all([p.cut(), q.cut()]);
      await Promise.all([p, q].map((x) => x.cutAfter(-1)));
      cuts++;
    }
  })();
  const lengths = new Map();
  try {
    await Promise.all(Array.from({ length: threads }, async (_, i) => {
      const thread = c.thread(`t${i}`);
      for (let n = 0; n < turns; n++) {
        const frames = 1 + Math.floor(Math.random() * 40);
        const { turn_id } = await thread.send(`${n}`, demo(frames, { interval_ms: Math.floor(Math.random() * 6) }));
        lengths.set(turn_id, frames);
        await until(() => thread.snapshot.status === 'idle' && thread.snapshot.turnId === turn_id, `the end of turn ${n} on t${i}`, 60_000);
      }
    }));
  } finally {
    going = false;
    await cutter;
  }
  assert.deepEqual(wrong, []);
  // A thread's first turn may be over before this client has learnt its epoch.
  assert.ok(partial.size <= threads, `${partial.size} incomplete replays`);
  for (const [turn, frames] of lengths) if (!partial.has(turn)) assert.equal(texts.get(turn), said(frames), 'the text of each turn, from frames');
  for (let i = 0; i < threads; i++) {
    const truth = (await messages(p.direct, t.user, `t${i}`)).map((m) => [m.role, m.content, m.chat_seq]);
    const shown = c.thread(`t${i}`).snapshot.messages.map((m) => [m.role, m.content, m.seq]);
    assert.deepEqual(shown, truth, 'what is shown is the history');
    assert.equal(truth.length, 2 * turns, 'each message was admitted once');
  }
  return cuts;
}

test('B10, B114: 200 turns under random cuts; every frame once, the text is the history', async (t) => {
  const cuts = await storm(t, {}, { threads: 4, turns: 50 });
  assert.ok(cuts > 20, `only ${cuts} cuts`);
});

test('B10, B114: 40 turns over event streams under random cuts', async (t) => {
  const cuts = await storm(t, { transport: 'sse' }, { threads: 2, turns: 20 });
  assert.ok(cuts > 5, `only ${cuts} cuts`);
});

test('B114 what is written while the network refuses is admitted once, in order', async (t) => {
  const p = await proxy();
  const c = client(t, p.url);
  const thread = c.thread('t');
  await thread.send('first', demo(3));
  await until(() => thread.snapshot.outcome === 'completed');
  await p.refuse();
  await p.cut();
  await until(() => c.state.phase !== 'online');
  const sent = ['a', 'b', 'c'].map((x) => thread.send(x, { ...demo(2), onBusy: 'enqueue' }));
  assert.deepEqual(thread.snapshot.messages.map((m) => m.state), ['done', 'done', 'sending', 'sending', 'sending']);
  await until(() => c.state.attempt > 2);
  await p.resume();
  await Promise.all(sent);
  await until(() => thread.snapshot.messages.length === 8 && thread.snapshot.status === 'idle');
  assert.deepEqual(thread.snapshot.messages.filter((m) => m.role === 'user').map((m) => m.content), ['first', 'a', 'b', 'c']);
});

for (const fault of ['blackhole', 'halfopen']) {
  test(`a connection that is ${fault === 'halfopen' ? 'half open' : 'swallowed'} is noticed and replaced`, async (t) => {
    const [p, q] = [await proxy(), await proxy()];
    const c = client(t, [p.url, q.url], { silence: 1000, dialTimeout: 1000 });
    const { wrong, texts } = watch(c);
    const thread = c.thread('t');
    const { turn_id } = await thread.send('x', demo(200, { interval_ms: 10 }));
    await until(() => thread.snapshot.draft?.text.includes('10: '));
    await p[fault]();
    await until(() => thread.snapshot.outcome === 'completed', undefined, 60_000);
    assert.equal(texts.get(turn_id), said(200));
    assert.deepEqual(wrong, []);
  });
}

test('wake() looks whether a connection lives, and ends a wait', async (t) => {
  const [p, q] = [await proxy(), await proxy()];
  const c = client(t, [p.url, q.url], { silence: 40_000, maxDelay: 60_000, dialTimeout: 1000 });
  const got = record(c, 'state');
  await next(c, 'state', (s) => s.phase === 'online');
  await p.halfopen();
  c.wake(); // the page is visible again, and nothing answers the ping for 5 s
  await until(() => got.state.some((s) => s.phase === 'waiting' && s.error.code === 'silent'));
  await until(() => {
    c.wake(); // whatever the wait, now is the time
    return c.state.phase === 'online';
  });
  await p.resume();
});

test('networks without WebSockets: event streams take over, and WebSockets come back', async (t) => {
  const p = await proxy();
  await p.block();
  const c = client(t, p.url);
  const { wrong, texts } = watch(c);
  await next(c, 'state', (s) => s.phase === 'online');
  assert.equal(c.state.transport, 'sse');
  const thread = c.thread('t');
  const { turn_id } = await thread.send('x', demo(300, { interval_ms: 10 }));
  await until(() => thread.snapshot.draft?.text.includes('10: '));
  await p.cut();
  await until(() => thread.snapshot.draft?.text.includes('50: '));
  assert.equal(c.state.transport, 'sse');
  await p.unblock();
  await p.cut();
  await until(() => thread.snapshot.outcome === 'completed');
  assert.equal(c.state.transport, 'websocket');
  assert.equal(texts.get(turn_id), said(300));
  assert.deepEqual(wrong, []);
});

test('where WebSockets are asked for, blocked ones are an error that says so', async (t) => {
  const p = await proxy();
  await p.block();
  const c = client(t, p.url, { transport: 'websocket' });
  await until(() => c.state.error && c.state.attempt > 2);
  assert.notEqual(c.state.phase, 'online');
});
