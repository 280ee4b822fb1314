/** @typedef {import('./sse.js').Streams} Streams */
/** @typedef {Record<string, any>} Message */
/**
 * Carries out one message. What the server refuses becomes a negative
 * acknowledgement; a lost network rejects.
 * @param {Streams} to
 * @param {Message} message
 */
export function perform(to: Streams, message: Message): Promise<void>;
export type Streams = import("./sse.js").Streams;
export type Message = Record<string, any>;
