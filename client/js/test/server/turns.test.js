// Turns on the real server, seen by one page and by two.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pack, unpack } from 'msgpackr';
import { record, until } from '../kit.js';
import { client, demo, messages, next, proxy, said, watch } from './world.js';

for (const [name, options] of Object.entries({
  json: {}, msgpackr: { codec: { encode: pack, decode: unpack } }, 'event streams': { transport: 'sse' },
})) {
  test(`B1 a turn, over ${name}`, async (t) => {
    const p = await proxy();
    const c = client(t, p.url, options);
    const { wrong } = watch(c);
    const got = record(c, 'busy', 'finish');
    const thread = c.thread('t');
    const ack = await thread.send('hello', demo(20));
    await until(() => got.finish.length === 1);
    assert.equal(got.finish[0].turnId, ack.turn_id);
    const { messages: all, ...now } = thread.snapshot;
    assert.deepEqual(all.map((m) => [m.role, m.content, m.state]), [['user', 'hello', 'done'], ['assistant', said(20), 'done']]);
    assert.deepEqual([now.status, now.outcome, now.draft, now.lastSeq], ['idle', 'completed', null, 24]);
    assert.deepEqual(got.busy.map((b) => b.busy), [true, false]);
    assert.deepEqual(wrong, []);
  });

  test(`B15 two threads at once, and steering, over ${name}`, async (t) => {
    const p = await proxy();
    const c = client(t, p.url, options);
    const { wrong, texts } = watch(c);
    const [one, two] = [c.thread('one'), c.thread('two')];
    const [a, b] = await Promise.all([one.send('x', demo(500, { interval_ms: 10 })), two.send('y', demo(50, { interval_ms: 2 }))]);
    assert.equal((await one.steer('left')).delivered, true);
    await until(() => texts.get(a.turn_id)?.includes('steer:left '));
    const finish = next(c, 'finish', (f) => f.threadId === 'one');
    await one.stop();
    assert.equal((await finish).outcome, 'stopped');
    await until(() => two.snapshot.outcome === 'completed');
    assert.equal(texts.get(b.turn_id), said(50));
    assert.equal(one.snapshot.messages.at(-1).partial, true);
    assert.deepEqual(wrong, []);
  });

  test(`B115 a tool is called, over ${name}`, async (t) => {
    const p = await proxy();
    let calls = 0;
    const tools = { clock: { description: 'x', parameters: { type: 'object' }, run: ({ zone }) => { calls++; return `noon in ${zone}`; } } };
    const c = client(t, p.url, { ...options, tools });
    const thread = c.thread('t');
    await thread.send('x', demo(4, { tool_call: { name: 'clock', args: { zone: 'UTC' }, at: 2 } }));
    await until(() => thread.snapshot.outcome === 'completed');
    assert.match(thread.snapshot.messages.at(-1).content, /noon in UTC/);
    assert.equal(calls, 1);
    assert.equal(thread.snapshot.requests[0].state, 'answered');
  });

  test(`a tool that came later is called too, over ${name}`, async (t) => {
    const p = await proxy();
    const c = client(t, p.url, options);
    const thread = c.thread('t');
    await thread.send('x', demo(2));
    await until(() => thread.snapshot.outcome === 'completed');
    c.addTool('late', { run: () => 'here now' });
    await thread.send('y', demo(2, { tool_call: { name: 'late', at: 1 } }));
    await until(() => thread.snapshot.outcome === 'completed' && thread.snapshot.messages.length === 4);
    assert.match(thread.snapshot.messages[3].content, /here now/);
  });

  test(`a refused message says why, over ${name}`, async (t) => {
    const p = await proxy();
    const c = client(t, p.url, options);
    const thread = c.thread('t');
    await assert.rejects(thread.send('x', { agent: 'nobody' }), { code: 'unknown_agent' });
    assert.equal(thread.snapshot.messages[0].state, 'failed');
    await thread.send('y', demo(1000, { interval_ms: 10 }));
    await assert.rejects(thread.send('z', { onBusy: 'reject' }), { code: 'busy', retryable: true });
    const queued = await thread.send('z', { ...demo(1), onBusy: 'enqueue' });
    assert.equal(queued.position, 1);
    assert.equal((await c.turns()).length, 1);
    await thread.setPolicy('preserve');
    await thread.stop();
    await until(() => thread.snapshot.status === 'idle');
  });
}

