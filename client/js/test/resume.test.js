// Connections that are lost and come back, over a socket that the test plays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { begun, chunk, contains, fake, finished, frame, record, started, until } from './kit.js';

test('B110 the cursor of every thread in flight is sent, after the tools manifest', async (t) => {
  const { server, client, socket, thread } = await begun(t, { tools: { clock: { run: () => 1 } } });
  const got = record(client, 'text', 'resumed');
  client.thread('t2').send('over soon');
  socket.accept(await socket.want({ command: 'chat_message' }), 'turn-2');
  socket.say(started(1, { thread_id: 't2', turn_id: 'turn-2' }), finished(2, 'completed', { thread_id: 't2', turn_id: 'turn-2' }));
  socket.say(chunk(2, 'a'), chunk(3, 'b'));
  assert.equal(thread.snapshot.draft.text, 'ab');
  socket.end();

  const next = await server.next();
  await next.want({ type: 'client_tools_manifest' });
  const r = await next.want({ command: 'resume_chat', data: { thread_id: 't1', last_seq: 3, epoch: 'e1' } });
  await next.quiet(); // t2 is idle
  next.resume(r, { last_seq: 5, first_seq: 4 }, chunk(4, 'c'), chunk(5, 'd'));
  assert.equal(thread.snapshot.draft.text, 'abcd');
  assert.deepEqual(got.resumed, [{ threadId: 't1', status: 'running', replayed: 2, incomplete: false }]);
});

test('B111 headers decide state and reconciliation', async (t) => {
  for (const [name, header, reconcile, status] of [
    ['unknown', { status: 'unknown', epoch: '' }, true, 'idle'],
    ['incomplete and running', { replay_incomplete: true, last_seq: 9 }, true, 'running'],
    ['incomplete and finished', { status: 'finished', replay_incomplete: true, last_seq: 9 }, true, 'idle'],
    ['complete and running', { last_seq: 2 }, false, 'running'],
  ]) {
    await t.test(name, async (t) => {
      const { server, client, socket, thread } = await begun(t);
      const got = record(client, 'reconcile');
      socket.say(chunk(2, 'a'));
      socket.end();
      const next = await server.next();
      next.resume(await next.want({ command: 'resume_chat' }), header);
      await next.quiet();
      assert.equal(thread.snapshot.status, status);
      assert.equal(got.reconcile.length > 0, reconcile);
    });
  }
});

test('B112 listed turns are resumed only on idle threads, and only where adopt agrees', async (t) => {
  const { client, socket } = await begun(t, { adopt: (id) => id !== 't8' });
  const active = (thread_id) => ({ type: 'chat_turn_active', thread_id, status: 'running', last_seq: 7, turn_id: 'x', detached: true });
  const got = record(client, 'active', 'busy');
  socket.say(active('t1'), active('t8'));
  await socket.quiet();
  socket.say(active('t9'));
  await socket.want({ command: 'resume_chat', data: { thread_id: 't9', last_seq: 0 } });
  socket.say(active('t9'));
  await socket.quiet();
  assert.deepEqual(got.busy, [{ threadId: 't9', busy: true }]);
  assert.equal(got.active.length, 4);
});

test('B112 discover asks for running turns at every connect', async (t) => {
  const { server, client } = fake(t, { discover: true });
  client.connect();
  for (let i = 0; i < 2; i++) {
    const socket = await server.next();
    await socket.want({ command: 'list_chat_turns' });
    socket.end(1000);
  }
});

test('B113 repeats are dropped, a hole resumes, another epoch restarts', async (t) => {
  const { client, socket, thread } = await begun(t);
  const got = record(client, 'frame', 'dropped', 'reconcile');
  socket.say(chunk(2, 'a'), chunk(2, 'a'), chunk(1, 'z'), chunk(3, 'b'));
  assert.equal(thread.snapshot.draft.text, 'ab');
  socket.say(chunk(5, 'd'));
  const r = await socket.want({ command: 'resume_chat', data: { last_seq: 3, epoch: 'e1' } });
  socket.say(chunk(6, 'x'));
  socket.resume(r, { last_seq: 6, first_seq: 4 }, chunk(4, 'c'), chunk(5, 'd'), chunk(6, 'e'));
  assert.equal(thread.snapshot.draft.text, 'abcde');
  assert.deepEqual(got.dropped.map(([, why]) => why), ['seen', 'seen', 'gap', 'syncing']);
  assert.deepEqual(got.frame.map(([f, { replayed }]) => [f.chat_seq, replayed]), [[2, false], [3, false], [4, true], [5, true], [6, true]]);

  socket.say({
    type: 'chat_resumed', thread_id: 't1', status: 'running', last_seq: 2, first_seq: 1, replay_count: 2, replay_incomplete: true, epoch: 'e2', turn_id: 'turn-1',
  }, chunk(1, 'A'), chunk(2, 'B'), chunk(3, 'C'));
  assert.equal(thread.snapshot.draft.text, 'ABC');
  assert.equal(got.reconcile.length, 1);
  assert.deepEqual([thread.snapshot.lastSeq, thread.snapshot.epoch], [3, 'e2']);
});

