/**
 * A frame that is new reaches listeners, the transcript and the tools.
 * @module
 */
import { REQUESTS } from './answers.js';
import * as transcript from './transcript.js';

/** @typedef {import('./thread.js').Frame} Frame */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('./handle.js').Thread} Thread */

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
      session.answers.endTurn(threadId);
      emitter.emit('finish', { threadId, turnId: f.turn_id, outcome: f.outcome, error: f.error, usage: f.usage });
      break;
    case 'error':
      emitter.emit('error', { threadId, message: f.message ?? '', code: f.code ?? f.error_type ?? '' });
      break;
    case 'request_closed':
      session.answers.closed(f);
      break;
    default:
      if (REQUESTS.has(f.type)) session.answers.requested(f);
  }
}
