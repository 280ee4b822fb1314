/** @typedef {import('./options.js').Options} Options */
/** @typedef {import('./handle.js').Thread} Thread */
/** @typedef {import('./handle.js').Snapshot} Snapshot */
/** @typedef {import('./handle.js').SendOptions} SendOptions */
/** @typedef {import('./transcript.js').Message} Message */
/** @typedef {import('./transcript.js').Draft} Draft */
/** @typedef {import('./transcript.js').Request} Request */
/** @typedef {import('./thread.js').Frame} Frame */
/** @typedef {import('./connection.js').State} State */
/**
 * Makes a client; nothing happens until connect().
 * @param {string | string[]} url ws(s):// or http(s)://, relative to the page where there is one; of a list each is tried in turn
 * @param {Options} [options]
 */
export function createClient(url: string | string[], options?: Options): Client;
export class Client {
    /**
     * @param {string | string[]} url
     * @param {Options} [options]
     */
    constructor(url: string | string[], options?: Options);
    /**
     * Connects, and stays connected until close().
     * @returns {Promise<void>} of the first time online; rejects when the server refuses for good
     */
    connect(): Promise<void>;
    /** Ends everything. What waits is rejected with ClosedError, tools are aborted. Safe twice. */
    close(): Promise<void>;
    /** @returns {State} */
    get state(): State;
    /**
     * Listens to an event.
     * @template {keyof import('./events.js').Events} E
     * @param {E} event
     * @param {(...args: import('./events.js').Events[E]) => void} listener
     * @param {{signal?: AbortSignal}} [options]
     * @returns {() => void} unsubscribes
     */
    on<E extends keyof import("./events.js").Events>(event: E, listener: (...args: import("./events.js").Events[E]) => void, options?: {
        signal?: AbortSignal;
    }): () => void;
    /** The thread with this id; the same object for the same id. @param {string} id @returns {Thread} */
    thread(id: string): Thread;
    /** The user's running turns. @returns {Promise<Frame[]>} chat_turn_active frames */
    turns(): Promise<Frame[]>;
    /** Answers a tool_approval_request. @param {string} requestId @param {'allow' | 'allow_for_chat' | 'deny'} decision */
    approve(requestId: string, decision: "allow" | "allow_for_chat" | "deny"): void;
    /** Answers a plan_approval_request. @param {string} requestId @param {boolean} approve @param {string} [feedback] */
    approvePlan(requestId: string, approve: boolean, feedback?: string): void;
    /** Answers a secret_request. @param {string} requestId @param {string} status */
    answerSecret(requestId: string, status: string): void;
    /** Answers a tool_call that no tool of this client takes. @param {string} requestId @param {{result?: unknown, error?: string}} answer */
    answerTool(requestId: string, { result, error }: {
        result?: unknown;
        error?: string;
    }): void;
    /**
     * Announces another tool.
     * @param {string} name
     * @param {import('./tools.js').Tool} tool
     * @returns {() => void} removes it
     */
    addTool(name: string, tool: import("./tools.js").Tool): () => void;
    /** The network or the app is back: ends a wait, or looks whether the connection lives. Pages do so by themselves. */
    wake(): void;
    /** Cuts the connection without a goodbye and stays away. @param {number} [ms] */
    drop(ms?: number): void;
    #private;
}
export type Options = import("./options.js").Options;
export type Thread = import("./handle.js").Thread;
export type Snapshot = import("./handle.js").Snapshot;
export type SendOptions = import("./handle.js").SendOptions;
export type Message = import("./transcript.js").Message;
export type Draft = import("./transcript.js").Draft;
export type Request = import("./transcript.js").Request;
export type Frame = import("./thread.js").Frame;
export type State = import("./connection.js").State;
export { ClosedError, ConnectionError, ProtocolError, QueueFullError, RefusedError, TooLargeError, TurnlogError, UnauthorizedError } from "./errors.js";
