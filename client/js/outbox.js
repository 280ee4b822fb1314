/**
 * What must reach the server, in order, across connections.
 * @module
 */
import { QueueFullError } from './errors.js';

/**
 * A command or an answer on its way.
 * @typedef {object} Entry
 * @property {Record<string, any>} message the whole message
 * @property {Record<string, any>} [again] what to send instead once it was written
 * @property {string} command '' for answers
 * @property {string} [threadId]
 * @property {string} [requestId] of a command: what its acknowledgement echoes
 * @property {string} [answers] the request that an answer answers
 * @property {boolean} [tried] was written on some connection
 * @property {(ack: Record<string, any>) => void} [resolve]
 * @property {(error: Error) => void} [reject]
 */

export class Outbox {
  /** Not yet acknowledged (commands) or written (answers). @type {Entry[]} */
  #waiting = [];
  #limit;

  /** @param {number} limit entries at most */
  constructor(limit) {
    this.#limit = limit;
  }

  get waiting() {
    return this.#waiting;
  }

  /** @param {Entry} entry */
  add(entry) {
    if (this.#waiting.length >= this.#limit) throw new QueueFullError(this.#limit);
    this.#waiting.push(entry);
  }

  /**
   * Notes that an entry goes out now; answers are settled by that.
   * @param {Entry} entry
   * @returns {Record<string, any>} what to send
   */
  written(entry) {
    const message = entry.tried && entry.again ? entry.again : entry.message;
    entry.tried = true;
    if (!entry.requestId) this.remove(entry);
    return message;
  }

  /** False when it is not there any more. @param {Entry} entry */
  remove(entry) {
    const i = this.#waiting.indexOf(entry);
    if (i >= 0) this.#waiting.splice(i, 1);
    return i >= 0;
  }

  /** @param {unknown} requestId */
  find(requestId) {
    return requestId ? this.#waiting.find((e) => e.requestId === requestId) : undefined;
  }

  /** Fails everything that waits. @param {() => Error} why */
  fail(why) {
    for (const entry of this.#waiting.splice(0)) entry.reject?.(why());
  }
}