test('B15 two threads on one connection never mix', async (t) => {
  const { server, client, socket, thread } = await begun(t);
  const other = client.thread('t2');
  other.send('x');
  socket.accept(await socket.want({ data: { thread_id: 't2' } }), 'turn-2');
  const two = { thread_id: 't2', turn_id: 'turn-2' };
  socket.say(started(1, two), chunk(2, 'a'), chunk(2, '1', two), chunk(3, '2', two), chunk(3, 'b'));
  socket.end();
  const next = await server.next();
  const r1 = await next.want({ command: 'resume_chat', data: { thread_id: 't1', last_seq: 3 } });
  const r2 = await next.want({ command: 'resume_chat', data: { thread_id: 't2', last_seq: 3 } });
  next.say({ type: 'ping' });
  next.resume(r2, { last_seq: 4, first_seq: 4, turn_id: 'turn-2' }, chunk(4, '3', two));
  next.say(chunk(5, '4', two));
  next.resume(r1, { last_seq: 4, first_seq: 4 }, chunk(4, 'c'));
  assert.equal(thread.snapshot.draft.text, 'abc');
  assert.equal(other.snapshot.draft.text, '1234');
});

test('a batch is many frames, and listeners are told once', async (t) => {
  const { socket, thread } = await begun(t);
  let told = 0;
  thread.subscribe(() => told++);
  socket.onmessage({ data: JSON.stringify([chunk(2, 'a'), chunk(3, 'b'), chunk(4, 'c')]) });
  assert.equal(thread.snapshot.draft.text, 'abc');
  assert.equal(told, 1);
});

test('a connection that says what makes no sense is replaced', async (t) => {
  const { server, socket } = await begun(t);
  for (const nonsense of ['{', '[[]]', 'null', '{"type":"chunk","thread_id":"t1","chat_seq":1.5}', '{"chat_seq":-1}']) {
    const before = server.sockets.length;
    (server.sockets.at(-1) ?? socket).onmessage({ data: nonsense });
    await until(() => server.sockets.length > before, 'another connection');
    await server.next();
  }
});

test('letting go of a thread unfollows it, and holding it again goes on where it was', async (t) => {
  const { client, socket, thread } = await begun(t);
  const [one, two] = [thread.open(), thread.open()];
  socket.resume(await socket.want({ command: 'resume_chat' }), { last_seq: 1 });
  socket.say(chunk(2, 'a'));
  one();
  one(); // twice is once
  await socket.quiet();
  two();
  await socket.want({ command: 'unfollow', data: { thread_id: 't1' } });
  const got = record(client, 'dropped');
  socket.say(chunk(3, 'b'));
  assert.deepEqual(got.dropped.map(([, why]) => why), ['unknown thread']);
  assert.equal(client.thread('t1'), thread);
  thread.open();
  socket.resume(await socket.want({ command: 'resume_chat', data: { last_seq: 2, epoch: 'e1' } }), { last_seq: 3, first_seq: 3 }, chunk(3, 'b'));
  assert.equal(thread.snapshot.draft.text, 'ab');
});

test('a component that is mounted twice at once does not leave in between', async (t) => {
  const { socket, thread } = await begun(t);
  thread.open()();
  thread.open(); // StrictMode
  socket.resume(await socket.want({ command: 'resume_chat' }), { last_seq: 1 });
  await new Promise((done) => setTimeout(done)); // behind the timer of the release
  await socket.quiet();
});

test('threads that are left are forgotten in the end', async (t) => {
  const { client, socket } = await begun(t);
  const first = client.thread('left-0');
  for (let i = 0; i < 40; i++) client.thread(`left-${i}`).open()();
  await until(() => socket.heard.filter((m) => m.command === 'unfollow').length === 40);
  assert.notEqual(client.thread('left-0'), first);
});

test('a resume that is refused for now makes another connection, one refused for good an error', async (t) => {
  const { server, client, socket } = await begun(t);
  const got = record(client, 'error');
  socket.end(1000);
  const next = await server.next();
  const r = await next.want({ command: 'resume_chat' });
  next.say({ error: 'refused', code: 'unavailable', message: 'redis', retryable: true, request_id: r.request_id });
  const third = await server.next();
  const again = await third.want({ command: 'resume_chat' });
  third.say({ error: 'invalid_command', message: 'no', request_id: again.request_id });
  await until(() => got.error.length === 1);
  assert.ok(contains(got.error[0], { threadId: 't1', code: 'invalid_command' }));
});

test('frames of threads that nobody asked for are dropped', async (t) => {
  const { client, socket } = await begun(t);
  const got = record(client, 'frame', 'dropped');
  socket.say(chunk(1, 'x', { thread_id: 'foreign' }), frame('error', 0, { thread_id: 'foreign', message: 'm' }));
  assert.equal(got.frame.length, 1);
  assert.equal(got.dropped.length, 1);
});
