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
export function openStreams(http: import("./http.js").Http, tools: import("./tools.js").Tools, events: Events): Transport;
export class Streams {
    /**
     * @param {import('./http.js').Http} http
     * @param {import('./tools.js').Tools} tools
     * @param {Events} events
     */
    constructor(http: import("./http.js").Http, tools: import("./tools.js").Tools, events: Events);
    http: import("./http.js").Http;
    tools: import("./tools.js").Tools;
    events: import("./socket.js").Events;
    get signal(): AbortSignal;
    start(): void;
    /** @param {Record<string, any>} message */
    send(message: Record<string, any>): void;
    /** @param {Record<string, any>} message */
    receive(message: Record<string, any>): void;
    end(): void;
    /** @param {unknown} error @param {boolean} [handshake] */
    lost(error: unknown, handshake?: boolean): void;
    /** The stream of a thread. @param {string} threadId */
    stream(threadId: string): Stream | undefined;
    /** Streams name their tools when they are opened: others need other streams. */
    toolsChanged(): void;
    /** @param {string} threadId */
    leave(threadId: string): void;
    /**
     * Follows a thread; resolves when the stream has begun.
     * @param {string} threadId
     * @param {{epoch?: string, last_seq?: number, full?: boolean, on_disconnect?: string}} from
     * @param {(message: Record<string, any>) => void} [seen] sees each message after it was received
     * @returns {Promise<string>} the id of the connection
     */
    follow(threadId: string, from: {
        epoch?: string;
        last_seq?: number;
        full?: boolean;
        on_disconnect?: string;
    }, seen?: (message: Record<string, any>) => void): Promise<string>;
    #private;
}
export type Events = import("./socket.js").Events;
export type Transport = import("./socket.js").Transport;
/**
 * One thread's stream.
 */
export type Stream = {
    ends: AbortController;
    /**
     * its id, once it is there
     */
    connection: Promise<string>;
    /**
     * names that it was opened with
     */
    tools: string;
};