test('a page that comes later has history and the running turn, whole', async (t) => {
  const p = await proxy();
  const first = client(t, p.url);
  const a = first.thread('t');
  for (let i = 0; i < 3; i++) {
    await a.send(`m${i}`, demo(3));
    await until(() => a.snapshot.outcome === 'completed');
  }
  await a.send('long', demo(2000, { interval_ms: 5 }));
  await until(() => a.snapshot.draft?.text.includes('30: '));
  const second = client(t, p.url);
  const { wrong } = watch(second);
  const b = second.thread('t');
  b.open();
  await until(() => b.snapshot.history === 'loaded' && b.snapshot.draft);
  assert.deepEqual(b.snapshot.messages.map((m) => m.content), ['m0', said(3), 'm1', said(3), 'm2', said(3), 'long']);
  assert.ok(b.snapshot.draft.text.startsWith(said(20)));
  const both = Promise.all([first, second].map((c) => next(c, 'finish')));
  await b.stop(); // in one tab, seen in the other
  await both;
  assert.deepEqual(a.snapshot.messages.map((m) => m.content), b.snapshot.messages.map((m) => m.content));
  assert.equal(a.snapshot.outcome, 'stopped');
  assert.deepEqual(wrong, []);
});

test('several tabs: what one writes the others see, in the same order, and approvals of one are answers for all', async (t) => {
  const p = await proxy();
  const tabs = Array.from({ length: 3 }, () => client(t, p.url));
  const threads = tabs.map((c) => c.thread('t'));
  threads.forEach((thread) => thread.open());
  await Promise.all(tabs.map((c) => next(c, 'resumed')));
  await threads[0].send('from the first', demo(4, { approval: { tool_name: 'rm', at: 2 } }));
  await until(() => threads.every((x) => x.snapshot.requests[0]?.state === 'open'));
  tabs[1].approve(threads[1].snapshot.requests[0].id, 'deny');
  await until(() => threads.every((x) => x.snapshot.outcome === 'completed'));
  await threads[2].send('from the third', demo(2));
  await until(() => threads.every((x) => x.snapshot.messages.length === 4 && x.snapshot.status === 'idle'));
  const seen = threads.map((x) => JSON.stringify(x.snapshot.messages.map((m) => [m.seq, m.content])));
  assert.equal(new Set(seen).size, 1);
  assert.equal(threads[0].snapshot.requests.length, 0); // of the newest turn
});

test('older history comes page by page, up to the beginning', async (t) => {
  const p = await proxy();
  const writer = client(t, p.url);
  const w = writer.thread('t');
  for (let i = 0; i < 60; i++) {
    await w.send(`m${i}`, demo(1));
    await until(() => w.snapshot.outcome === 'completed');
  }
  const c = client(t, p.url);
  const thread = c.thread('t');
  thread.open();
  await until(() => thread.snapshot.history === 'loaded');
  assert.equal(thread.snapshot.messages.length, 50);
  for (let pages = 0; thread.snapshot.hasOlder; pages++) {
    assert.ok(pages < 4);
    await thread.loadOlder();
  }
  const all = await messages(p.url, t.user, 't');
  assert.equal(all.length, 120);
  assert.deepEqual(thread.snapshot.messages.map((m) => m.seq), all.map((m) => m.chat_seq));
});

test('a turn found by discover is followed and can be stopped', async (t) => {
  const p = await proxy();
  const first = client(t, p.url);
  await first.thread('t').send('x', { ...demo(5000, { interval_ms: 5 }), onDisconnect: 'preserve' });
  await first.close();
  const c = client(t, p.url, { discover: true });
  const thread = c.thread('t');
  await until(() => thread.snapshot.status === 'running' && thread.snapshot.draft);
  await thread.stop();
  await until(() => thread.snapshot.outcome === 'stopped');
});
