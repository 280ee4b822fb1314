/**
 * Messages of a thread over HTTP, for when frames alone do not tell.
 * @module
 */
import { asError } from './errors.js';
import { HttpError, threadPath } from './http.js';
import * as transcript from './transcript.js';

/** @typedef {import('./handle.js').Thread} Thread */

const PAGE = 50;
const TRIES = 4;

export class History {
  /** The load that counts, by thread. @type {WeakMap<Thread, AbortController>} */
  #loads = new WeakMap();
  #http;
  #emitter;
  #closed = new AbortController();

  /** @param {import('./http.js').Http} http @param {import('./emitter.js').Emitter} emitter */
  constructor(http, emitter) {
    this.#http = http;
    this.#emitter = emitter;
  }

  /** Loads the newest page; a later call replaces an earlier one. @param {Thread} thread @param {number} limit messages kept */
  reconcile(thread, limit) {
    this.#loads.get(thread)?.abort();
    const load = new AbortController();
    this.#loads.set(thread, load);
    const over = () => load.signal.aborted || this.#closed.signal.aborted;
    thread.show({ ...thread.transcript, history: 'loading' });
    void this.#retry(() => this.#page(thread, Math.min(PAGE, limit), null, load.signal), over).then(
      (page) => {
        if (page && !over()) thread.show(transcript.withHistory(thread.transcript, page.messages, page.next, thread.machine.epoch));
      },
      (error) => {
        if (over()) return;
        thread.show({ ...thread.transcript, history: 'failed' });
        this.#emitter.emit('error', { threadId: thread.id, code: error.code ?? 'history', message: `history: ${error.message}`, error });
      },
    );
  }

  /** Puts an older page in front. @param {Thread} thread @param {AbortSignal} [signal] */
  async older(thread, signal) {
    const { before } = thread.transcript;
    if (before === null) return;
    const page = await this.#page(thread, PAGE, before, signal);
    if (thread.transcript.before !== before) return; // somebody else was faster
    thread.show(transcript.withOlder(thread.transcript, page.messages, page.next, thread.machine.epoch));
  }

  close() {
    this.#closed.abort();
  }

  /**
   * @param {Thread} thread @param {number} limit @param {string | null} before @param {AbortSignal} [signal]
   * @returns {Promise<{messages: Record<string, any>[], next: string | null}>}
   */
  async #page(thread, limit, before, signal) {
    const query = `limit=${limit}${before === null ? '' : `&before=${encodeURIComponent(before)}`}`;
    try {
      return await this.#http.json(`${threadPath(thread.id)}/messages?${query}`, { signal });
    } catch (error) {
      if (error instanceof HttpError && error.status === 404) return { messages: [], next: null }; // never ran, or deleted
      throw error;
    }
  }

  /**
   * @template T
   * @param {() => Promise<T>} load @param {() => boolean} over
   * @returns {Promise<T | null>}
   */
  async #retry(load, over) {
    for (let i = 1; ; i++) {
      try {
        return await load();
      } catch (e) {
        const error = asError(e);
        const hopeless = error instanceof HttpError && error.status < 500 && error.status !== 429;
        if (over()) return null;
        if (hopeless || i >= TRIES) throw error;
        await new Promise((done) => setTimeout(done, 250 * 2 ** i));
        if (over()) return null;
      }
    }
  }
}
