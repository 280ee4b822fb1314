/**
 * Keeps one connection after another:
 *
 *            connect()                 opened, first message
 *   idle ------------> connecting -----------------------> online
 *                       ^  | failed                          | lost, silent, closed
 *            delay over |  v                                 |
 *       online, visible |  |                                 |
 *                      waiting <-----------------------------+
 *                       |
 *                       +--> closed (close(), or a refusal that retrying cannot cure)
 *
 * @module
 */
import { Backoff, STABLE_AFTER } from './backoff.js';
import { asError, ClosedError, ConnectionError, UnauthorizedError } from './errors.js';

/** @typedef {import('./backoff.js').Loss} Loss */
/** @typedef {import('./socket.js').Transport} Transport */
/** @typedef {import('./socket.js').Events} Events */

/** Fresh tokens in a row that may be refused. */
const MAX_REFUSED_TOKENS = 3;
/** How long a connection in doubt has to say something, in ms. */
const PROBE = 5000;

/**
 * @typedef {object} State
 * @property {'idle' | 'connecting' | 'online' | 'waiting' | 'closed'} phase
 * @property {'websocket' | 'sse' | ''} transport while online
 * @property {string} node that answers, while online
 * @property {number} attempt 1-based since the last healthy connection
 * @property {number} delay ms until the next attempt, while waiting
 * @property {Error | null} error why it waits or is closed
 */

/**
 * @typedef {object} Hooks
 * @property {(events: Events, signal: AbortSignal) => Promise<Transport>} dial
 * @property {(transport: Transport) => void} attach a connection is open
 * @property {() => void} detach it is gone
 * @property {(objects: any[]) => void} receive throws when the connection has to end
 * @property {(now: number) => void} check now and then; throws when the connection has to end
 * @property {(state: State) => void} report
 * @property {boolean} renewable whether another token can be had
 * @property {(loss: Loss, transport: Transport | null) => Promise<Loss>} explain finds out more about a loss
 */

export class Connection {
  /** @type {State} */
  state = { phase: 'idle', transport: '', node: '', attempt: 0, delay: 0, error: null };
  /** @type {Transport | null} */
  #transport = null;
  /** Ends the present connection. @type {((loss: Loss) => void) | null} */
  #lose = null;
  /** Ends a wait. @type {(() => void) | null} */
  #wake = null;
  #closing = new AbortController();
  #lastRead = 0;
  #lastBeat = 0;
  /** Runs while the connection is in doubt. @type {ReturnType<typeof setTimeout> | undefined} */
  #probing;
  #hold = 0;
  /** @type {Promise<void>} */
  #running = Promise.resolve();

  /**
   * @param {{silence: number, dialTimeout: number, maxDelay: number, random?: () => number}} options
   * @param {Hooks} hooks
   */
  constructor(options, hooks) {
    this.options = options;
    this.hooks = hooks;
  }

  start() {
    this.#running = this.#run().catch((error) => this.#report({ phase: 'closed', error: asError(error) }));
  }

  /** @param {Record<string, any>} message */
  send(message) {
    this.#transport?.send(message);
  }

  /** Ends everything and waits for it. */
  async close() {
    this.#closing.abort(new ClosedError());
    this.#lose?.({ error: new ClosedError() });
    this.#wake?.();
    await this.#running;
    if (this.state.phase !== 'closed') this.#report({ phase: 'closed', error: null });
  }

