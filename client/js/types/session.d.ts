/**
 * @typedef {object} SessionOptions
 * @property {number} queueLimit
 * @property {number} maxMessage
 * @property {number} messageLimit
 * @property {boolean} discover
 * @property {(threadId: string) => boolean} adopt
 */
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
     * @param {SessionOptions} options
     * @param {Deps} deps
     */
    constructor(options: SessionOptions, deps: Deps);
    options: SessionOptions;
    deps: Deps;
    commands: Commands;
    answers: Answers;
    get online(): boolean;
    /** @param {string} id */
    thread(id: string): Thread;
    /** The thread if there is one. @param {string} [id] */
    known(id?: string): Thread | undefined;
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
     * Queues a command of a thread.
     * @param {Thread} thread @param {string} command @param {Record<string, any>} data
     * @param {{signal?: AbortSignal, again?: Record<string, any>}} [options]
     */
    command(thread: Thread, command: string, data: Record<string, any>, options?: {
        signal?: AbortSignal;
        again?: Record<string, any>;
    }): Promise<import("./commands.js").Message>;
    /** From now on frames of the thread are for us; a new one goes on where an earlier life of the page left it. @param {Thread} thread */
    follow(thread: Thread): void;
    /** Stops following; what is known of the thread is kept for a while. @param {Thread} thread */
    leave(thread: Thread): void;
    /** Fails a connection on which a resume is never answered. @param {number} now */
    check(now: number): void;
    /** @param {Error} why */
    close(why: Error): void;
    /** @param {Thread} thread */
    changed(thread: Thread): void;
    /** Runs f and tells the listeners of threads once. @param {() => void} f */
    batch(f: () => void): void;
    #private;
}
export type Frame = import("./thread.js").Frame;
export type Effect = import("./thread.js").Effect;
export type Entry = import("./outbox.js").Entry;
export type SessionOptions = {
    queueLimit: number;
    maxMessage: number;
    messageLimit: number;
    discover: boolean;
    adopt: (threadId: string) => boolean;
};
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
import { Commands } from './commands.js';
import { Answers } from './answers.js';
import { Thread } from './handle.js';
