/**
 * @typedef {object} Request
 * @property {string} id
 * @property {string} threadId
 * @property {boolean} closed
 * @property {Record<string, any>} [answer] the control message that answers it
 * @property {number} [sentOn] the connection that carries the answer, 0 = none yet
 * @property {AbortController} [running] of the tool that runs for it
 */
export class Requests {
    /**
     * Takes a request that arrived on a connection.
     * @param {string} id
     * @param {string} threadId
     * @param {number} connection
     * @returns {{request: Request, fresh: boolean, repeat?: Record<string, any>}} repeat is the
     *   answer to send again: the server still waits, and this connection has not carried it
     */
    see(id: string, threadId: string, connection: number): {
        request: Request;
        fresh: boolean;
        repeat?: Record<string, any>;
    };
    /** @param {string} id */
    get(id: string): Request | undefined;
    /**
     * Remembers the answer to a request; the first one counts.
     * @param {string} id @param {Record<string, any>} answer @param {number} connection that carries it
     */
    answered(id: string, answer: Record<string, any>, connection: number): void;
    /** Notes that a waiting answer travels on a connection now. @param {string} id @param {number} connection */
    carries(id: string, connection: number): void;
    /**
     * Closes a request and stops its tool.
     * @param {string} id @param {string} reason
     * @returns {boolean} whether it was open here
     */
    end(id: string, reason: string): boolean;
    /** Closes what a thread's ended turn left open. @param {string} threadId */
    endTurn(threadId: string): void;
    /** Stops every tool. @param {Error} why */
    stop(why: Error): void;
    #private;
}
export type Request = {
    id: string;
    threadId: string;
    closed: boolean;
    /**
     * the control message that answers it
     */
    answer?: Record<string, any> | undefined;
    /**
     * the connection that carries the answer, 0 = none yet
     */
    sentOn?: number | undefined;
    /**
     * of the tool that runs for it
     */
    running?: AbortController | undefined;
};
