/**
 * Options of a client: meaning, defaults, and what is wrong with them.
 * @module
 */
import { TurnlogError } from './errors.js';

/**
 * All optional.
 * @typedef {object} Options
 * @property {import('./token.js').TokenSource} [token] asked before every connect, so that an expired token is replaced
 * @property {number} [reauthBefore] ms before a JWT's expiry at which the connection is extended with a new token; 0 (default) = never
 * @property {string} [user] user name, for servers without authentication
 * @property {Record<string, import('./tools.js').Tool>} [tools] by name
 * @property {'page' | 'device'} [once] a tool call runs once per page (default), or per device, over reloads and tabs
 * @property {import('./device.js').Store} [deviceStorage] for once: 'device'; default localStorage
 * @property {'auto' | 'websocket' | 'sse'} [transport] auto (default) falls back to event streams when no WebSocket opens
 * @property {typeof WebSocket} [WebSocket] default: the global one
 * @property {typeof fetch} [fetch] default: the global one; for history and event streams
 * @property {import('./socket.js').Codec | null} [codec] of a MessagePack library; the connection is binary then
 * @property {boolean} [discover] ask for the user's running turns at every connect
 * @property {(threadId: string) => boolean} [adopt] whether a running turn of an unknown thread is followed; default: all are
 * @property {boolean} [history] load messages over HTTP when a header says so; default true
 * @property {string} [httpUrl] where /v1 is; default: where the WebSocket is
 * @property {import('./storage.js').Store | null} [storage] sessionStorage: threads go on after a reload where they were
 * @property {string} [storageKey] whose threads they are, so that the next user of the tab does not see them; default: user
 * @property {number} [silence] ms of silence after which a connection is taken for dead; default 60,000, the server speaks every 25,000
 * @property {number} [dialTimeout] ms for one attempt, token included; default 10,000
 * @property {number} [maxDelay] ms between two attempts at most; default 10,000
 * @property {number} [queueLimit] commands that wait; default 256, which stays within the server's burst of 400 messages
 * @property {number} [maxMessage] bytes of one command; default 8 MiB, the server's own
 * @property {number} [messageLimit] messages kept per thread; default 500
 * @property {{error: (...args: any[]) => void}} [logger] hears what listeners throw; default console
 */

const numbers = { silence: 60_000, dialTimeout: 10_000, maxDelay: 10_000, queueLimit: 256, maxMessage: 8 << 20, messageLimit: 500 };

/**
 * @param {Options} given
 */
export function withDefaults(given) {
  for (const [name, fallback] of Object.entries(numbers)) {
    const value = given[/** @type {keyof typeof numbers} */ (name)] ?? fallback;
    if (!(value > 0)) throw invalid(`${name} must be a positive number`);
  }
  const options = {
    token: null, deviceStorage: undefined, reauthBefore: 0, user: '', tools: {}, once: 'page', codec: null, discover: false, adopt: () => true,
    history: true, httpUrl: '', storage: null, storageKey: given.user ?? '', logger: console,
    WebSocket: globalThis.WebSocket, fetch: globalThis.fetch, ...numbers, ...defined(given),
    transport: given.transport ?? 'auto',
  };
  if (!['auto', 'websocket', 'sse'].includes(options.transport)) throw invalid("transport must be 'auto', 'websocket' or 'sse'");
  if (!['page', 'device'].includes(options.once)) throw invalid("once must be 'page' or 'device'");
  if (!options.WebSocket && options.transport === 'websocket') {
    throw invalid("there is no WebSocket here: pass one as the option WebSocket (Node 20: npm's ws), or use transport 'sse'");
  }
  if (!options.fetch && (options.transport === 'sse' || !options.WebSocket)) {
    throw invalid('there is neither WebSocket nor fetch here: pass one of them as an option');
  }
  if (options.storage && options.token && !options.storageKey) {
    throw invalid('storage with tokens needs a storageKey, such as the user id: the next user of the tab must not see these threads');
  }
  if (options.once === 'device' && !options.deviceStorage) {
    const deviceStorage = localStore();
    if (!deviceStorage) throw invalid("once: 'device' needs localStorage, or an option deviceStorage");
    return { ...options, deviceStorage };
  }
  return options;
}

/** Reading localStorage throws where storage is forbidden. */
function localStore() {
  try {
    return globalThis.localStorage;
  } catch {
    return undefined;
  }
}

/** @param {string} message */
const invalid = (message) => new TurnlogError('invalid_option', `options: ${message}`);

/** @template T @param {T} o @returns {Partial<T>} */
function defined(o) {
  return /** @type {Partial<T>} */ (Object.fromEntries(Object.entries(/** @type {any} */ (o)).filter(([, v]) => v !== undefined)));
}

/**
 * The addresses behind a url that a user gave: http becomes ws, the path defaults to /ws.
 * @param {string} given
 * @param {{user: string, codec: unknown, httpUrl: string}} options
 * @returns {{socket: string, http: string}}
 */
export function endpoint(given, { user, codec, httpUrl }) {
  // By hand: URL is not whole in React Native.
  const parts = /^(ws|http)(s?):\/\/([^/?#\s]+)([^?#]*)(?:\?([^#]*))?/i.exec(absolute(given));
  if (!parts) throw invalid(`url ${JSON.stringify(given)}: want ws://host:port/ws or wss://`);
  const [, , secure, host, rest, search = ''] = parts;
  const path = rest === '' || rest === '/' ? '/ws' : rest;
  const query = search.split('&').filter(Boolean);
  if (user) query.push(`user=${encodeURIComponent(user)}`);
  if (!query.some((q) => q.startsWith('batch='))) query.push('batch=1');
  if (codec) query.push('encoding=msgpack');
  const http = httpUrl ? absolute(httpUrl) : `http${secure}://${host}${path.replace(/\/ws$/, '')}`;
  return { socket: `ws${secure}://${host}${path}?${query.join('&')}`, http: http.replace(/\/$/, '') };
}

/** Relative to the page, where there is one. @param {string} url */
function absolute(url) {
  const page = globalThis.location?.href;
  return page && !/^[a-z]+:/i.test(url) ? new URL(url, page).href : url;
}
