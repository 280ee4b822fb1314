/**
 * turnlog-client: one user's connection to Turnlog, kept alive across sockets.
 * docs/clients.md is the guide.
 * @module
 */
import { Connection } from './connection.js';
import { oncePerDevice } from './device.js';
import { Dialer } from './dialer.js';
import { Emitter } from './emitter.js';
import { asError, ClosedError, ignorable } from './errors.js';
import { History } from './history.js';
import { endpoint, withDefaults } from './options.js';
import { watchPage } from './page.js';
import { Session } from './session.js';
import { Cursors } from './storage.js';
import { expiry, freshToken, Reauth } from './token.js';
import { Tools } from './tools.js';

export { ClosedError, ConnectionError, ProtocolError, QueueFullError, RefusedError, TooLargeError, TurnlogError, UnauthorizedError } from './errors.js';

/** @typedef {import('./options.js').Options} Options */
/** @typedef {import('./handle.js').Thread} Thread */
/** @typedef {import('./handle.js').Snapshot} Snapshot */
/** @typedef {import('./handle.js').SendOptions} SendOptions */
/** @typedef {import('./transcript.js').Message} Message */
/** @typedef {import('./transcript.js').Draft} Draft */
/** @typedef {import('./transcript.js').Request} Request */
/** @typedef {import('./thread.js').Frame} Frame */
/** @typedef {import('./connection.js').State} State */

/**
 * Makes a client; nothing happens until connect().
 * @param {string | string[]} url ws(s):// or http(s)://, relative to the page where there is one; of a list each is tried in turn
 * @param {Options} [options]
 */
export function createClient(url, options = {}) {
  return new Client(url, options);
}

export class Client {
  #options;
  #emitter;
  #history;
  #tools;
  #session;
  #dialer;
  #connection;
  #reauth;
  /** @type {Promise<void> | null} */
  #connected = null;
  #unwatch = () => {};
  #closing = new AbortController();

