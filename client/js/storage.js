/**
 * Where threads were, kept in sessionStorage (or something like it), so that a
 * reload goes on from there. Cursor and transcript are one entry: what is shown
 * and what is asked for cannot disagree.
 * @module
 */
import * as transcript from './transcript.js';

/** @typedef {import('./handle.js').Thread} Thread */
/** @typedef {import('./transcript.js').Message} Message */
/** @typedef {Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>} Store */

const VERSION = 1;
/** Characters of an entry at most. */
const LIMIT = 512 * 1024;
/** Between a change and its entry, in ms; a page that goes away saves at once. */
const DELAY = 500;

export class Cursors {
  /** @type {Map<string, Thread>} */
  #dirty = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #store;
  #prefix;

  /** @param {Store} store @param {string} name of this server and user */
  constructor(store, name) {
    this.#store = store;
    this.#prefix = `turnlog:${name}:`;
  }

  /** @param {Thread} thread */
  changed(thread) {
    if (!thread.following) return;
    this.#dirty.set(thread.id, thread);
    this.#timer ??= setTimeout(() => this.save(), DELAY);
  }

  /** Writes what has changed. */
  save() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const thread of this.#dirty.values()) this.#write(thread);
    this.#dirty.clear();
  }

  /** @param {Thread} thread */
  #write(thread) {
    const { id, machine: m } = thread;
    if (!m.epoch || !m.positioned) return;
    let messages = thread.transcript.messages.filter((message) => message.seq);
    let { before } = thread.transcript;
    let entry = entryOf(thread, messages, before);
    while (entry.length > LIMIT && messages.length > 1) { // the older half can be loaded again
      messages = messages.slice(Math.ceil(messages.length / 2));
      before = String(messages[0].seq);
      entry = entryOf(thread, messages, before);
    }
    try {
      if (entry.length > LIMIT) this.#store.removeItem(this.#prefix + id);
      else this.#store.setItem(this.#prefix + id, entry);
    } catch {
      try {
        this.#store.removeItem(this.#prefix + id); // full; an old entry would cost more than none
      } catch {
        // forbidden altogether
      }
    }
  }

  /** @param {Thread} thread */
  restore(thread) {
    try {
      const entry = JSON.parse(this.#store.getItem(this.#prefix + thread.id) ?? 'null');
      if (entry?.v !== VERSION || !Number.isSafeInteger(entry.machine?.cursor) || !Array.isArray(entry.transcript?.messages)) return;
      thread.machine = { ...thread.machine, ...entry.machine, positioned: true };
      const kept = entry.transcript.messages.map((/** @type {Message} */ message) => ({ ...message, content: message.frame.content ?? '' }));
      thread.transcript = { ...transcript.empty, ...entry.transcript, messages: [...kept, ...thread.transcript.messages] };
      if (thread.transcript.history === 'loading') thread.transcript = { ...thread.transcript, history: 'failed' };
      thread.policy = entry.policy ?? thread.policy;
      thread.touch();
    } catch {
      // unreadable: begin afresh
    }
  }

  close() {
    this.save();
  }
}

/** @param {Thread} thread @param {Message[]} messages @param {string | null} before */
function entryOf({ machine, transcript: t, policy }, messages, before) {
  const { epoch, cursor, running, turnId, turns } = machine;
  const kept = messages.map((message) => ({ ...message, content: undefined })); // the frame has it
  return JSON.stringify({ v: VERSION, machine: { epoch, cursor, running, turnId, turns }, transcript: { ...t, messages: kept, before }, policy });
}
