// A node dies; another one goes on where it was.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../kit.js';
import { client, demo, mortal, next, proxy, said, watch } from '../server/world.js';

test('the node that a page is connected to is killed: another one resumes, nothing is missing', async (t) => {
  const [doomed, other] = [await mortal(), await proxy(1)];
  const writer = client(t, other.direct); // the turn runs on a node that lives
  const c = client(t, [doomed.url, other.direct]);
  const { wrong, texts } = watch(c);
  const thread = c.thread('t');
  thread.open();
  await next(c, 'resumed');
  const ack = await writer.thread('t').send('x', demo(300, { interval_ms: 10 }));
  await until(() => thread.snapshot.draft?.text.includes('20: '));
  const node = c.state.node;
  await doomed.kill();
  await until(() => thread.snapshot.outcome === 'completed');
  assert.notEqual(c.state.node, node);
  assert.equal(texts.get(ack.turn_id), said(300));
  assert.deepEqual(wrong, []);
});

test('the node that runs the turn is killed: the page hears owner_lost, and its next message runs elsewhere', async (t) => {
  const [doomed, other] = [await mortal(), await proxy(1)];
  const c = client(t, [doomed.url, other.direct]);
  const { wrong } = watch(c);
  const thread = c.thread('t');
  await thread.send('x', demo(5000, { interval_ms: 10 }));
  await until(() => thread.snapshot.draft?.text.includes('10: '));
  await doomed.kill();
  const waiting = thread.send('y', { ...demo(3), onBusy: 'enqueue' }); // written while there is no connection
  await until(() => thread.snapshot.outcome === 'completed');
  assert.ok((await waiting).turn_id);
  const [, partial, , last] = thread.snapshot.messages;
  assert.equal(partial.partial, true);
  assert.equal(last.content, said(3));
  assert.deepEqual(wrong, []);
});
