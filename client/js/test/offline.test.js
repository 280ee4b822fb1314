// What is written while there is no connection, requests, tools, tokens.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, RefusedError } from '../client.js';
import { begun, chunk, contains, fake, finished, frame, noFetch, record, until } from './kit.js';

test('B114 what was written offline is sent once, with its ids', async (t) => {
  const { server, client, socket, thread } = await begun(t);
  const got = record(client, 'request');
  socket.say(frame('tool_approval_request', 2, { approval_id: 'ap1', tool_name: 'rm' }));
  assert.equal(got.request[0].name, 'rm');
  let down = true;
  server.refuse = () => down;
  socket.end();
  await until(() => client.state.phase === 'waiting');
  client.approve('ap1', 'allow');
  const sent = client.thread('t2').send('typed offline');
  assert.equal(client.thread('t2').snapshot.messages[0].state, 'sending');
  down = false;

  const second = await server.next();
  const resume = await second.want({ command: 'resume_chat', data: { thread_id: 't1' } });
  await second.want({ type: 'tool_approval_response', approval_id: 'ap1', decision: 'allow' });
  const m = await second.want({ command: 'chat_message', data: { thread_id: 't2', id: sent.id } });
  // The header was made before the answer arrived: the open request follows it.
  second.resume(resume, { last_seq: 2 });
  second.say(frame('tool_approval_request', 0, { approval_id: 'ap1', tool_name: 'rm', replayed: true }));
  await second.quiet(); // not answered twice, not asked twice
  second.end(); // the acknowledgement of the message is lost

  const third = await server.next();
  for (let i = 0; i < 2; i++) third.resume(await third.want({ command: 'resume_chat' }), { last_seq: 2 });
  const again = await third.want({ command: 'chat_message', data: { id: sent.id } });
  assert.equal(again.request_id, m.request_id);
  third.accept(again, 'turn-2', { duplicate: true });
  assert.equal((await sent).duplicate, true);
  // The answer died with its socket after all: asked again, answered from memory.
  third.say(frame('tool_approval_request', 0, { approval_id: 'ap1', replayed: true }));
  await until(() => third.heard.some((o) => o.type === 'tool_approval_response'), 'the answer again');
  assert.equal(got.request.length, 1);
  assert.equal(thread.snapshot.requests[0].state, 'answered');
});

test('B114 the queue is bounded', async (t) => {
  const { client } = fake(t, { queueLimit: 2 });
  const thread = client.thread('t');
  thread.send('x');
  thread.send('x');
  await assert.rejects(thread.send('x'), { code: 'queue_full' });
  assert.equal(thread.snapshot.messages.length, 2);
});

test('a message that is too large is refused here', async (t) => {
  const { client } = fake(t, { maxMessage: 100 });
  await assert.rejects(client.thread('t').send('é'.repeat(100)), { code: 'too_large', message: /maxMessage/ });
});

test('an aborted message that was not written is taken back, a written one is only not awaited', async (t) => {
  const { client, server } = fake(t);
  const thread = client.thread('t1');
  const abort = new AbortController();
  const sent = thread.send('x', { signal: abort.signal });
  abort.abort();
  await assert.rejects(sent, { name: 'AbortError' });
  assert.deepEqual([thread.snapshot.messages.length, thread.snapshot.status], [0, 'idle']);
  client.connect();
  const socket = await server.next();
  await socket.quiet();
  const later = new AbortController();
  const written = thread.send('y', { signal: later.signal });
  const request = await socket.want({ command: 'chat_message' });
  later.abort();
  await assert.rejects(written, { name: 'AbortError' });
  socket.accept(request);
  assert.equal(thread.snapshot.status, 'running');
});

test('B115 a tool runs once, also when the call is replayed', async (t) => {
  let runs = 0;
  let release;
  const held = new Promise((r) => (release = r));
  const clock = { description: 'tells', run: async (args) => { runs++; await held; return { zone: args.zone }; } };
  const { server, socket } = await begun(t, { tools: { clock } });
  const call = { tool_call_id: 'call-1', name: 'clock', args: { zone: 'UTC' } };
  socket.say(frame('tool_call', 2, call));
  socket.end();

  const second = await server.next();
  await second.want({ type: 'client_tools_manifest', tools: [{ name: 'clock', description: 'tells' }] });
  second.resume(await second.want({ command: 'resume_chat' }), { last_seq: 2 });
  second.say(frame('tool_call', 0, { ...call, replayed: true })); // still runs: nothing happens
  await second.quiet();
  release();
  await second.want({ type: 'tool_result', tool_call_id: 'call-1', ok: true, result: { zone: 'UTC' } });
  second.end();
  const third = await server.next();
  await third.want({ type: 'client_tools_manifest' });
  third.resume(await third.want({ command: 'resume_chat' }), { last_seq: 2 });
  third.say(frame('tool_call', 0, { ...call, replayed: true }));
  await third.want({ type: 'tool_result', tool_call_id: 'call-1', ok: true }); // from memory
  third.say(frame('tool_call', 0, { ...call, replayed: true })); // carried already
  third.say(frame('request_closed', 3, { request_id: 'call-1', reason: 'answered' }));
  third.say(frame('tool_call', 0, { ...call, replayed: true }));
  await third.quiet();
  assert.equal(runs, 1);
});

