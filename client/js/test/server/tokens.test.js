// Tokens that expire, are renewed, and are refused.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { record, until } from '../kit.js';
import { client, demo, proxy, said, token, watch } from './world.js';

for (const transport of ['websocket', 'sse']) {
  test(`B116 a token that expires in mid-turn costs a reconnect and nothing else, over ${transport}`, async (t) => {
    const p = await proxy('guarded');
    const user = randomUUID();
    let asked = 0;
    const c = client(t, p.url, { transport, token: () => token(user, ++asked === 1 ? 5000 : 3_600_000) });
    const got = record(c, 'state');
    const { wrong, texts } = watch(c);
    const thread = c.thread('t');
    const { turn_id } = await thread.send('x', demo(700, { interval_ms: 10 }));
    await until(() => thread.snapshot.outcome === 'completed');
    assert.equal(texts.get(turn_id), said(700));
    assert.ok(asked >= 2);
    assert.ok(got.state.some((s) => s.phase === 'waiting' && /expired/.test(s.error.message)));
    assert.deepEqual(wrong, []);
  });
}

test('reauth: a connection that is extended in time is never lost', async (t) => {
  const p = await proxy('guarded');
  const user = randomUUID();
  let asked = 0;
  // The server believes tokens for 30 s more than they say, the client does not know.
  const c = client(t, p.url, { token: () => token(user, ++asked === 1 ? 33_000 : 3_600_000), reauthBefore: 2000 });
  const got = record(c, 'state', 'error', 'raw');
  const thread = c.thread('t');
  await thread.send('x', demo(400, { interval_ms: 10 }));
  await until(() => thread.snapshot.outcome === 'completed');
  assert.ok(got.raw.some((r) => r.message.message === 'Reauthenticated'));
  assert.equal(asked, 2);
  assert.deepEqual(got.state.map((s) => s.phase), ['online']);
  assert.deepEqual(got.error, []);
});

test('B116 tokens that nobody takes end it, with a sentence, also where sockets do not say why', async (t) => {
  const p = await proxy('guarded');
  /** Like a browser's: its errors have no message. */
  class Mute extends WebSocket {
    set onerror(f) {
      super.onerror = () => f({});
    }
  }
  const c = client(t, p.url, { WebSocket: Mute, token: async () => 'not.a.token' });
  await assert.rejects(c.connect(), { code: 'unauthorized', message: /token option/ });
  const none = client(t, p.url, { user: 'somebody' });
  await assert.rejects(none.connect(), { code: 'unauthorized' });
});
