/**
 * Commands and answers on their way to the server, over one connection after
 * another, and what the server says to them.
 * @module
 */
import { ClosedError, ignorable, reasonOf, RefusedError, throwIfAborted, TooLargeError } from './errors.js';
import { byteLength } from './ids.js';
import { Outbox } from './outbox.js';

/** @typedef {import('./outbox.js').Entry} Entry */
/** @typedef {Record<string, any>} Message */

/**
 * @typedef {object} CommandOptions
 * @property {string} [threadId]
 * @property {AbortSignal} [signal]
 * @property {Message} [again] the data of a second try
 * @property {() => void} [queued] the command is on its way
 * @property {() => void} [withdrawn] it was taken back before anybody saw it
 */

export class Commands {
  #outbox;
  #maxMessage;
  #nextId = 0;
  #closed = false;
  /** Sends on the present connection. @type {((message: Message) => void) | null} */
  #send = null;
  /** What is asked of the present connection only. @type {Map<string, (ack: Message) => void>} */
  #asks = new Map();

  /** @param {{queueLimit: number, maxMessage: number}} options */
  constructor({ queueLimit, maxMessage }) {
    this.#outbox = new Outbox(queueLimit);
    this.#maxMessage = maxMessage;
  }

  get online() {
    return this.#send !== null;
  }

  /** What has no acknowledgement yet. @returns {readonly Entry[]} */
  get waiting() {
    return this.#outbox.waiting;
  }

  nextId() {
    return `q${++this.#nextId}`;
  }

  /** @param {(message: Message) => void} send */
  attach(send) {
    this.#send = send;
  }

  /** Sends everything that waits. */
  resend() {
    for (const entry of [...this.#outbox.waiting]) this.now(this.#outbox.written(entry));
  }

  detach() {
    this.#send = null;
    for (const ask of this.#asks.values()) ask({ error: 'lost', message: 'the connection was lost' });
  }

  /** Sends on the present connection, or not at all. @param {Message} message */
  now(message) {
    this.#send?.(message);
  }

  /**
   * Queues a command.
   * @param {string} command
   * @param {Message} data
   * @param {CommandOptions} [options]
   * @returns {Promise<Message>} of its acknowledgement
   */
  submit(command, data, { threadId, signal, again, queued, withdrawn } = {}) {
    let settled = () => {};
    const promise = ignorable(new Promise((/** @type {(ack: Message) => void} */ resolve, reject) => {
      throwIfAborted(signal);
      const requestId = this.nextId();
      const wire = (/** @type {Message} */ d) => ({ command, data: threadId ? { ...d, thread_id: threadId } : d, request_id: requestId });
      /** @type {Entry} */
      const entry = { message: wire(data), command, requestId, threadId, resolve, reject, ...(again && { again: wire(again) }) };
      this.#add(entry, queued);
      if (!signal) return;
      const abort = () => {
        reject(reasonOf(signal));
        if (!entry.tried && this.#outbox.remove(entry)) withdrawn?.();
      };
      signal.addEventListener('abort', abort);
      settled = () => signal.removeEventListener('abort', abort);
    }));
    promise.then(settled, settled);
    return promise;
  }

  /** Queues an answer: settled once it is written. @param {string} answers @param {Message} message @param {() => void} [queued] */
  answer(answers, message, queued) {
    this.#add({ message, command: '', answers }, queued);
  }

  /** Asks something of the present connection. @param {Message} message @returns {Promise<Message>} the answer, with `error` when there is none */
  ask(message) {
    const id = this.nextId();
    return new Promise((/** @type {(ack: Message) => void} */ resolve) => {
      if (!this.#send) return resolve({ error: 'lost', message: 'there is no connection' });
      this.#asks.set(id, (ack) => {
        this.#asks.delete(id);
        resolve(ack);
      });
      this.#send({ ...message, request_id: id });
    });
  }

  /** @param {Entry} entry @param {() => void} [queued] */
  #add(entry, queued) {
    if (this.#closed) throw new ClosedError();
    const size = byteLength(JSON.stringify(entry.message));
    if (size > this.#maxMessage) throw new TooLargeError(size, this.#maxMessage);
    this.#outbox.add(entry);
    queued?.();
    if (this.#send) this.#send(this.#outbox.written(entry));
  }

  /**
   * Takes an acknowledgement.
   * @param {Message} ack
   * @param {(entry: Entry, failure: Error | null) => Message | void} settle applies it before the promise
   *   settles, and may replace it
   * @returns {boolean} whether it was for one of ours
   */
  acknowledged(ack, settle) {
    const ask = this.#asks.get(ack.request_id);
    if (ask) {
      ask(ack);
      return true;
    }
    const entry = this.#outbox.find(ack.request_id);
    if (!entry) return false;
    // A node that goes down: the message stays queued, the next connection is another node.
    if (ack.error && ack.code === 'draining' && entry.command === 'chat_message') return true;
    this.#outbox.remove(entry);
    const failure = ack.error ? refusal(entry.command, ack) : null;
    const settled = settle(entry, failure) ?? ack;
    if (failure) entry.reject?.(failure);
    else entry.resolve?.(settled);
    return true;
  }

  /** @param {Error} why */
  close(why) {
    this.#closed = true;
    this.#send = null;
    this.#outbox.fail(() => why);
  }
}

/** @param {string} command @param {Message} ack */
function refusal(command, ack) {
  const detail = typeof ack.message === 'string' ? ack.message : '';
  return new RefusedError(command, ack.code ?? String(ack.error), detail, Boolean(ack.retryable));
}
