/**
 * What the session leans on.
 * @typedef {object} Deps
 * @property {import('./emitter.js').Emitter} emitter
 * @property {import('./tools.js').Tools} tools
 * @property {import('./history.js').History | null} history
 * @property {import('./storage.js').Cursors | null} cursors
 * @property {(error: unknown) => void} failed hears what listeners throw
 */
export class Session {
    /**
     * @param {{queueLimit: number, maxMessage: number, messageLimit: number, discover: boolean, adopt: (threadId: string) => boolean}} options
     * @param {Deps} deps
     */
    constructor(options: {
        queueLimit: number;
        maxMessage: number;
        messageLimit: number;
        discover: boolean;
        adopt: (threadId: string) => boolean;
    }, deps: Deps);
    /** @type {Map<string, Thread>} */
    threads: Map<string, Thread>;
    requests: Requests;
    options: {
        queueLimit: number;
        maxMessage: number;
        messageLimit: number;
        discover: boolean;
        adopt: (threadId: string) => boolean;
    };
    deps: Deps;
    get online(): boolean;
    /** @param {string} id */
    thread(id: string): Thread;
    /**
     * A connection is there: tools first, then the resumes, then the list, then what waited.
     * @param {(message: Record<string, any>) => void} send
     */
    attach(send: (message: Record<string, any>) => void): void;
    detach(): void;
    announceTools(): void;
    /**
     * Takes the objects of one message. Throws when the connection has to end.
     * @param {Frame[]} objects
     */
    receive(objects: Frame[]): void;
    /**
     * Does what a state machine asks for.
     * @param {Thread} thread @param {Effect} effect
     */
    perform(thread: Thread, effect: Effect): void;
    /**
     * Queues a command; the promise is of its acknowledgement.
     * @param {Thread | null} thread
     * @param {string} command
     * @param {Record<string, any>} data
     * @param {{signal?: AbortSignal, again?: Record<string, any>}} [options] again: data of a second try
     * @returns {Promise<Record<string, any>>}
     */
    command(thread: Thread | null, command: string, data: Record<string, any>, { signal, again }?: {
        signal?: AbortSignal;
        again?: Record<string, any>;
    }): Promise<Record<string, any>>;
    /** Extends this connection. @param {string} token @returns {Promise<Record<string, any>>} the server's answer */
    reauth(token: string): Promise<Record<string, any>>;
    /**
     * Queues an answer; it is settled once it is written, and repeated when the server asks again.
     * @param {string} requestId @param {Record<string, any>} message
     */
    answer(requestId: string, message: Record<string, any>): void;
    /**
     * Answers a tool call; a result that is too large becomes an error, because the agent waits.
     * @param {string} id @param {{ok: boolean, result?: unknown, error?: string}} answer
     */
    answerCall(id: string, answer: {
        ok: boolean;
        result?: unknown;
        error?: string;
    }): void;
    /** @param {string} id @param {string} threadId */
    see(id: string, threadId: string): {
        request: import("./requests.js").Request;
        fresh: boolean;
        repeat?: Record<string, any>;
    };
    /** Sends an answer again. @param {Record<string, any>} message */
    repeat(message: Record<string, any>): void;
    /** Stops following; what is known of the thread is kept for a while. @param {Thread} thread */
    leave(thread: Thread): void;
    /** @param {Thread} thread @param {AbortSignal} [signal] */
    loadOlder(thread: Thread, signal?: AbortSignal): Promise<void>;
    /** From now on frames of the thread are for us; a new one goes on where an earlier life of the page left it. @param {Thread} thread */
    follow(thread: Thread): void;
    /** Fails a connection on which a resume is never answered. @param {number} now */
    check(now: number): void;
    /** @param {Error} why */
    close(why: Error): void;
    /** @param {Thread} thread */
    changed(thread: Thread): void;
    #private;
}
export type Frame = import("./thread.js").Frame;
export type Effect = import("./thread.js").Effect;
export type Entry = import("./outbox.js").Entry;
/**
 * What the session leans on.
 */
export type Deps = {
    emitter: import("./emitter.js").Emitter;
    tools: import("./tools.js").Tools;
    history: import("./history.js").History | null;
    cursors: import("./storage.js").Cursors | null;
    /**
     * hears what listeners throw
     */
    failed: (error: unknown) => void;
};
import { Thread } from './handle.js';
import { Requests } from './requests.js';
