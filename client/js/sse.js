/**
 * A connection over plain HTTP, for networks that let no WebSocket through: an
 * event stream per followed thread, and calls for the verbs. It takes and gives
 * the messages of the WebSocket, so that nobody above notices; it is lost when
 * any of its streams is.
 * @module
 */
import { asError, ConnectionError, UnauthorizedError } from './errors.js';
import { readEvents } from './eventstream.js';
import { HttpError, threadPath } from './http.js';
import { lossOfStatus } from './socket.js';
import * as verbs from './verbs.js';

/** @typedef {import('./socket.js').Events} Events */
/** @typedef {import('./socket.js').Transport} Transport */

/**
 * One thread's stream.
 * @typedef {object} Stream
 * @property {AbortController} ends
 * @property {Promise<string>} connection its id, once it is there
 * @property {string} tools names that it was opened with
 */

/**
 * @param {import('./http.js').Http} http
 * @param {import('./tools.js').Tools} tools
 * @param {Events} events
 * @returns {Transport}
 */
export function openStreams(http, tools, events) {
  const streams = new Streams(http, tools, events);
  streams.start();
  return { kind: 'sse', send: (m) => streams.send(m), close: () => streams.end(), cut: () => streams.end() };
}

export class Streams {
  /** @type {Map<string, Stream>} */
  #streams = new Map();
  #over = false;
  #all = new AbortController();
  /** Commands are carried out one after another. @type {Promise<void>} */
  #queue = Promise.resolve();

  /**
   * @param {import('./http.js').Http} http
   * @param {import('./tools.js').Tools} tools
   * @param {Events} events
   */
  constructor(http, tools, events) {
    this.http = http;
    this.tools = tools;
    this.events = events;
  }

  get signal() {
    return this.#all.signal;
  }

  start() {
    this.http.json('/v1/turns', { signal: this.signal }).then(
      () => {
        if (this.#over) return;
        this.events.opened();
        this.receive({ type: 'welcome', protocol: 1, node: '' });
      },
      (error) => this.lost(error, true),
    );
  }

  /** @param {Record<string, any>} message */
  send(message) {
    this.#queue = this.#queue.then(async () => {
      if (this.#over) return;
      try {
        await verbs.perform(this, message);
      } catch (error) {
        this.lost(error);
      }
    });
  }

  /** @param {Record<string, any>} message */
  receive(message) {
    if (this.#over) return;
    try {
      this.events.received([message]);
    } catch (error) {
      this.lost(error);
    }
  }

  end() {
    this.#over = true;
    this.#all.abort(new ConnectionError('closed', 'the connection was closed'));
  }

  /** @param {unknown} error @param {boolean} [handshake] */
  lost(error, handshake = false) {
    if (this.#over) return;
    this.end();
    const loss = error instanceof HttpError ? lossOfStatus(error.status, error.retryAfter, error.message) : { error: asError(error), .../** @type {any} */ (error).loss };
    this.events.closed({ ...loss, handshake });
  }

  /** The stream of a thread. @param {string} threadId */
  stream(threadId) {
    return this.#streams.get(threadId);
  }

  /** Streams name their tools when they are opened: others need other streams. */
  toolsChanged() {
    const now = this.tools.names().join();
    if ([...this.#streams.values()].some(({ tools }) => tools !== now)) this.lost(new ConnectionError('tools', 'the tools have changed'));
  }

  /** @param {string} threadId */
  leave(threadId) {
    this.#streams.get(threadId)?.ends.abort();
    this.#streams.delete(threadId);
  }

  /**
   * Follows a thread; resolves when the stream has begun.
   * @param {string} threadId
   * @param {{epoch?: string, last_seq?: number, full?: boolean, on_disconnect?: string}} from
   * @param {(message: Record<string, any>) => void} [seen] sees each message after it was received
   * @returns {Promise<string>} the id of the connection
   */
  async follow(threadId, from, seen = () => {}) {
    this.leave(threadId);
    const ends = new AbortController();
    const stop = () => ends.abort(this.signal.reason);
    this.signal.addEventListener('abort', stop);
    ends.signal.addEventListener('abort', () => this.signal.removeEventListener('abort', stop));
    const path = `${threadPath(threadId)}/events?${this.#query(from)}`;
    const response = await this.http.request(path, { headers: { Accept: 'text/event-stream' }, signal: ends.signal });
    if (!response.body?.getReader) throw new ConnectionError('no_streams', 'this fetch cannot stream; pass another one, or a WebSocket, as an option');
    const body = response.body;
    const connection = new Promise((/** @type {(id: string) => void} */ resolve, reject) => {
      const read = readEvents(body, ({ event, data }) => {
        if (ends.signal.aborted) return;
        if (event === 'restart' || event === 'expired') throw endOf(event);
        const message = JSON.parse(data);
        if (event === 'welcome') resolve(message.connection);
        this.receive(message);
        seen(message);
      });
      const over = (/** @type {unknown} */ error) => {
        reject(error);
        if (!ends.signal.aborted) this.lost(error);
      };
      read.then(() => over(new ConnectionError('lost', 'an event stream was cut')), over);
    });
    connection.catch(() => {}); // told by lost
    this.#streams.set(threadId, { ends, connection, tools: this.tools.names().join() });
    return connection;
  }

  /** @param {{epoch?: string, last_seq?: number, full?: boolean, on_disconnect?: string}} from */
  #query(from) {
    const query = new URLSearchParams({ follow: 'thread' });
    if (from.full) query.set('full', '1');
    else if (from.last_seq) query.set('after', from.epoch ? `${from.epoch}:${from.last_seq}` : String(from.last_seq));
    if (from.on_disconnect) query.set('on_disconnect', from.on_disconnect);
    const tools = this.tools.names();
    if (tools.length > 0) query.set('tools', tools.join(','));
    return query;
  }
}

/** What the last event of a stream means. @param {string} event */
function endOf(event) {
  if (event === 'expired') {
    const error = new UnauthorizedError('the token has expired');
    return Object.assign(error, { loss: { token: true } });
  }
  return Object.assign(new ConnectionError('restart', 'the node goes down'), { loss: { restart: true } });
}
