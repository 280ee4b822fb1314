/**
 * One WebSocket: opening it, its messages, and what its end means.
 * @module
 */
import { ConnectionError, ProtocolError, TooLargeError, UnauthorizedError } from './errors.js';

/** @typedef {import('./backoff.js').Loss} Loss */

/**
 * One connection, whatever carries it.
 * @typedef {object} Transport
 * @property {'websocket' | 'sse'} kind
 * @property {(message: Record<string, any>) => void} send
 * @property {() => void} close says goodbye
 * @property {() => void} cut ends it at once; closed is not called
 */

/**
 * What a transport tells, all of it asynchronously.
 * @typedef {object} Events
 * @property {() => void} opened
 * @property {(objects: any[]) => void} received the objects of one message
 * @property {(loss: Loss) => void} closed once, also when it never opened
 */

/** Turns objects into what goes over the wire, and back. @typedef {{encode: (message: any) => any, decode: (data: any) => any}} Codec */

/**
 * @param {typeof WebSocket} WebSocket
 * @param {string} url with its query
 * @param {string} token '' for none
 * @param {Codec | null} codec of binary messages; null = JSON
 * @param {Events} events
 * @returns {Transport}
 */
export function openSocket(WebSocket, url, token, codec, { opened, received, closed }) {
  // The pair keeps the token out of URLs, and so out of access logs.
  const socket = new WebSocket(url, token ? ['turnlog.v1', `bearer.${token}`] : ['turnlog.v1']);
  socket.binaryType = 'arraybuffer';
  let open = false;
  let over = false;
  let refusal = '';
  const end = (/** @type {Loss} */ loss) => {
    if (over) return;
    over = true;
    closed(loss);
  };
  const cut = () => {
    over = true;
    const { terminate } = /** @type {any} */ (socket); // of npm's ws
    if (typeof terminate === 'function') terminate.call(socket);
    else socket.close();
  };
  socket.onopen = () => {
    open = true;
    if (!over) opened();
  };
  socket.onerror = (event) => {
    refusal = /** @type {any} */ (event).message ?? '';
  };
  socket.onclose = ({ code, reason }) => end(open ? lossOf(code, reason) : handshakeLoss(refusal));
  socket.onmessage = ({ data }) => {
    if (over) return;
    try {
      received(decode(data, codec));
    } catch (error) {
      end({ error: /** @type {Error} */ (error) });
      cut();
    }
  };
  return {
    kind: 'websocket', cut,
    send(message) {
      if (socket.readyState === 1) socket.send(codec ? codec.encode(message) : JSON.stringify(message));
    },
    close() {
      over = true;
      socket.close(1000);
    },
  };
}

/** One message is one object, or with batching a list of them. @param {any} data @param {Codec | null} codec */
function decode(data, codec) {
  let value;
  try {
    value = typeof data === 'string' ? JSON.parse(data) : codec ? codec.decode(new Uint8Array(data)) : undefined;
  } catch {
    throw new ProtocolError('the server sent a message that cannot be decoded');
  }
  const objects = Array.isArray(value) ? value : [value];
  for (const o of objects) {
    if (o === null || typeof o !== 'object' || Array.isArray(o)) throw new ProtocolError('the server sent something that is no object');
    const seq = o.chat_seq;
    if (seq !== undefined && !(Number.isSafeInteger(seq) && seq >= 0)) throw new ProtocolError(`chat_seq ${seq} is not a position`);
    if (typeof o.type !== 'string') delete o.type; // an acknowledgement has none
  }
  return objects;
}

/** What a close code means. @param {number} code @param {string} reason @returns {Loss} */
export function lossOf(code, reason) {
  const said = `connection closed by the server: ${code}${reason ? ` ${reason}` : ''}`;
  switch (code) {
    case 1008:
    case 4003:
      return { fatal: true, error: new UnauthorizedError(`${said}; the server does not want this client`) };
    case 1009:
      return { fatal: true, error: Object.assign(new TooLargeError(0, 0), { message: `${said}: a message was larger than the server's limits.inbound_bytes` }) };
    case 1012:
      return { restart: true, error: new ConnectionError('restart', `${said}; the node goes down`) };
    case 1013:
      return { later: 1000, error: new ConnectionError('try_later', said) };
    case 4001:
      return { token: true, error: new UnauthorizedError(`${said}; the token has expired`) };
    default:
      // Gone without a word (1005, 1006): its node may have died, with a crowd on it.
      return { restart: code === 1005 || code === 1006, error: new ConnectionError('lost', `connection lost (${code})`) };
  }
}

/** Browsers do not say why a handshake failed; npm's ws does. @param {string} message @returns {Loss} */
function handshakeLoss(message) {
  const status = Number(/Unexpected server response: (\d{3})/.exec(message)?.[1] ?? 0);
  return { ...lossOfStatus(status, 0, message), handshake: true };
}

/** What an HTTP status means for the next attempt. @param {number} status 0 = unknown @param {number} retryAfter ms @param {string} detail @returns {Loss} */
export function lossOfStatus(status, retryAfter, detail) {
  const said = `no connection${status ? `: HTTP ${status}` : ''}${detail ? `: ${detail}` : ''}`;
  switch (status) {
    case 401:
      return { token: true, error: new UnauthorizedError(`${said}; the token option has to return a token that the server takes`) };
    case 403:
    case 421:
      return { fatal: true, error: new UnauthorizedError(`${said}; the page's origin or the host name is not allowed (http.origins, http.hosts on the server)`) };
    case 429:
    case 503:
      return { later: Math.max(retryAfter, 1), error: new ConnectionError(`http_${status}`, said) };
    default:
      return { error: new ConnectionError(status ? `http_${status}` : 'network', said) };
  }
}
