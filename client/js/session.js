/**
 * The protocol, over one connection after another: what is sent when a
 * connection is there, where what arrives belongs, and what the threads' state
 * machines ask for. It knows no transport.
 * @module
 */
import { Commands } from './commands.js';
import { ConnectionError } from './errors.js';
import { Answers } from './answers.js';
import { Thread } from './handle.js';
import { deliver } from './deliver.js';
import * as transcript from './transcript.js';

/** @typedef {import('./thread.js').Frame} Frame */
/** @typedef {import('./thread.js').Effect} Effect */
/** @typedef {import('./outbox.js').Entry} Entry */

/** From resume_chat to its header, in ms. */
const RESUME_TIMEOUT = 30_000;

/** Threads that are not followed any more and not yet forgotten. */
const REMEMBERED_THREADS = 32;

/**
 * @typedef {object} SessionOptions
 * @property {number} queueLimit
 * @property {number} maxMessage
 * @property {number} messageLimit
 * @property {boolean} discover
 * @property {(threadId: string) => boolean} adopt
 */

/**
 * What the session leans on.
 * @typedef {object} Deps
 * @property {import('./emitter.js').Emitter} emitter
 * @property {import('./tools.js').Tools} tools
 * @property {import('./history.js').History | null} history
 * @property {import('./storage.js').Cursors | null} cursors
 * @property {(error: unknown) => void} failed hears what listeners throw
 */

export class Session {
  /** @type {Map<string, Thread>} */
  #threads = new Map();
  /** resume_chat without acknowledgement, by request id. @type {Map<string, {thread: Thread, since: number, header: Frame | null}>} */
  #resumes = new Map();
  /** chat_turn_active frames before the next list's acknowledgement. @type {Frame[]} */
  #listed = [];
  /** Threads whose listeners have to be told. @type {Set<Thread>} */
  #changed = new Set();
  /** Batches around us. */
  #depth = 0;

  /**
   * @param {SessionOptions} options
   * @param {Deps} deps
   */
  constructor(options, deps) {
    this.options = options;
    this.deps = deps;
    this.commands = new Commands(options);
    this.answers = new Answers(this);
  }

  get online() {
    return this.commands.online;
  }

  /** @param {string} id */
  thread(id) {
    let thread = this.#threads.get(id);
    if (!thread) this.#threads.set(id, (thread = new Thread(id, this)));
    return thread;
  }

  /** The thread if there is one. @param {string} [id] */
  known(id) {
    return id ? this.#threads.get(id) : undefined;
  }

  /**
   * A connection is there: tools first, then the resumes, then the list, then what waited.
   * @param {(message: Record<string, any>) => void} send
   */
  attach(send) {
    this.batch(() => {
      this.commands.attach(send);
      this.answers.attach(this.commands.waiting);
      this.#listed = [];
      for (const { command, tried, threadId } of this.commands.waiting) {
        if (command === 'chat_message' && tried) this.known(threadId)?.input({ type: 'retried' });
      }
      this.announceTools();
      for (const thread of this.#threads.values()) {
        thread.input({ type: 'connected' });
        if (thread.transcript.history === 'failed') this.#loadHistory(thread);
      }
      if (this.options.discover) send({ command: 'list_chat_turns' });
      this.commands.resend();
    });
  }

  detach() {
    this.batch(() => {
      this.commands.detach();
      this.#resumes.clear();
      for (const thread of this.#threads.values()) thread.input({ type: 'disconnected' });
    });
  }

  announceTools() {
    const manifest = this.deps.tools.manifest();
    if (manifest) this.commands.now(manifest);
  }

  /**
   * Takes the objects of one message. Throws when the connection has to end.
   * @param {Frame[]} objects
   */
  receive(objects) {
    this.batch(() => objects.forEach((o) => this.#receiveOne(o)));
  }

  /** @param {Frame} o */
  #receiveOne(o) {
    switch (o.type) {
      case undefined:
        return this.#acknowledged(o);
      case 'welcome':
      case 'pong':
        return;
      case 'ping':
        return this.commands.now({ type: 'pong' });
      case 'chat_resumed':
        return this.#header(o);
      case 'chat_turn_active':
        return this.#active(o);
    }
    const thread = this.known(o.thread_id);
    if (thread?.following) thread.input({ type: 'frame', frame: o });
    else if (!o.chat_seq) deliver(this, null, o, false);
    else this.deps.emitter.emit('dropped', o, 'unknown thread'); // not followed any more
  }

  /** @param {Frame} header */
  #header(header) {
    const thread = this.known(header.thread_id);
    if (!thread?.following) return; // the answer to a resume that nobody waits for any more
    for (const r of this.#resumes.values()) if (r.thread === thread) r.header ??= header;
    this.deps.emitter.emit('header', header);
    thread.input({ type: 'header', header });
  }

  /** A running turn that was listed. @param {Frame} turn */
  #active(turn) {
    this.#listed.push(turn);
    this.deps.emitter.emit('active', turn);
    if (!this.known(turn.thread_id)?.following && !this.options.adopt(turn.thread_id)) return;
    const thread = this.thread(turn.thread_id);
    thread.following = true;
    thread.input({ type: 'active', turnId: turn.turn_id });
  }

  /** @param {Record<string, any>} ack */
  #acknowledged(ack) {
    const resume = this.#resumes.get(ack.request_id);
    if (resume) {
      this.#resumes.delete(ack.request_id);
      return this.#resumed(resume, ack);
    }
    const ours = this.commands.acknowledged(ack, (entry, failure) => {
      if (entry.command === 'list_chat_turns') return { ...ack, turns: this.#listed.splice(0) };
      this.known(entry.threadId)?.settle(entry, ack, failure);
    });
    if (ours) return;
    if (ack.error) this.#error(ack.thread_id ?? '', ack);
    else if (ack.message === 'Chat turns listed') this.#listed = []; // of discover
  }

  /** @param {{thread: Thread, header: Frame | null}} resume @param {Record<string, any>} ack */
  #resumed({ thread, header }, ack) {
    if (!ack.error) {
      if (!header) return;
      const { status, replay_incomplete: incomplete } = header;
      this.deps.emitter.emit('resumed', { threadId: thread.id, status, replayed: ack.replay_count ?? 0, incomplete: Boolean(incomplete) });
      return;
    }
    // A new connection tries again, with backoff.
    if (ack.retryable) throw new ConnectionError('resume_refused', `a resume was refused for now: ${ack.code}`);
    thread.input({ type: 'resumeRefused' });
    this.#error(thread.id, ack);
  }

