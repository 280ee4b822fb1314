/** @typedef {import('./thread.js').Input} Input */
/** @typedef {import('./thread.js').Frame} Frame */
/** @typedef {import('./session.js').Session} Session */
/**
 * What a thread looks like now. Immutable; a new object whenever something changed.
 * @typedef {object} Snapshot
 * @property {string} threadId
 * @property {number} lastSeq highest chat_seq seen
 * @property {string} epoch
 * @property {'idle' | 'sending' | 'queued' | 'running'} status
 * @property {boolean} syncing a resume is on its way
 * @property {string} turnId of the newest turn
 * @property {number} attempt
 * @property {string | null} outcome of the newest turn, null while it runs
 * @property {string | null} error
 * @property {string} onDisconnect the newest turn's policy, as far as known
 * @property {string} graceDeadline when the turn ends unless somebody watches, RFC 3339; '' when it does not
 * @property {readonly import('./transcript.js').Message[]} messages
 * @property {import('./transcript.js').Draft | null} draft
 * @property {readonly import('./transcript.js').Request[]} requests
 * @property {'none' | 'loading' | 'loaded' | 'failed'} history
 * @property {boolean} hasOlder
 */
/**
 * @typedef {object} SendOptions
 * @property {string} [id] idempotency key, kept by the server for 24 h; minted when absent
 * @property {string} [role]
 * @property {string} [agent]
 * @property {'supersede' | 'reject' | 'enqueue'} [onBusy]
 * @property {'cancel' | 'grace' | 'preserve'} [onDisconnect]
 * @property {Record<string, any>} [extra] further keys for the agent
 * @property {AbortSignal} [signal] withdraws the message if it was not written yet; later it only ends the wait
 */
/** @typedef {Promise<Record<string, any>> & {id: string}} Pending resolves with the acknowledgement */
export class Thread {
    /**
     * @param {string} id
     * @param {Session} session
     */
    constructor(id: string, session: Session);
    id: string;
    /** Frames of the thread are for us. @internal */
    following: boolean;
    /** @internal */
    machine: import("./thread.js").ThreadState;
    /** @internal */
    transcript: transcript.Transcript;
    /** @internal */
    policy: {
        onDisconnect: string;
        graceDeadline: string;
    };
    /**
     * Calls listener after every change. Bound: may be passed around.
     * @param {() => void} listener
     * @returns {() => void} unsubscribes
     */
    subscribe(listener: () => void): () => void;
    /** @returns {Snapshot} */
    get snapshot(): Snapshot;
    /**
     * Resumes the thread, and again at every reconnect, also while idle.
     * @param {{lastSeq?: number, epoch?: string, full?: boolean, onDisconnect?: string}} [options] lastSeq and
     *   epoch are a cursor of an earlier life; full asks for everything the server holds
     * @returns {() => void} lets go; the last one to let go unfollows the thread
     */
    open(options?: {
        lastSeq?: number;
        epoch?: string;
        full?: boolean;
        onDisconnect?: string;
    }): () => void;
    /** Follows the thread from now on, without a replay. @returns {Promise<Record<string, any>>} */
    follow(): Promise<Record<string, any>>;
    /** Ends what open and follow began, however often. */
    unfollow(): void;
    /**
     * Submits a message and follows the thread. Offline it waits in the queue.
     * @param {any} content a string, or a non-empty list of content blocks
     * @param {SendOptions} [options]
     * @returns {Pending}
     */
    send(content: any, options?: SendOptions): Pending;
    /**
     * A message into the running turn; it becomes the next turn if that one ends first.
     * @param {any} content
     * @param {{id?: string, signal?: AbortSignal}} [options]
     * @returns {Pending}
     */
    steer(content: any, { id, signal }?: {
        id?: string;
        signal?: AbortSignal;
    }): Pending;
    /**
     * Ends whatever runs here and drops what is queued, or ends only one turn. Sent
     * again after a lost connection it touches only the turn it was meant for.
     * @param {{turnId?: string}} [options]
     */
    stop({ turnId }?: {
        turnId?: string;
    }): Promise<import("./commands.js").Message>;
    /** @param {'cancel' | 'grace' | 'preserve'} policy @param {'turn' | 'thread'} [scope] */
    setPolicy(policy: "cancel" | "grace" | "preserve", scope?: "turn" | "thread"): Promise<import("./commands.js").Message>;
    /** @param {string} mode `auto` also allows the open approvals */
    setPermissionMode(mode: string): Promise<import("./commands.js").Message>;
    /** One more page of history in front of messages. @param {{signal?: AbortSignal}} [options] */
    loadOlder(options?: {
        signal?: AbortSignal;
    }): Promise<void>;
    /**
     * Feeds the state machine and does what it asks for.
     * @internal
     * @param {Input} input
     */
    input(input: Input): void;
    /**
     * Applies the answer to a command.
     * @internal
     * @param {import('./outbox.js').Entry} entry @param {Record<string, any>} ack @param {Error | null} failure
     */
    settle({ command, message }: import("./outbox.js").Entry, ack: Record<string, any>, failure: Error | null): void;
    /** @internal @param {import('./transcript.js').Transcript} next */
    show(next: import("./transcript.js").Transcript): void;
    /** Something changed. @internal */
    touch(): void;
    /** Tells the listeners. @internal @param {(error: unknown) => void} failed */
    notify(failed: (error: unknown) => void): void;
    #private;
}
export type Input = import("./thread.js").Input;
export type Frame = import("./thread.js").Frame;
export type Session = import("./session.js").Session;
/**
 * What a thread looks like now. Immutable; a new object whenever something changed.
 */
export type Snapshot = {
    threadId: string;
    /**
     * highest chat_seq seen
     */
    lastSeq: number;
    epoch: string;
    status: "idle" | "sending" | "queued" | "running";
    /**
     * a resume is on its way
     */
    syncing: boolean;
    /**
     * of the newest turn
     */
    turnId: string;
    attempt: number;
    /**
     * of the newest turn, null while it runs
     */
    outcome: string | null;
    error: string | null;
    /**
     * the newest turn's policy, as far as known
     */
    onDisconnect: string;
    /**
     * when the turn ends unless somebody watches, RFC 3339; '' when it does not
     */
    graceDeadline: string;
    messages: readonly import("./transcript.js").Message[];
    draft: import("./transcript.js").Draft | null;
    requests: readonly import("./transcript.js").Request[];
    history: "none" | "loading" | "loaded" | "failed";
    hasOlder: boolean;
};
export type SendOptions = {
    /**
     * idempotency key, kept by the server for 24 h; minted when absent
     */
    id?: string | undefined;
    role?: string | undefined;
    agent?: string | undefined;
    onBusy?: "supersede" | "reject" | "enqueue" | undefined;
    onDisconnect?: "cancel" | "preserve" | "grace" | undefined;
    /**
     * further keys for the agent
     */
    extra?: Record<string, any> | undefined;
    /**
     * withdraws the message if it was not written yet; later it only ends the wait
     */
    signal?: AbortSignal | undefined;
};
/**
 * resolves with the acknowledgement
 */
export type Pending = Promise<Record<string, any>> & {
    id: string;
};
import * as transcript from './transcript.js';
