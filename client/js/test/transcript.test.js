// What a person sees, from frames and history in any order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as transcript from '../transcript.js';
import { chunk, finished, frame, started } from './kit.js';

const play = (frames, t = transcript.empty, limit = 500) => frames.reduce((now, f) => transcript.applyFrame(now, f, 'e1', limit), t);
const said = (seq, content, more) => frame('message', seq, { role: 'assistant', content, ...more });
const stored = (seq, role, content, more) => ({ thread_id: 't1', turn_id: 'turn-1', chat_seq: seq, epoch: 'e1', role, content, ...more });
const view = (t) => t.messages.map((m) => [m.seq, m.content]);

test('a turn: message, draft, message', () => {
  const during = play([started(1), chunk(2, 'a'), chunk(3, 'thinks', { thinking: true }), chunk(4, 'b'), chunk(5, 'img', { content_type: 'image' })]);
  assert.deepEqual(during.draft, { turnId: 'turn-1', text: 'ab', thinking: 'thinks' });
  const after = play([said(6, 'ab'), finished(7)], during);
  assert.deepEqual(view(after), [[1, 'hi'], [6, 'ab']]);
  assert.deepEqual([after.draft, after.outcome], [null, 'completed']);
});

test('a message that was written here keeps its key and its place behind what came before', () => {
  let t = transcript.written(transcript.empty, 't1', 'm1', 'hi');
  t = transcript.written(t, 't1', 'm2', 'later');
  t = play([said(1, 'from another tab'), started(2, { message: { id: 'm1', role: 'user', content: 'hi' } })], t);
  assert.deepEqual(view(t), [[1, 'from another tab'], [2, 'hi'], [0, 'later']]);
  assert.deepEqual(t.messages.map((m) => [m.key.startsWith('local/'), m.state]), [[false, 'done'], [true, 'done'], [true, 'sending']]);
  t = transcript.answered(t, 'm2', { state: 'failed', error: new Error('busy') });
  assert.equal(t.messages[2].state, 'failed');
  assert.equal(transcript.answered(t, 'm1', { state: 'failed' }).messages[1].state, 'done', 'a numbered message has not failed');
});

test('another attempt of a turn does not repeat its message, and its draft goes on', () => {
  const t = play([started(1), chunk(2, 'a'), started(3, { attempt: 2 }), chunk(4, 'b')]);
  assert.deepEqual(view(t), [[1, 'hi']]);
  assert.deepEqual([t.draft.text, t.attempt], ['ab', 2]);
});

test('a superseded turn ends without touching its successor', () => {
  const t = play([started(1), chunk(2, 'a'), said(3, 'a', { partial: true }), finished(4, 'superseded'), started(5, { turn_id: 'turn-2' })]);
  assert.equal(t.outcome, null);
  assert.equal(t.messages[1].partial, true);
});

test('text that no message took over stays readable', () => {
  const t = play([started(1), chunk(2, 'a'), finished(3, 'failed', { error: 'agent' })]);
  assert.deepEqual(view(t), [[1, 'hi'], [3, 'a']]);
  assert.deepEqual([t.outcome, t.error], ['failed', 'agent']);
});

test('history in front of what is here, whichever came first', () => {
  const page = [stored(1, 'user', 'hi'), stored(5, 'assistant', 'old', { turn_id: 'turn-1' }), stored(7, 'user', 'hi', { turn_id: 'turn-2' })];
  const frames = [started(7, { turn_id: 'turn-2' }), chunk(8, 'x', { turn_id: 'turn-2' }), said(9, 'x', { turn_id: 'turn-2' })];
  const want = [[1, 'hi'], [5, 'old'], [7, 'hi'], [9, 'x']];
  assert.deepEqual(view(transcript.withHistory(play(frames), page, null, 'e1')), want);
  assert.deepEqual(view(play(frames, transcript.withHistory(transcript.empty, page, null, 'e1'))), want);
});

test('history replaces what was never stored, of another epoch, and a draft that lost its place', () => {
  let t = play([started(1), said(5, 'lost with its epoch'), chunk(6, 'half')]);
  t = transcript.jumped(t, false);
  assert.equal(t.draft.text, 'half', 'readable until the history is there');
  t = transcript.withHistory(t, [{ ...stored(1, 'user', 'fresh'), epoch: 'e2' }], null, 'e2');
  assert.deepEqual([view(t), t.draft], [[[1, 'fresh']], null]);
});

