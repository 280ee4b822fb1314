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
    /**
     * @param {{socket: string, http: string}[]} endpoints each is tried in turn
     * @param {DialOptions} options
     * @param {import('./tools.js').Tools} tools
     */
    constructor(endpoints: {
        socket: string;
        http: string;
    }[], options: DialOptions, tools: import("./tools.js").Tools);
    /** The present token, '' for none. */
    token: string;
    /** Null where there is no fetch. @type {Http | null} */
    http: Http | null;
    /**
     * Begins to make a connection, with a fresh token.
     * @param {Events} events
     * @param {AbortSignal} signal
     * @returns {Promise<Transport>}
     */
    dial(events: Events, signal: AbortSignal): Promise<Transport>;
    /**
     * Finds out more about a loss, and decides how the next connection is made.
     * Browsers do not say what a WebSocket's handshake was answered: HTTP does.
     * Where it works and WebSockets fail again and again, they are blocked.
     * @param {Loss} loss
     * @param {AbortSignal} closing
     * @returns {Promise<Loss>}
     */
    explain(loss: Loss, closing: AbortSignal): Promise<Loss>;
    #private;
}
export type Loss = import("./backoff.js").Loss;
export type Events = import("./socket.js").Events;
export type Transport = import("./socket.js").Transport;
export type DialOptions = {
    token: import("./token.js").TokenSource | null;
    transport: "auto" | "websocket" | "sse";
    WebSocket: typeof WebSocket | undefined;
    fetch: typeof fetch | undefined;
    codec: import("./socket.js").Codec | null;
    user: string;
};
import { Http } from './http.js';
