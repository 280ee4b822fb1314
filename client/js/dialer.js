/**
 * Which way a connection is made: a WebSocket, or event streams where those are
 * blocked; and why none could be made.
 * @module
 */
import { throwIfAborted } from './errors.js';
import { Http, HttpError } from './http.js';
import { lossOfStatus, openSocket } from './socket.js';
import { openStreams } from './sse.js';
import { freshToken } from './token.js';

/** @typedef {import('./backoff.js').Loss} Loss */
/** @typedef {import('./socket.js').Events} Events */
/** @typedef {import('./socket.js').Transport} Transport */

/** WebSockets in a row that failed, after which HTTP is asked why. */
const BLOCKED_AFTER = 2;
/** For that question, in ms. */
const EXPLAIN_TIMEOUT = 5000;

/**
 * @typedef {object} DialOptions
 * @property {import('./token.js').TokenSource | null} token
 * @property {'auto' | 'websocket' | 'sse'} transport
 * @property {typeof WebSocket | undefined} WebSocket
 * @property {typeof fetch | undefined} fetch
 * @property {import('./socket.js').Codec | null} codec
 * @property {string} user
 */

export class Dialer {
  /** The present token, '' for none. */
  token = '';
  /** Null where there is no fetch. @type {Http | null} */
  http;
  #endpoints;
  #at = 0;
  #options;
  #tools;
  /** WebSockets that failed since one worked. */
  #failed = 0;
  /** The next attempt uses event streams. */
  #streams = false;

  /**
   * @param {{socket: string, http: string}[]} endpoints each is tried in turn
   * @param {DialOptions} options
   * @param {import('./tools.js').Tools} tools
   */
  constructor(endpoints, options, tools) {
    this.#endpoints = endpoints;
    this.#options = options;
    this.#tools = tools;
    this.http = options.fetch ? new Http(options.fetch, () => this.#endpoint.http, options.user, () => this.token) : null;
  }

  get #endpoint() {
    return this.#endpoints[this.#at % this.#endpoints.length];
  }

  /**
   * Begins to make a connection, with a fresh token.
   * @param {Events} events
   * @param {AbortSignal} signal
   * @returns {Promise<Transport>}
   */
  async dial(events, signal) {
    const { WebSocket, codec, token, transport } = this.#options;
    this.token = await freshToken(token, signal);
    throwIfAborted(signal);
    if (!WebSocket || transport === 'sse' || this.#streams) return openStreams(/** @type {Http} */ (this.http), this.#tools, events);
    return openSocket(WebSocket, this.#endpoint.socket, this.token, codec, events);
  }

  /**
   * Finds out more about a loss, and decides how the next connection is made.
   * Browsers do not say what a WebSocket's handshake was answered: HTTP does.
   * Where it works and WebSockets fail again and again, they are blocked.
   * @param {Loss} loss
   * @param {AbortSignal} closing
   * @returns {Promise<Loss>}
   */
  async explain(loss, closing) {
    const streamed = this.#streams;
    this.#streams = false; // WebSockets are tried again, once
    if (!loss.handshake) {
      this.#failed = streamed ? BLOCKED_AFTER - 1 : 0;
      return loss;
    }
    this.#at++;
    if (streamed || loss.token || loss.later || ++this.#failed < BLOCKED_AFTER || !this.http) return loss;
    const timeout = new AbortController();
    const stop = () => timeout.abort();
    const timer = setTimeout(stop, EXPLAIN_TIMEOUT);
    closing.addEventListener('abort', stop);
    try {
      await this.http.json('/v1/turns', { signal: timeout.signal });
      this.#streams = this.#options.transport === 'auto';
      return loss;
    } catch (error) {
      return error instanceof HttpError ? { ...lossOfStatus(error.status, error.retryAfter, error.message), handshake: true } : loss;
    } finally {
      clearTimeout(timer);
      closing.removeEventListener('abort', stop);
    }
  }
}