test('what was written here survives a load of the history, unless it is in there', () => {
  let t = transcript.written(transcript.empty, 't1', 'm1', 'a');
  t = transcript.written(t, 't1', 'm2', 'b');
  const page = [stored(3, 'user', 'a', { id: 'm1' })];
  t = transcript.withHistory(t, page, '3', 'e1');
  assert.deepEqual(view(t), [[3, 'a'], [0, 'b']]);
  assert.equal(t.messages[0].key, 'local/m1');
  assert.equal(t.before, '3');
});

test('what was written here is shown once, when the history brings it before its turn_started', () => {
  const local = transcript.written(transcript.empty, 't1', 'm1', 'hi');
  const loaded = transcript.withHistory(local, [stored(1, 'user', 'hi', { id: 'm1' })], null, 'e1');
  const t = play([started(1, { message: { id: 'm1', role: 'user', content: 'hi' } }), said(2, 'a'), finished(3)], loaded);
  assert.deepEqual(view(t), [[1, 'hi'], [2, 'a']]);
  assert.equal(t.messages[0].key, 'local/m1', 'it did not flicker');
});

test('another attempt that the history tells once is told once', () => {
  const t = transcript.withHistory(play([started(4, { attempt: 2 })]), [stored(1, 'user', 'hi')], null, 'e1');
  assert.deepEqual(view(t), [[1, 'hi']]);
});

test('older pages stay in front when a load of the newest reaches up to them', () => {
  let t = transcript.withHistory(transcript.empty, [stored(5, 'user', 'c'), stored(6, 'assistant', 'd')], '5', 'e1');
  t = transcript.withOlder(t, [stored(1, 'user', 'a'), stored(2, 'assistant', 'b')], null, 'e1');
  const [first] = t.messages;
  t = transcript.withHistory(t, [stored(5, 'user', 'c'), stored(6, 'assistant', 'd'), stored(9, 'user', 'e')], '5', 'e1');
  assert.deepEqual(view(t).map(([seq]) => seq), [1, 2, 5, 6, 9]);
  assert.equal(t.messages[0], first);
  assert.equal(t.before, null);
  t = transcript.withHistory(t, [stored(20, 'user', 'far')], '20', 'e1');
  assert.deepEqual(view(t).map(([seq]) => seq), [20], 'a hole in between: older ones are loaded again');
});

test('messages are bounded, and what was dropped can be loaded again', () => {
  const t = play(Array.from({ length: 10 }, (_, i) => said(i + 1, `${i}`)), transcript.empty, 4);
  assert.deepEqual(view(t).map(([seq]) => seq), [7, 8, 9, 10]);
  assert.equal(t.before, '7');
});

test('requests: open, elsewhere, answered, closed with the turn', () => {
  const call = { tool_call_id: 'c', name: 'clock', args: { a: 1 } };
  let t = play([started(1), frame('request_open', 2, { request_id: 'c', kind: 'tool_call', name: 'clock' })]);
  assert.deepEqual([t.requests[0].state, t.requests[0].type], ['elsewhere', 'tool_call']);
  t = play([frame('tool_call', 0, call), frame('tool_approval_request', 3, { approval_id: 'p', tool_name: 'rm' })], t);
  assert.deepEqual(t.requests.map((r) => [r.id, r.state, r.name]), [['c', 'open', 'clock'], ['p', 'open', 'rm']]);
  t = play([frame('request_closed', 4, { request_id: 'c', reason: 'answered' })], t);
  t = play([frame('tool_call', 0, call)], t);
  assert.equal(t.requests[0].state, 'answered', 'a late replay opens nothing');
  t = play([finished(5)], t);
  assert.deepEqual(t.requests.map((r) => [r.state, r.reason]), [['answered', 'answered'], ['closed', 'turn_ended']]);
  assert.deepEqual(play([started(6, { turn_id: 'turn-2' })], t).requests, []);
});

test('what did not change is the same object', () => {
  const t = play([started(1), chunk(2, 'a')]);
  const next = play([chunk(3, 'b'), frame('own_type', 4)], t);
  assert.equal(next.messages, t.messages);
  assert.equal(next.requests, t.requests);
  assert.equal(play([frame('own_type', 5)], next), next);
});
