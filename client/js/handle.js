/**
 * A thread as users of the client see it: verbs, and a snapshot of what to show.
 * It keeps the state machine's state and the transcript; what the machine asks
 * for is done through the session.
 * @module
 */
import { busy, newThread, step } from './thread.js';
import * as transcript from './transcript.js';
import { ignorable } from './errors.js';
import { newId } from './ids.js';

/** @typedef {import('./thread.js').Input} Input */
/** @typedef {import('./thread.js').Frame} Frame */
/** @typedef {import('./session.js').Session} Session */

/**
 * What a thread looks like now. Immutable; a new object whenever something changed.
 * @typedef {object} Snapshot
 * @property {string} threadId
 * @property {number} lastSeq highest chat_seq seen
 * @property {string} epoch
 * @property {'idle' | 'sending' | 'queued' | 'running'} status
 * @property {boolean} syncing a resume is on its way
 * @property {string} turnId of the newest turn
 * @property {number} attempt
 * @property {string | null} outcome of the newest turn, null while it runs
 * @property {string | null} error
 * @property {string} onDisconnect the newest turn's policy, as far as known
 * @property {string} graceDeadline when the turn ends unless somebody watches, RFC 3339; '' when it does not
 * @property {readonly import('./transcript.js').Message[]} messages
 * @property {import('./transcript.js').Draft | null} draft
 * @property {readonly import('./transcript.js').Request[]} requests
 * @property {'none' | 'loading' | 'loaded' | 'failed'} history
 * @property {boolean} hasOlder
 */

/**
 * @typedef {object} SendOptions
 * @property {string} [id] idempotency key, kept by the server for 24 h; minted when absent
 * @property {string} [role]
 * @property {string} [agent]
 * @property {'supersede' | 'reject' | 'enqueue'} [onBusy]
 * @property {'cancel' | 'grace' | 'preserve'} [onDisconnect]
 * @property {Record<string, any>} [extra] further keys for the agent
 * @property {AbortSignal} [signal] withdraws the message if it was not written yet; later it only ends the wait
 */

/** @typedef {Promise<Record<string, any>> & {id: string}} Pending resolves with the acknowledgement */

export class Thread {
  /** @type {Set<() => void>} */
  #listeners = new Set();
  /** @type {Snapshot | null} */
  #snapshot = null;
  #holds = 0;
  #session;

  /**
   * @param {string} id
   * @param {Session} session
   */
  constructor(id, session) {
    this.id = id;
    this.#session = session;
    /** Frames of the thread are for us. @internal */
    this.following = false;
    /** @internal */
    this.machine = newThread(id);
    /** @internal */
    this.transcript = transcript.empty;
    /** @internal */
    this.policy = { onDisconnect: '', graceDeadline: '' };
    this.subscribe = this.subscribe.bind(this);
  }

  /** @returns {Snapshot} */
  get snapshot() {
    return (this.#snapshot ??= this.#look());
  }

  /** @returns {Snapshot} */
  #look() {
    const { machine: m, transcript: t } = this;
    const status = m.running ? 'running' : m.queued.length > 0 ? 'queued' : m.sending > 0 ? 'sending' : 'idle';
    return {
      threadId: this.id, lastSeq: m.cursor, epoch: m.epoch, status, syncing: m.syncing, turnId: m.turnId, attempt: t.attempt,
      outcome: m.running ? null : t.outcome, error: t.error, ...this.policy, messages: t.messages, draft: t.draft, requests: t.requests,
      history: t.history, hasOlder: t.before !== null,
    };
  }

