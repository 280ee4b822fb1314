/**
 * A command or an answer on its way.
 * @typedef {object} Entry
 * @property {Record<string, any>} message the whole message
 * @property {Record<string, any>} [again] what to send instead once it was written
 * @property {string} command '' for answers
 * @property {string} [threadId]
 * @property {string} [requestId] of a command: what its acknowledgement echoes
 * @property {string} [answers] the request that an answer answers
 * @property {boolean} [tried] was written on some connection
 * @property {(ack: Record<string, any>) => void} [resolve]
 * @property {(error: Error) => void} [reject]
 */
export class Outbox {
    /** @param {number} limit entries at most */
    constructor(limit: number);
    get waiting(): Entry[];
    /** @param {Entry} entry */
    add(entry: Entry): void;
    /**
     * Notes that an entry goes out now; answers are settled by that.
     * @param {Entry} entry
     * @returns {Record<string, any>} what to send
     */
    written(entry: Entry): Record<string, any>;
    /** False when it is not there any more. @param {Entry} entry */
    remove(entry: Entry): boolean;
    /** @param {unknown} requestId */
    find(requestId: unknown): Entry | undefined;
    /** Fails everything that waits. @param {() => Error} why */
    fail(why: () => Error): void;
    #private;
}
/**
 * A command or an answer on its way.
 */
export type Entry = {
    /**
     * the whole message
     */
    message: Record<string, any>;
    /**
     * what to send instead once it was written
     */
    again?: Record<string, any> | undefined;
    /**
     * '' for answers
     */
    command: string;
    threadId?: string | undefined;
    /**
     * of a command: what its acknowledgement echoes
     */
    requestId?: string | undefined;
    /**
     * the request that an answer answers
     */
    answers?: string | undefined;
    /**
     * was written on some connection
     */
    tried?: boolean | undefined;
    resolve?: ((ack: Record<string, any>) => void) | undefined;
    reject?: ((error: Error) => void) | undefined;
};