  /**
   * @param {string | string[]} url
   * @param {Options} [options]
   */
  constructor(url, options = {}) {
    const o = (this.#options = withDefaults(options));
    const failed = (/** @type {unknown} */ error) => o.logger?.error('turnlog-client: a listener failed', error);
    this.#emitter = new Emitter(failed);
    const once = o.deviceStorage && o.once === 'device' ? oncePerDevice(o.deviceStorage, globalThis.navigator?.locks) : undefined;
    this.#tools = new Tools(o.tools, once);
    this.#dialer = new Dialer([url].flat().map((u) => endpoint(u, o)), o, this.#tools);
    const { http } = this.#dialer;
    this.#history = http && o.history ? new History(http, this.#emitter) : null;
    const cursors = o.storage ? new Cursors(o.storage, o.storageKey) : null;
    this.#session = new Session(o, { emitter: this.#emitter, tools: this.#tools, history: this.#history, cursors, failed });
    this.#reauth = new Reauth(o.reauthBefore, () => void this.#renew());
    this.#connection = new Connection(o, {
      dial: (events, signal) => this.#dialer.dial(events, signal),
      attach: (transport) => {
        if (transport.kind === 'websocket') this.#reauth.arm(expiry(this.#dialer.token));
        this.#session.attach((message) => {
          this.#raw('out', message);
          transport.send(message);
        });
      },
      detach: () => {
        this.#reauth.stop();
        this.#session.detach();
      },
      receive: (objects) => this.#receive(objects),
      check: (now) => this.#session.check(now),
      report: (state) => {
        if (state.phase === 'closed') this.#session.close(new ClosedError(state.error));
        this.#emitter.emit('state', state);
      },
      renewable: o.token !== null,
      explain: (loss) => this.#dialer.explain(loss, this.#closing.signal),
    });
    this.#unwatch = watchPage({ wake: () => this.wake(), hide: () => cursors?.save() });
  }

  /**
   * Connects, and stays connected until close().
   * @returns {Promise<void>} of the first time online; rejects when the server refuses for good
   */
  connect() {
    return (this.#connected ??= ignorable(new Promise((/** @type {(v: void) => void} */ resolve, reject) => {
      const off = this.on('state', ({ phase, error }) => {
        if (phase !== 'online' && phase !== 'closed') return;
        off();
        if (phase === 'online') resolve();
        else reject(error ?? new ClosedError());
      });
      if (this.#closing.signal.aborted) reject(new ClosedError());
      else this.#connection.start();
    })));
  }

  /** Ends everything. What waits is rejected with ClosedError, tools are aborted. Safe twice. */
  async close() {
    this.#closing.abort(new ClosedError());
    this.#unwatch();
    this.#reauth.stop();
    this.#history?.close();
    await this.#connection.close();
    this.#emitter.clear();
  }

  /** @returns {State} */
  get state() {
    return this.#connection.state;
  }

  /**
   * Listens to an event.
   * @template {keyof import('./events.js').Events} E
   * @param {E} event
   * @param {(...args: import('./events.js').Events[E]) => void} listener
   * @param {{signal?: AbortSignal}} [options]
   * @returns {() => void} unsubscribes
   */
  on(event, listener, options) {
    return this.#emitter.on(event, listener, options);
  }

  /** The thread with this id; the same object for the same id. @param {string} id @returns {Thread} */
  thread(id) {
    if (!id) throw new TypeError('thread(id): the id must not be empty');
    return this.#session.thread(id);
  }

  /** The user's running turns. @returns {Promise<Frame[]>} chat_turn_active frames */
  turns() {
    return ignorable(this.#session.commands.submit('list_chat_turns', {}).then(({ turns }) => turns));
  }

  /** Answers a tool_approval_request. @param {string} requestId @param {'allow' | 'allow_for_chat' | 'deny'} decision */
  approve(requestId, decision) {
    this.#session.answers.give(requestId, { type: 'tool_approval_response', approval_id: requestId, decision });
  }

  /** Answers a plan_approval_request. @param {string} requestId @param {boolean} approve @param {string} [feedback] */
  approvePlan(requestId, approve, feedback) {
    const decision = approve ? 'approve' : 'reject';
    this.#session.answers.give(requestId, { type: 'plan_approval_response', approval_id: requestId, decision, ...(feedback && { feedback }) });
  }

  /** Answers a secret_request. @param {string} requestId @param {string} status */
  answerSecret(requestId, status) {
    this.#session.answers.give(requestId, { type: 'secret_request_response', approval_id: requestId, status });
  }

  /** Answers a tool_call that no tool of this client takes. @param {string} requestId @param {{result?: unknown, error?: string}} answer */
  answerTool(requestId, { result = null, error }) {
    const ok = error === undefined;
    this.#session.answers.give(requestId, { type: 'tool_result', tool_call_id: requestId, ok, result, ...(!ok && { error }) });
  }

  /**
   * Announces another tool.
   * @param {string} name
   * @param {import('./tools.js').Tool} tool
   * @returns {() => void} removes it
   */
  addTool(name, tool) {
    this.#tools.add(name, tool);
    this.#session.announceTools();
    return () => {
      this.#tools.remove(name, tool);
      this.#session.announceTools();
    };
  }

  /** The network or the app is back: ends a wait, or looks whether the connection lives. Pages do so by themselves. */
  wake() {
    this.#connection.wake();
  }

  /** Cuts the connection without a goodbye and stays away. @param {number} [ms] */
  drop(ms = 0) {
    this.#connection.drop(ms);
  }

  /** @param {any[]} objects */
  #receive(objects) {
    for (const o of objects) {
      this.#raw('in', o);
      if (o.type === 'welcome') this.#reauth.clock(o.server_time);
    }
    this.#session.receive(objects);
  }

  /** @param {'in' | 'out'} direction @param {Record<string, any>} message */
  #raw(direction, message) {
    if (this.#emitter.has('raw')) this.#emitter.emit('raw', { direction, message, at: Date.now() });
  }

  /** Extends the connection with a new token. */
  async #renew() {
    try {
      const token = await freshToken(this.#options.token, this.#closing.signal);
      const ack = await this.#session.commands.ask({ type: 'reauth', token });
      if (ack.error) throw new Error(ack.message ?? ack.error);
      this.#dialer.token = token;
      this.#reauth.arm(Date.parse(ack.expires_at ?? '') || 0);
    } catch (error) {
      // The server closes the connection at the expiry; then there is another one.
      this.#emitter.emit('error', { threadId: '', code: 'reauth', message: `reauth: ${asError(error).message}`, error });
    }
  }
}
