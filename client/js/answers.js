/**
 * Requests of the server, and what answers them: tools of the page, or people.
 * @module
 */
import { ClosedError, QueueFullError, TooLargeError } from './errors.js';
import { Requests } from './requests.js';
import * as transcript from './transcript.js';

/** @typedef {import('./thread.js').Frame} Frame */
/** @typedef {import('./session.js').Session} Session */

/** Types of frames that wait for an answer. */
export const REQUESTS = new Set(['tool_call', 'tool_approval_request', 'plan_approval_request', 'secret_request']);

export class Answers {
  #requests = new Requests();
  #session;
  /** Counts connections. */
  #connection = 0;

  /** @param {Session} session */
  constructor(session) {
    this.#session = session;
  }

  /** Another connection carries the answers that wait. @param {readonly import('./outbox.js').Entry[]} waiting */
  attach(waiting) {
    this.#connection++;
    for (const { answers } of waiting) if (answers) this.#requests.carries(answers, this.#connection);
  }

  /**
   * Takes a request: runs its tool, repeats a known answer, or tells listeners.
   * @param {Frame} f
   */
  requested(f) {
    const id = f.type === 'tool_call' ? f.tool_call_id : f.approval_id;
    if (!id) return;
    const threadId = f.thread_id ?? '';
    const { request, fresh, repeat } = this.#requests.see(id, threadId, this.#connection);
    if (repeat) this.#session.commands.now(repeat);
    if (!fresh) return;
    const { tools, emitter } = this.#session.deps;
    const name = f.name ?? f.tool_name ?? '';
    const tool = f.type === 'tool_call' ? tools.get(name) : undefined;
    if (!tool) {
      emitter.emit('request', { threadId, id, type: f.type, name, args: f.args, frame: f });
      return;
    }
    const running = (request.running = new AbortController());
    void tools.run(tool, { threadId, id, name, args: f.args }, running.signal).then((answer) => {
      if (!running.signal.aborted) this.#call(id, answer); // else nobody waits
    });
  }

  /** @param {Frame} f a request_closed */
  closed(f) {
    this.#requests.end(f.request_id, f.reason);
    this.#session.deps.emitter.emit('requestClosed', { threadId: f.thread_id ?? '', id: f.request_id, reason: f.reason });
  }

  /** Closes what a thread's ended turn left open. @param {string} threadId */
  endTurn(threadId) {
    this.#requests.endTurn(threadId);
  }

  /**
   * Queues an answer, and repeats it when the server asks again. Throws when it cannot be queued.
   * @param {string} requestId @param {Record<string, any>} message
   */
  give(requestId, message) {
    const { commands } = this.#session;
    const thread = this.#session.known(this.#requests.get(requestId)?.threadId);
    const answer = thread ? { thread_id: thread.id, ...message } : message;
    try {
      commands.answer(requestId, answer, () => {
        this.#requests.answered(requestId, answer, commands.online ? this.#connection : 0);
        thread?.show(transcript.closeRequest(thread.transcript, requestId, 'answered'));
      });
    } catch (error) {
      if (error instanceof QueueFullError) this.#requests.answered(requestId, answer, 0);
      throw error;
    }
  }

  /**
   * Answers a tool call; a result that is too large becomes an error, because the agent waits.
   * @param {string} id @param {import('./tools.js').Answer} answer
   */
  #call(id, answer) {
    try {
      this.give(id, { type: 'tool_result', tool_call_id: id, ...answer });
    } catch (error) {
      if (error instanceof TooLargeError && answer.ok) this.#call(id, { ok: false, result: null, error: error.message });
      else if (!(error instanceof ClosedError)) this.#session.deps.failed(error); // a full queue
    }
  }

  /** Stops every tool. @param {Error} why */
  stop(why) {
    this.#requests.stop(why);
  }
}
