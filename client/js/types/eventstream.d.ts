/**
 * Calls on for each event until the stream ends.
 * @param {ReadableStream<Uint8Array>} body
 * @param {(event: ServerEvent) => void} on
 */
export function readEvents(body: ReadableStream<Uint8Array>, on: (event: ServerEvent) => void): Promise<void>;
/**
 * Reads server-sent events from a response, as the HTML standard defines them.
 * @module
 */
/** @typedef {{event: string, data: string, id: string}} ServerEvent */
/** Takes text in pieces and gives whole events. */
export class EventParser {
    /**
     * @param {string} piece
     * @returns {ServerEvent[]}
     */
    push(piece: string): ServerEvent[];
    #private;
}
export type ServerEvent = {
    event: string;
    data: string;
    id: string;
};