test('B115 a closed request ends its tool, and nobody answers', async (t) => {
  let ended;
  const over = new Promise((r) => (ended = r));
  const wait = { run: (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => { ended(signal.reason); reject(signal.reason); })) };
  const { socket } = await begun(t, { tools: { wait } });
  socket.say(frame('tool_call', 2, { tool_call_id: 'c1', name: 'wait', args: {} }));
  socket.say(finished(3, 'stopped'));
  assert.match((await over).message, /turn_ended/);
  await socket.quiet();
});

test('B115 a tool that throws, or gives what is no JSON, answers with an error', async (t) => {
  const cycle = {};
  cycle.self = cycle;
  const tools = { bad: { run: () => { throw new Error('boom'); } }, loop: { run: () => cycle }, nothing: { run: () => {} } };
  const { socket } = await begun(t, { tools });
  const call = (seq, name) => frame('tool_call', seq, { tool_call_id: name, name });
  socket.say(call(2, 'bad'));
  await socket.want({ type: 'tool_result', tool_call_id: 'bad', ok: false, error: 'tool bad: boom' });
  socket.say(call(3, 'loop'));
  assert.match((await socket.want({ tool_call_id: 'loop', ok: false })).error, /circular/i);
  socket.say(call(4, 'nothing'));
  await socket.want({ tool_call_id: 'nothing', ok: true, result: null });
});

test('a result that is too large becomes an error, also when it is asked for again', async (t) => {
  const { server, socket } = await begun(t, { tools: { big: { run: () => 'x'.repeat(1000) } }, maxMessage: 500 });
  const call = { tool_call_id: 'c', name: 'big' };
  socket.say(frame('tool_call', 2, call));
  await socket.want({ tool_call_id: 'c', ok: false });
  socket.end();
  const next = await server.next();
  await next.want({ type: 'client_tools_manifest' });
  next.resume(await next.want({ command: 'resume_chat' }), { last_seq: 2 });
  next.say(frame('tool_call', 0, { ...call, replayed: true }));
  assert.match((await next.want({ tool_call_id: 'c', ok: false })).error, /maxMessage/);
});

test('tools come and go', async (t) => {
  const { client, socket } = await begun(t);
  const remove = client.addTool('late', { run: () => 'here' });
  await socket.want({ type: 'client_tools_manifest', tools: [{ name: 'late' }] });
  assert.throws(() => client.addTool('late', { run: () => 1 }), { code: 'invalid_option' });
  remove();
  assert.deepEqual((await socket.want({ type: 'client_tools_manifest' })).tools, []);
});

test('B116 a token is fetched for each connect, and travels outside the URL', async (t) => {
  let n = 0;
  const { server, client } = fake(t, { token: async () => `token-${++n}`, maxDelay: 1 });
  client.connect();
  for (let i = 1; i <= 3; i++) {
    const socket = await server.next();
    assert.deepEqual(socket.protocols, ['turnlog.v1', `bearer.token-${i}`]);
    assert.ok(!socket.url.includes('token'));
    socket.end(4001, 'token expired');
  }
});

test('B116 without a token option 4001 is final, and says what to do', async (t) => {
  const { server, client } = fake(t);
  client.connect();
  (await server.next()).end(4001);
  await until(() => client.state.phase === 'closed');
  assert.match(client.state.error.message, /token/);
});

test('a client that is refused for good fails what waits, and says why', async (t) => {
  const { server, client } = fake(t);
  client.connect();
  const socket = await server.next();
  const sent = client.thread('t1').send('x');
  socket.end(1008, 'flooding');
  await assert.rejects(sent, { code: 'closed', message: /flooding/ });
  await assert.rejects(client.thread('t1').send('y'), { code: 'closed' });
});

test('B116 tokens that are refused three times in a row are final', async (t) => {
  let n = 0;
  const { server, client } = fake(t, { token: () => `t${++n}`, maxDelay: 1 });
  server.refuse = () => 'Unexpected server response: 401';
  await assert.rejects(client.connect(), { code: 'unauthorized', message: /token option/ });
  assert.equal(n, 3);
});