  /** The network or the page is back: ends a wait, or looks whether the connection lives. */
  wake() {
    if (this.state.phase === 'waiting' && Date.now() >= this.#hold) this.#wake?.();
    else if (this.state.phase === 'online') this.#probe();
  }

  /** Cuts the connection and stays away for at least so long. @param {number} ms */
  drop(ms) {
    this.#hold = Date.now() + ms;
    this.#lose?.({ error: new ConnectionError('dropped', 'the connection was cut by drop()') });
  }

  #probe() {
    if (this.#probing) return;
    this.#probing = setTimeout(() => this.#lose?.(silent('the connection does not answer')), Math.min(PROBE, this.options.silence / 2));
    this.send({ type: 'ping' });
  }

  /** It said something, or is over. */
  #heard() {
    this.#lastRead = Date.now();
    clearTimeout(this.#probing);
    this.#probing = undefined;
  }

  async #run() {
    const { hooks, options } = this;
    const backoff = new Backoff(options.maxDelay, options.random);
    let refused = 0;
    while (!this.#closing.signal.aborted) {
      this.#report({ phase: 'connecting', attempt: backoff.failures + 1, error: this.state.error });
      const { lived, loss: first } = await this.#connect();
      if (this.#closing.signal.aborted) break;
      const loss = first.fatal ? first : await hooks.explain(first, null);
      if (lived >= STABLE_AFTER) backoff.healthy();
      if (lived > 0) refused = 0; // an expired token was good once
      else if (loss.token) refused++;
      if (loss.fatal || (loss.token && (!hooks.renewable || refused >= MAX_REFUSED_TOKENS))) {
        this.#report({ phase: 'closed', error: loss.token && !(loss.error instanceof UnauthorizedError) ? new UnauthorizedError(loss.error.message, loss.error) : loss.error });
        return;
      }
      const delay = Math.max(backoff.next(loss), this.#hold - Date.now(), 0);
      this.#report({ phase: 'waiting', delay, error: loss.error, attempt: backoff.failures });
      await this.#sleep(delay);
    }
  }

  /** One connection, until it is lost. @returns {Promise<{lived: number, loss: Loss}>} */
  async #connect() {
    const { hooks, options } = this;
    const dialing = new AbortController();
    let openedAt = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    /** @type {ReturnType<typeof setInterval> | undefined} */
    let beat;
    /** @type {Transport | null} */
    let transport = null;
    /** @type {Loss} */
    const loss = await new Promise((resolve) => {
      this.#lose = resolve;
      timer = setTimeout(() => resolve({ handshake: true, error: new ConnectionError('timeout', `no connection within ${options.dialTimeout} ms`) }), options.dialTimeout);
      const online = (/** @type {any} */ first) => {
        clearTimeout(timer);
        this.#report({ phase: 'online', transport: transport?.kind ?? '', node: first.type === 'welcome' ? first.node ?? '' : '', attempt: this.state.attempt, error: null });
      };
      /** @type {Events} */
      const events = {
        closed: resolve,
        opened: () => {
          this.#heard();
          openedAt = this.#lastBeat = this.#lastRead;
          this.#transport = transport;
          try {
            hooks.attach(/** @type {Transport} */ (transport));
          } catch (error) {
            resolve({ error: asError(error) });
          }
          beat = setInterval(() => this.#beat(resolve), Math.max(options.silence / 4, 1));
        },
        received: (objects) => {
          this.#heard();
          if (this.state.phase !== 'online' && objects.length > 0) online(objects[0]);
          else for (const o of objects) if (o.type === 'welcome' && o.node !== this.state.node) this.#report({ ...this.state, node: o.node });
          hooks.receive(objects);
        },
      };
      hooks.dial(events, dialing.signal).then(
        (t) => {
          transport = t;
          if (dialing.signal.aborted) t.cut();
        },
        (error) => resolve(error?.loss ?? { handshake: true, error: asError(error) }),
      );
    });
    this.#lose = null;
    clearTimeout(timer);
    clearInterval(beat);
    this.#heard();
    dialing.abort();
    const last = /** @type {Transport | null} */ (transport);
    if (this.#closing.signal.aborted) last?.close();
    else last?.cut();
    if (this.#transport) {
      this.#transport = null;
      hooks.detach();
    }
    return { lived: openedAt ? Math.max(Date.now() - openedAt, 1) : 0, loss };
  }

  /** @param {(loss: Loss) => void} lose */
  #beat(lose) {
    const now = Date.now();
    const { silence } = this.options;
    const quiet = now - this.#lastRead;
    const slept = now - this.#lastBeat > silence / 2; // this page did, not the server
    this.#lastBeat = now;
    if (slept) this.#probe();
    else if (quiet >= silence) return lose(silent(`the server said nothing for ${quiet} ms`));
    else if (quiet >= silence / 2) this.send({ type: 'ping' });
    try {
      this.hooks.check(now);
    } catch (error) {
      lose({ error: asError(error) });
    }
  }

  /** @param {number} ms */
  async #sleep(ms) {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    await new Promise((resolve) => {
      this.#wake = () => resolve(undefined);
      timer = setTimeout(resolve, ms);
    });
    this.#wake = null;
    clearTimeout(timer);
  }

  /** @param {Partial<State>} state */
  #report(state) {
    this.state = { phase: 'idle', transport: '', node: '', attempt: 0, delay: 0, error: null, ...state };
    this.hooks.report(this.state);
  }
}

/** @param {string} why @returns {Loss} */
const silent = (why) => ({ error: new ConnectionError('silent', why) });