  /** @param {string} threadId @param {Record<string, any>} ack */
  #error(threadId, ack) {
    const message = typeof ack.message === 'string' ? ack.message : '';
    this.deps.emitter.emit('error', { threadId, message, code: ack.code ?? String(ack.error) });
  }

  /**
   * Does what a state machine asks for.
   * @param {Thread} thread @param {Effect} effect
   */
  perform(thread, effect) {
    const { emitter } = this.deps;
    switch (effect.do) {
      case 'deliver':
        return deliver(this, thread, effect.frame, effect.replayed);
      case 'drop':
        return emitter.emit('dropped', effect.frame, effect.reason);
      case 'busy':
        return emitter.emit('busy', { threadId: thread.id, busy: effect.busy });
      case 'reconcile':
        emitter.emit('reconcile', { threadId: thread.id, status: effect.status });
        return this.#loadHistory(thread);
      case 'resume': {
        const id = this.commands.nextId();
        this.#resumes.set(id, { thread, since: Date.now(), header: null });
        this.commands.now({ command: 'resume_chat', data: effect.data, request_id: id });
      }
    }
  }

  /**
   * Queues a command of a thread.
   * @param {Thread} thread @param {string} command @param {Record<string, any>} data
   * @param {{signal?: AbortSignal, again?: Record<string, any>}} [options]
   */
  command(thread, command, data, options = {}) {
    const says = command === 'chat_message';
    return this.commands.submit(command, data, {
      ...options, threadId: thread.id,
      queued: () => this.batch(() => {
        if (says || command === 'follow') this.follow(thread);
        if (!says) return;
        thread.input({ type: 'sent' });
        thread.show(transcript.written(thread.transcript, thread.id, data.id, data.content, data.role));
      }),
      withdrawn: () => this.batch(() => {
        if (!says) return;
        thread.input({ type: 'refused' });
        thread.show(transcript.withdrawn(thread.transcript, data.id));
      }),
    });
  }

  /** From now on frames of the thread are for us; a new one goes on where an earlier life of the page left it. @param {Thread} thread */
  follow(thread) {
    thread.following = true;
    this.#threads.set(thread.id, thread);
    if (thread.machine.epoch !== '') return;
    this.deps.cursors?.restore(thread);
    if (this.online && thread.transcript.history === 'failed') this.#loadHistory(thread);
  }

  /** Stops following; what is known of the thread is kept for a while. @param {Thread} thread */
  leave(thread) {
    if (!thread.following) return;
    thread.following = false;
    thread.input({ type: 'left' });
    if (this.online) void this.command(thread, 'unfollow', {});
    const left = [...this.#threads.values()].filter((t) => !t.following);
    for (const old of left.slice(0, -REMEMBERED_THREADS)) this.#threads.delete(old.id);
    this.#threads.delete(thread.id);
    this.#threads.set(thread.id, thread); // the youngest
  }

  /** Loads the newest page of the history. @param {Thread} thread */
  #loadHistory(thread) {
    this.deps.history?.reconcile(thread, this.options.messageLimit);
  }

  /** Fails a connection on which a resume is never answered. @param {number} now */
  check(now) {
    for (const r of this.#resumes.values()) {
      if (!r.header && now - r.since > RESUME_TIMEOUT) throw new ConnectionError('resume_timeout', 'a resume was not answered');
    }
  }

  /** @param {Error} why */
  close(why) {
    this.commands.close(why);
    this.answers.stop(why);
    this.deps.cursors?.close();
  }

  /** @param {Thread} thread */
  changed(thread) {
    this.#changed.add(thread);
    if (this.#depth === 0) this.#flush();
  }

  /** Runs f and tells the listeners of threads once. @param {() => void} f */
  batch(f) {
    this.#depth++;
    try {
      f();
    } finally {
      if (--this.#depth === 0) this.#flush();
    }
  }

  #flush() {
    const all = [...this.#changed];
    this.#changed.clear();
    for (const thread of all) {
      thread.notify(this.deps.failed);
      this.deps.cursors?.changed(thread);
    }
  }
}
