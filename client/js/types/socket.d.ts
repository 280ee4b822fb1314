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
export function openSocket(WebSocket: typeof globalThis.WebSocket, url: string, token: string, codec: Codec | null, { opened, received, closed }: Events): Transport;
/** What a close code means. @param {number} code @param {string} reason @returns {Loss} */
export function lossOf(code: number, reason: string): Loss;
/** What an HTTP status means for the next attempt. @param {number} status 0 = unknown @param {number} retryAfter ms @param {string} detail @returns {Loss} */
export function lossOfStatus(status: number, retryAfter: number, detail: string): Loss;
export type Loss = import("./backoff.js").Loss;
/**
 * One connection, whatever carries it.
 */
export type Transport = {
    kind: "websocket" | "sse";
    send: (message: Record<string, any>) => void;
    /**
     * says goodbye
     */
    close: () => void;
    /**
     * ends it at once; closed is not called
     */
    cut: () => void;
};
/**
 * What a transport tells, all of it asynchronously.
 */
export type Events = {
    opened: () => void;
    /**
     * the objects of one message
     */
    received: (objects: any[]) => void;
    /**
     * once, also when it never opened
     */
    closed: (loss: Loss) => void;
};
/**
 * Turns objects into what goes over the wire, and back.
 */
export type Codec = {
    encode: (message: any) => any;
    decode: (data: any) => any;
};