test('a token that fails is asked for again', async (t) => {
  let n = 0;
  const { server, client } = fake(t, { token: async () => { if (++n < 3) throw new Error('offline'); return 't'; }, maxDelay: 1 });
  const got = record(client, 'state');
  client.connect();
  await server.next();
  assert.ok(got.state.some((s) => s.error?.message.includes('offline')));
});

test('reauth extends the connection before a JWT expires', async (t) => {
  const jwt = (seconds) => `h.${Buffer.from(JSON.stringify({ exp: Date.now() / 1000 + seconds })).toString('base64url')}.s`;
  let n = 0;
  const { server, client } = fake(t, { token: () => jwt(++n === 1 ? 60 : 3600), reauthBefore: 59_800 });
  client.connect();
  const socket = await server.next();
  const r = await until(() => socket.heard.find((m) => m.type === 'reauth'));
  assert.equal(r.token.split('.').length, 3);
  socket.say({ message: 'Reauthenticated', expires_at: new Date(Date.now() + 3600e3).toISOString(), request_id: r.request_id });
  await socket.quiet().catch(() => {});
  assert.equal(server.sockets.length, 1);
});

test('refusals reach the caller, and a drained node leaves the message to the next one', async (t) => {
  const { server, client } = fake(t, { maxDelay: 1 });
  client.connect();
  const socket = await server.next();
  const thread = client.thread('t1');
  const refused = thread.send('x');
  const r = await socket.want({ command: 'chat_message' });
  socket.say({ error: 'refused', code: 'busy', message: 'a turn is running', retryable: true, request_id: r.request_id });
  await assert.rejects(refused, (e) => e instanceof RefusedError && e.code === 'busy' && e.retryable);
  assert.equal(thread.snapshot.messages[0].state, 'failed');
  const kept = thread.send('y');
  const d = await socket.want({ command: 'chat_message' });
  socket.say({ error: 'refused', code: 'draining', retryable: true, request_id: d.request_id });
  await socket.quiet();
  socket.end(1012, 'draining');
  const next = await server.next();
  await next.want({ command: 'resume_chat' });
  next.accept(await next.want({ command: 'chat_message', data: { id: kept.id } }));
  await kept;
});

test('a stop that is sent again touches only the turn it was meant for', async (t) => {
  const { server, socket, thread } = await begun(t);
  thread.stop();
  const first = await socket.want({ command: 'stop' });
  assert.ok(!('turn_id' in first.data));
  socket.end();
  const next = await server.next();
  await next.want({ command: 'resume_chat' });
  await next.want({ command: 'stop', data: { thread_id: 't1', turn_id: 'turn-1' } });
});

test('close fails what waits, is safe twice, and nothing is left', async () => {
  const client = createClient('ws://x', { fetch: noFetch, transport: 'sse' });
  const sent = client.thread('t').send('x');
  await Promise.all([client.close(), client.close()]);
  await assert.rejects(sent, { code: 'closed' });
  await assert.rejects(client.thread('t').send('x'), { code: 'closed' });
  await assert.rejects(client.connect(), { code: 'closed' });
  assert.equal(client.state.phase, 'closed');
});

test('promises that nobody looks at are no unhandled rejections', async (t) => {
  const unhandled = [];
  const on = (reason) => unhandled.push(reason);
  process.on('unhandledRejection', on);
  t.after(() => process.off('unhandledRejection', on));
  const { server, client } = fake(t, { queueLimit: 1, token: async () => { throw new Error('no'); }, maxDelay: 1 });
  client.connect();
  client.thread('t').send('x');
  client.thread('t').send('y');
  client.thread('t').loadOlder();
  client.turns();
  await until(() => client.state.attempt > 2);
  await client.close();
  await new Promise((done) => setTimeout(done, 20));
  assert.deepEqual(unhandled, []);
  assert.equal(server.sockets.length, 0);
});

test('a listener that throws is reported and hurts nobody else', async (t) => {
  const errors = [];
  const { client, socket, thread } = await begun(t, { logger: { error: (...args) => errors.push(args.at(-1).message) } });
  client.on('frame', () => { throw new Error('listener'); });
  thread.subscribe(() => { throw new Error('subscriber'); });
  const got = record(client, 'text');
  socket.say(chunk(2, 'a'));
  assert.equal(got.text.length, 1);
  assert.deepEqual(errors, ['listener', 'subscriber']);
  assert.ok(contains(thread.snapshot.draft, { text: 'a' }));
});