  /**
   * Calls listener after every change. Bound: may be passed around.
   * @param {() => void} listener
   * @returns {() => void} unsubscribes
   */
  subscribe(listener) {
    const entry = () => listener();
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /**
   * Resumes the thread, and again at every reconnect, also while idle.
   * @param {{lastSeq?: number, epoch?: string, full?: boolean, onDisconnect?: string}} [options] lastSeq and
   *   epoch are a cursor of an earlier life; full asks for everything the server holds
   * @returns {() => void} lets go; the last one to let go unfollows the thread
   */
  open(options = {}) {
    this.#holds++;
    const asks = options.full || options.epoch || options.lastSeq || options.onDisconnect;
    if (asks || !this.machine.open) {
      this.#session.follow(this);
      this.input({ type: 'open', ...options, online: this.#session.online });
    }
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#holds--;
      // A component that is mounted again at once has not left: for the server that would end `cancel` turns.
      setTimeout(() => {
        if (this.#holds === 0) this.#session.leave(this);
      });
    };
  }

  /** Follows the thread from now on, without a replay. @returns {Promise<Record<string, any>>} */
  follow() {
    this.#holds++;
    return this.#session.command(this, 'follow', {});
  }

  /** Ends what open and follow began, however often. */
  unfollow() {
    this.#holds = 0;
    this.#session.leave(this);
  }

  /**
   * Submits a message and follows the thread. Offline it waits in the queue.
   * @param {any} content a string, or a non-empty list of content blocks
   * @param {SendOptions} [options]
   * @returns {Pending}
   */
  send(content, options = {}) {
    const { id = newId(), role, agent, onBusy, onDisconnect, extra, signal } = options;
    const data = { ...extra, id, content, ...given({ role, agent, on_busy: onBusy, on_disconnect: onDisconnect }) };
    return Object.assign(this.#session.command(this, 'chat_message', data, { signal }), { id });
  }

  /**
   * A message into the running turn; it becomes the next turn if that one ends first.
   * @param {any} content
   * @param {{id?: string, signal?: AbortSignal}} [options]
   * @returns {Pending}
   */
  steer(content, { id = newId(), signal } = {}) {
    return Object.assign(this.#session.command(this, 'steer', { content, id }, { signal }), { id });
  }

  /**
   * Ends whatever runs here and drops what is queued, or ends only one turn. Sent
   * again after a lost connection it touches only the turn it was meant for.
   * @param {{turnId?: string}} [options]
   */
  stop({ turnId } = {}) {
    const running = this.machine.turnId;
    const again = !turnId && running ? { turn_id: running } : undefined;
    return this.#session.command(this, 'stop', given({ turn_id: turnId }), { again });
  }

  /** @param {'cancel' | 'grace' | 'preserve'} policy @param {'turn' | 'thread'} [scope] */
  setPolicy(policy, scope) {
    return this.#session.command(this, 'set_policy', { on_disconnect: policy, ...given({ scope }) });
  }

  /** @param {string} mode `auto` also allows the open approvals */
  setPermissionMode(mode) {
    return this.#session.command(this, 'set_permission_mode', { permission_mode: mode });
  }

  /** One more page of history in front of messages. @param {{signal?: AbortSignal}} [options] */
  loadOlder(options = {}) {
    return ignorable(this.#session.deps.history?.older(this, options.signal) ?? Promise.resolve());
  }

  /**
   * Feeds the state machine and does what it asks for.
   * @internal
   * @param {Input} input
   */
  input(input) {
    const before = this.machine;
    const { state, effects } = step(before, input);
    this.machine = state;
    this.touch();
    if (input.type === 'header') this.#header(before, input.header);
    for (const effect of effects) this.#session.perform(this, effect);
  }

  /** @param {import('./thread.js').ThreadState} before @param {Frame} h */
  #header(before, h) {
    this.policy = { onDisconnect: h.on_disconnect ?? '', graceDeadline: h.grace_deadline ?? '' };
    const now = this.machine;
    const jump = h.status === 'unknown' || now.epoch !== before.epoch || now.cursor !== before.cursor;
    if (jump) this.show(transcript.jumped(this.transcript, !busy(now)));
    if (h.status === 'finished' && h.replay_incomplete) this.show({ ...this.transcript, outcome: h.outcome ?? '' });
  }

  /**
   * Applies the answer to a command.
   * @internal
   * @param {import('./outbox.js').Entry} entry @param {Record<string, any>} ack @param {Error | null} failure
   */
  settle({ command, message }, ack, failure) {
    if (command === 'chat_message') {
      this.input(failure ? { type: 'refused' } : { type: 'accepted', ack });
      const state = this.machine.queued.includes(ack.turn_id) ? 'queued' : 'done';
      this.show(transcript.answered(this.transcript, message.data.id, failure ? { state: 'failed', error: failure } : { state, turnId: ack.turn_id }));
    } else if (failure) {
      return;
    } else if (command === 'follow') {
      this.input({ type: 'followed', ack });
    } else if (command === 'set_policy') {
      this.policy = { ...this.policy, onDisconnect: ack.on_disconnect ?? this.policy.onDisconnect };
      this.touch();
    }
  }

  /** @internal @param {import('./transcript.js').Transcript} next */
  show(next) {
    if (next === this.transcript) return;
    this.transcript = next;
    this.touch();
  }

  /** Something changed. @internal */
  touch() {
    this.#snapshot = null;
    this.#session.changed(this);
  }

  /** Tells the listeners. @internal @param {(error: unknown) => void} failed */
  notify(failed) {
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (error) {
        failed(error);
      }
    }
  }
}

/** What is given of an object's values. @param {Record<string, any>} values */
function given(values) {
  return Object.fromEntries(Object.entries(values).filter(([, v]) => v !== undefined && v !== ''));
}
