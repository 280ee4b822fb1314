/** @typedef {import('./thread.js').Frame} Frame */
/** @typedef {import('./session.js').Session} Session */
/** Types of frames that wait for an answer. */
export const REQUESTS: Set<string>;
export class Answers {
    /** @param {Session} session */
    constructor(session: Session);
    /** Another connection carries the answers that wait. @param {readonly import('./outbox.js').Entry[]} waiting */
    attach(waiting: readonly import("./outbox.js").Entry[]): void;
    /**
     * Takes a request: runs its tool, repeats a known answer, or tells listeners.
     * @param {Frame} f
     */
    requested(f: Frame): void;
    /** @param {Frame} f a request_closed */
    closed(f: Frame): void;
    /** Closes what a thread's ended turn left open. @param {string} threadId */
    endTurn(threadId: string): void;
    /**
     * Queues an answer, and repeats it when the server asks again. Throws when it cannot be queued.
     * @param {string} requestId @param {Record<string, any>} message
     */
    give(requestId: string, message: Record<string, any>): void;
    /** Stops every tool. @param {Error} why */
    stop(why: Error): void;
    #private;
}
export type Frame = import("./thread.js").Frame;
export type Session = import("./session.js").Session;
