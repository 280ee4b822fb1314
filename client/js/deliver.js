/**
 * A frame that is new reaches listeners, the transcript and the tools.
 * @module
 */
import * as transcript from './transcript.js';

/** @typedef {import('./thread.js').Frame} Frame */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('./handle.js').Thread} Thread */

const REQUESTS = new Set(['tool_call', 'tool_approval_request', 'plan_approval_request', 'secret_request']);

/**
 * @param {Session} session
 * @param {Thread | null} thread null for frames that belong to none we know
 * @param {Frame} f
 * @param {boolean} replayed
 */
export function deliver(session, thread, f, replayed) {
  const { emitter } = session.deps;
  const threadId = f.thread_id ?? '';
  emitter.emit('frame', f, { replayed });
  if (thread) {
    if (f.type === 'turn_started' && f.on_disconnect) thread.policy = { onDisconnect: f.on_disconnect, graceDeadline: '' };
    thread.show(transcript.applyFrame(thread.transcript, f, thread.machine.epoch, session.options.messageLimit));
  }
  switch (f.type) {
    case 'chunk':
      if (typeof f.content === 'string' && f.content && (!f.content_type || f.content_type === 'text')) {
        emitter.emit('text', { threadId, turnId: f.turn_id, text: f.content, thinking: Boolean(f.thinking) });
      }
      break;
    case 'turn_started':
      emitter.emit('turn', { threadId, turnId: f.turn_id, attempt: f.attempt ?? 1, message: f.message });
      break;
    case 'message':
      emitter.emit('message', { threadId, message: f });
      break;
    case 'turn_finished':
      session.requests.endTurn(threadId);
      emitter.emit('finish', { threadId, turnId: f.turn_id, outcome: f.outcome, error: f.error, usage: f.usage });
      break;
    case 'error':
      emitter.emit('error', { threadId, message: f.message ?? '', code: f.code ?? f.error_type ?? '' });
      break;
    case 'request_closed':
      session.requests.end(f.request_id, f.reason);
      emitter.emit('requestClosed', { threadId, id: f.request_id, reason: f.reason });
      break;
    default:
      if (REQUESTS.has(f.type)) request(session, f);
  }
}

/**
 * Runs the tool of a request, repeats a known answer, or tells listeners.
 * @param {Session} session @param {Frame} f
 */
function request(session, f) {
  const id = f.type === 'tool_call' ? f.tool_call_id : f.approval_id;
  if (!id) return;
  const threadId = f.thread_id ?? '';
  const { request: known, fresh, repeat } = session.see(id, threadId);
  if (repeat) session.repeat(repeat);
  if (!fresh) return;
  const name = f.name ?? f.tool_name ?? '';
  const tool = f.type === 'tool_call' ? session.deps.tools.get(name) : undefined;
  if (!tool) {
    session.deps.emitter.emit('request', { threadId, id, type: f.type, name, args: f.args, frame: f });
    return;
  }
  const running = (known.running = new AbortController());
  void session.deps.tools.run(tool, { threadId, id, name, args: f.args }, running.signal).then((answer) => {
    if (running.signal.aborted || !answer) return; // nobody waits
    session.answerCall(id, answer);
  });
}
