/**
 * The protocol, over one connection after another: what is sent when a
 * connection is there, what an answer settles, and what the threads' state
 * machines ask for. It knows no transport.
 * @module
 */
import { ClosedError, ConnectionError, ignorable, RefusedError, TooLargeError } from './errors.js';
import { byteLength } from './ids.js';
import { Outbox } from './outbox.js';
import { Requests } from './requests.js';
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
  threads = new Map();
  requests = new Requests();
  #outbox;
  /** Sends on the present connection. @type {((message: Record<string, any>) => void) | null} */
  #send = null;
  /** Counts connections. */
  #connection = 0;
  #nextId = 0;
  /** resume_chat without acknowledgement, by request id. @type {Map<string, {thread: Thread, since: number, header: Frame | null}>} */
  #resumes = new Map();
  /** chat_turn_active frames before the next list's acknowledgement. @type {Frame[]} */
  #listed = [];
  /** Settles a reauth. @type {Map<string, (ack: Record<string, any>) => void>} */
  #asks = new Map();
  /** @type {Set<Thread>} */
  #changed = new Set();
  #receiving = 0;
  #closed = false;

  /**
   * @param {{queueLimit: number, maxMessage: number, messageLimit: number, discover: boolean, adopt: (threadId: string) => boolean}} options
   * @param {Deps} deps
   */
  constructor(options, deps) {
    this.options = options;
    this.deps = deps;
    this.#outbox = new Outbox(options.queueLimit);
  }

  get online() {
    return this.#send !== null;
  }

  /** @param {string} id */
  thread(id) {
    let thread = this.threads.get(id);
    if (!thread) this.threads.set(id, (thread = new Thread(id, this)));
    return thread;
  }

  /**
   * A connection is there: tools first, then the resumes, then the list, then what waited.
   * @param {(message: Record<string, any>) => void} send
   */
  attach(send) {
    this.#batch(() => {
      this.#send = send;
      this.#connection++;
      this.#listed = [];
      for (const entry of this.#outbox.waiting) {
        if (entry.answers) this.requests.carries(entry.answers, this.#connection);
        if (entry.command === 'chat_message' && entry.tried && entry.threadId) this.thread(entry.threadId).input({ type: 'retried' });
      }
      this.announceTools();
      for (const thread of this.threads.values()) {
        thread.input({ type: 'connected' });
        if (thread.transcript.history === 'failed') this.#loadHistory(thread);
      }
      if (this.options.discover) send({ command: 'list_chat_turns' });
      for (const entry of [...this.#outbox.waiting]) send(this.#outbox.written(entry));
    });
  }

  detach() {
    this.#batch(() => {
      this.#send = null;
      this.#resumes.clear();
      for (const ask of this.#asks.values()) ask({ error: 'lost', message: 'the connection was lost' });
      for (const thread of this.threads.values()) thread.input({ type: 'disconnected' });
    });
  }

  announceTools() {
    const manifest = this.deps.tools.manifest();
    if (manifest) this.#send?.(manifest);
  }

  /**
   * Takes the objects of one message. Throws when the connection has to end.
   * @param {Frame[]} objects
   */
  receive(objects) {
    this.#batch(() => objects.forEach((o) => this.#receiveOne(o)));
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
        return this.#send?.({ type: 'pong' });
      case 'chat_resumed':
        return this.#header(o);
      case 'chat_turn_active':
        return this.#active(o);
    }
    const thread = o.thread_id ? this.threads.get(o.thread_id) : undefined;
    if (thread?.following) thread.input({ type: 'frame', frame: o });
    else if (!o.chat_seq) deliver(this, null, o, false);
    else this.deps.emitter.emit('dropped', o, 'unknown thread'); // not followed any more
  }

  /** @param {Frame} header */
  #header(header) {
    const thread = this.threads.get(header.thread_id);
    if (!thread?.following) return; // the answer to a resume that nobody waits for any more
    for (const r of this.#resumes.values()) if (r.thread === thread) r.header ??= header;
    this.deps.emitter.emit('header', header);
    thread.input({ type: 'header', header });
  }

  /** A running turn that was listed. @param {Frame} turn */
  #active(turn) {
    this.#listed.push(turn);
    this.deps.emitter.emit('active', turn);
    if (!this.threads.get(turn.thread_id)?.following && !this.options.adopt(turn.thread_id)) return;
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
    const ask = this.#asks.get(ack.request_id);
    if (ask) return ask(ack);
    const entry = this.#outbox.find(ack.request_id);
    if (!entry) {
      if (ack.error) this.#error(ack.thread_id ?? '', ack);
      else if (ack.message === 'Chat turns listed') this.#listed = []; // of discover
      return;
    }
    // A node that goes down: the message stays queued, the next connection is another node.
    if (ack.error && ack.code === 'draining' && entry.command === 'chat_message') return;
    this.#outbox.remove(entry);
    if (entry.command === 'list_chat_turns') ack = { ...ack, turns: this.#listed.splice(0) };
    const failure = ack.error ? new RefusedError(entry.command, ack.code ?? String(ack.error), text(ack.message), Boolean(ack.retryable)) : null;
    this.#settle(entry, ack, failure);
    if (failure) entry.reject?.(failure);
    else entry.resolve?.(ack);
  }

  /** @param {{thread: Thread, header: Frame | null}} resume @param {Record<string, any>} ack */
  #resumed({ thread, header }, ack) {
    if (!ack.error) {
      if (header) {
        const { status, replay_incomplete: incomplete } = header;
        this.deps.emitter.emit('resumed', { threadId: thread.id, status, replayed: ack.replay_count ?? 0, incomplete: Boolean(incomplete) });
      }
      return;
    }
    if (ack.retryable) throw new ConnectionError('resume_refused', `a resume was refused for now: ${ack.code}`);
    thread.input({ type: 'resumeRefused' });
    this.#error(thread.id, ack);
  }

  /** Applies a command's answer to its thread. @param {Entry} entry @param {Record<string, any>} ack @param {Error | null} failure */
  #settle(entry, ack, failure) {
    const thread = entry.threadId ? this.threads.get(entry.threadId) : undefined;
    if (!thread) return;
    if (entry.command === 'chat_message') {
      const { id } = entry.message.data;
      thread.input(failure ? { type: 'refused' } : { type: 'accepted', ack });
      const waits = thread.machine.queued.includes(ack.turn_id);
      thread.show(transcript.answered(thread.transcript, id, failure ? { state: 'failed', error: failure } : { state: waits ? 'queued' : 'done', turnId: ack.turn_id }));
    } else if (entry.command === 'follow' && !failure) {
      thread.input({ type: 'followed', ack });
    } else if (entry.command === 'set_policy' && !failure) {
      thread.policy = { ...thread.policy, onDisconnect: ack.on_disconnect ?? thread.policy.onDisconnect };
      thread.touch();
    }
  }

  /** @param {string} threadId @param {Record<string, any>} ack */
  #error(threadId, ack) {
    this.deps.emitter.emit('error', { threadId, message: text(ack.message), code: ack.code ?? String(ack.error) });
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
        const id = this.#requestId();
        this.#resumes.set(id, { thread, since: Date.now(), header: null });
        this.#send?.({ command: 'resume_chat', data: effect.data, request_id: id });
      }
    }
  }

  /**
   * Queues a command; the promise is of its acknowledgement.
   * @param {Thread | null} thread
   * @param {string} command
   * @param {Record<string, any>} data
   * @param {{signal?: AbortSignal, again?: Record<string, any>}} [options] again: data of a second try
   * @returns {Promise<Record<string, any>>}
   */
  command(thread, command, data, { signal, again } = {}) {
    let settled = () => {};
    const promise = ignorable(new Promise((/** @type {(ack: Record<string, any>) => void} */ resolve, reject) => {
      signal?.throwIfAborted();
      const requestId = this.#requestId();
      const wire = (/** @type {Record<string, any>} */ d) => ({ command, data: thread ? { ...d, thread_id: thread.id } : d, request_id: requestId });
      /** @type {Entry} */
      const entry = { message: wire(data), command, requestId, threadId: thread?.id, resolve, reject, ...(again && { again: wire(again) }) };
      this.#add(entry, () => {
        if (thread && (command === 'chat_message' || command === 'follow')) this.follow(thread);
        if (command !== 'chat_message' || !thread) return;
        thread.input({ type: 'sent' });
        thread.show(transcript.written(thread.transcript, thread.id, data.id, data.content, data.role));
      });
      if (!signal) return;
      const abort = () => this.#withdraw(entry, thread, signal.reason);
      signal.addEventListener('abort', abort);
      settled = () => signal.removeEventListener('abort', abort);
    }));
    promise.then(settled, settled);
    return promise;
  }

  /** Extends this connection. @param {string} token @returns {Promise<Record<string, any>>} the server's answer */
  reauth(token) {
    const id = this.#requestId();
    return new Promise((/** @type {(ack: Record<string, any>) => void} */ resolve) => {
      if (!this.#send) return resolve({ error: 'lost', message: 'there is no connection' });
      this.#asks.set(id, (ack) => {
        this.#asks.delete(id);
        resolve(ack);
      });
      this.#send({ type: 'reauth', token, request_id: id });
    });
  }

  /** Takes back what was not written yet. @param {Entry} entry @param {Thread | null} thread @param {Error} why */
  #withdraw(entry, thread, why) {
    entry.reject?.(why);
    if (entry.tried || !this.#outbox.remove(entry) || entry.command !== 'chat_message' || !thread) return;
    this.#batch(() => {
      thread.input({ type: 'refused' });
      thread.show(transcript.withdrawn(thread.transcript, entry.message.data.id));
    });
  }

  /**
   * Queues an answer; it is settled once it is written, and repeated when the server asks again.
   * @param {string} requestId @param {Record<string, any>} message
   */
  answer(requestId, message) {
    const thread = this.threads.get(this.requests.get(requestId)?.threadId ?? '');
    const answer = thread ? { thread_id: thread.id, ...message } : message;
    this.requests.answered(requestId, answer, this.online ? this.#connection : 0);
    this.#add({ message: answer, command: '', answers: requestId }, () => {
      if (thread) thread.show(transcript.closeRequest(thread.transcript, requestId, 'answered'));
    });
  }

  /**
   * Answers a tool call; a result that is too large becomes an error, because the agent waits.
   * @param {string} id @param {{ok: boolean, result?: unknown, error?: string}} answer
   */
  answerCall(id, answer) {
    try {
      this.answer(id, { type: 'tool_result', tool_call_id: id, ...answer });
    } catch (error) {
      if (error instanceof TooLargeError) this.answerCall(id, { ok: false, result: null, error: error.message });
      else if (!(error instanceof ClosedError)) this.deps.failed(error); // full queue
    }
  }

  /** @param {string} id @param {string} threadId */
  see(id, threadId) {
    return this.requests.see(id, threadId, this.#connection);
  }

  /** Sends an answer again. @param {Record<string, any>} message */
  repeat(message) {
    this.#send?.(message);
  }

  /** @param {Entry} entry @param {() => void} added */
  #add(entry, added) {
    if (this.#closed) throw new ClosedError();
    const size = byteLength(JSON.stringify(entry.message));
    if (size > this.options.maxMessage) throw new TooLargeError(size, this.options.maxMessage);
    this.#outbox.add(entry);
    this.#batch(() => {
      added();
      this.#send?.(this.#outbox.written(entry));
    });
  }

  /** Stops following; what is known of the thread is kept for a while. @param {Thread} thread */
  leave(thread) {
    if (!thread.following) return;
    thread.following = false;
    thread.input({ type: 'left' });
    if (this.online && !this.#closed) void this.command(thread, 'unfollow', {});
    const left = [...this.threads.values()].filter((t) => !t.following);
    for (const old of left.slice(0, -REMEMBERED_THREADS)) this.threads.delete(old.id);
    this.threads.delete(thread.id);
    this.threads.set(thread.id, thread); // the youngest
  }

  /** Loads the newest page of the history. @param {Thread} thread */
  #loadHistory(thread) {
    this.deps.history?.reconcile(thread, this.options.messageLimit);
  }

  /** @param {Thread} thread @param {AbortSignal} [signal] */
  loadOlder(thread, signal) {
    return ignorable(this.deps.history?.older(thread, signal) ?? Promise.resolve());
  }

  /** From now on frames of the thread are for us; a new one goes on where an earlier life of the page left it. @param {Thread} thread */
  follow(thread) {
    thread.following = true;
    this.threads.set(thread.id, thread);
    if (thread.machine.epoch !== '') return;
    this.deps.cursors?.restore(thread);
    if (this.online && thread.transcript.history === 'failed') this.#loadHistory(thread);
  }

  /** Fails a connection on which a resume is never answered. @param {number} now */
  check(now) {
    for (const r of this.#resumes.values()) {
      if (!r.header && now - r.since > RESUME_TIMEOUT) throw new ConnectionError('resume_timeout', 'a resume was not answered');
    }
  }

  /** @param {Error} why */
  close(why) {
    this.#closed = true;
    this.#send = null;
    this.#outbox.fail(() => why);
    this.requests.stop(why);
    this.deps.cursors?.close();
  }

  /** @param {Thread} thread */
  changed(thread) {
    this.#changed.add(thread);
    if (this.#receiving === 0) this.#flush();
  }

  /** Runs f and tells the listeners of threads once. @param {() => void} f */
  #batch(f) {
    this.#receiving++;
    try {
      f();
    } finally {
      if (--this.#receiving === 0) this.#flush();
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

  #requestId() {
    return `q${++this.#nextId}`;
  }
}

/** @param {unknown} v */
const text = (v) => (typeof v === 'string' ? v : '');
