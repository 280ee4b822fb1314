// A page that is reloaded: another client with the same storage.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryStorage, record, until } from '../kit.js';
import { client, demo, next, proxy, said, watch } from './world.js';

/** A fetch that counts calls of the history. */
function counting() {
  const calls = [];
  return { calls, fetch: (url, ...rest) => { calls.push(String(url)); return fetch(url, ...rest); } };
}

test('with storage a reload in mid-turn resumes and does not load the history', async (t) => {
  const p = await proxy();
  const storage = new MemoryStorage();
  const first = client(t, p.url, { storage });
  const a = first.thread('t');
  await a.send('one', demo(3));
  await until(() => a.snapshot.outcome === 'completed');
  await a.send('two', demo(300, { interval_ms: 10 }));
  await until(() => a.snapshot.draft?.text.includes('30: '));
  await first.close();

  const { calls, fetch } = counting();
  const second = client(t, p.url, { storage, fetch });
  const got = record(second, 'header', 'reconcile', 'frame');
  const { wrong } = watch(second);
  const b = second.thread('t');
  b.open();
  assert.equal(b.snapshot.messages.length, 3, 'there before anything is connected');
  assert.ok(b.snapshot.draft.text.startsWith(said(30)));
  await until(() => b.snapshot.outcome === 'completed');
  assert.equal(b.snapshot.messages.at(-1).content, said(300));
  assert.deepEqual(got.reconcile, []);
  assert.equal(got.header[0].replay_incomplete, false);
  assert.ok(got.frame[0][0].chat_seq > 30);
  assert.deepEqual(calls, []);
  assert.deepEqual(wrong, []);
});

test('without storage a reload in mid-turn has the same from history and replay', async (t) => {
  const p = await proxy();
  const first = client(t, p.url);
  const a = first.thread('t');
  await a.send('one', demo(3));
  await until(() => a.snapshot.outcome === 'completed');
  await a.send('two', demo(300, { interval_ms: 10 }));
  await until(() => a.snapshot.draft?.text.includes('30: '));
  await first.close();
  const second = client(t, p.url);
  const b = second.thread('t');
  b.open();
  await until(() => b.snapshot.outcome === 'completed' && b.snapshot.history === 'loaded');
  assert.deepEqual(b.snapshot.messages.map((m) => m.content), ['one', said(3), 'two', said(300)]);
});

test('once: device runs a tool call once over a reload, and answers from memory', async (t) => {
  const p = await proxy();
  const deviceStorage = new MemoryStorage();
  let runs = 0;
  let release;
  const held = new Promise((r) => (release = r));
  const tools = { pay: { run: async () => { runs++; await held; return 'paid'; } } };
  const options = { tools, once: 'device', deviceStorage };
  const first = client(t, p.url, options);
  await first.thread('t').send('x', { ...demo(3, { tool_call: { name: 'pay', at: 2 } }), onDisconnect: 'grace' });
  await until(() => runs === 1);
  first.drop(60_000); // gone while the tool runs; it comes to its end and is remembered
  release();
  await until(() => [...deviceStorage.all.values()].some((v) => v.includes('paid')));
  await first.close();
  const second = client(t, p.url, options);
  const b = second.thread('t');
  b.open();
  await until(() => b.snapshot.outcome === 'completed');
  await until(() => b.snapshot.messages.some((m) => m.role === 'assistant' && String(m.content).includes('paid')));
  assert.equal(runs, 1);
});

test('once: device answers a call whose page died with an error instead of running it again', async (t) => {
  const p = await proxy();
  const deviceStorage = new MemoryStorage();
  let runs = 0;
  const tools = { pay: { run: () => { runs++; return new Promise(() => {}); } } };
  const first = client(t, p.url, { tools, once: 'device', deviceStorage });
  await first.thread('t').send('x', { ...demo(3, { tool_call: { name: 'pay', at: 2 } }), onDisconnect: 'grace' });
  await until(() => runs === 1);
  await first.close();
  const second = client(t, p.url, { tools, once: 'device', deviceStorage });
  const b = second.thread('t');
  b.open();
  await next(second, 'finish');
  assert.equal(runs, 1);
  assert.match(JSON.stringify(b.snapshot.messages), /outcome is unknown/);
});
