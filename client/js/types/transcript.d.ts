/**
 * Takes a frame that is new.
 * @param {Transcript} t
 * @param {Frame} f
 * @param {string} epoch the thread's
 * @param {number} limit messages kept
 * @returns {Transcript}
 */
export function applyFrame(t: Transcript, f: Frame, epoch: string, limit: number): Transcript;
/** @param {Record<string, any>} f @param {string} epoch @returns {Message} */
export function toMessage(f: Record<string, any>, epoch: string): Message;
/**
 * A message written here; until the server numbers it, it stands at the end.
 * @param {Transcript} t @param {string} threadId @param {string} id @param {any} content @param {string} role
 * @returns {Transcript}
 */
export function written(t: Transcript, threadId: string, id: string, content: any, role: string): Transcript;
/**
 * What became of a message that was written here.
 * @param {Transcript} t @param {string} id
 * @param {Partial<Pick<Message, 'state' | 'error' | 'turnId'>>} change
 * @returns {Transcript}
 */
export function answered(t: Transcript, id: string, change: Partial<Pick<Message, "state" | "error" | "turnId">>): Transcript;
/** A message that was withdrawn. @param {Transcript} t @param {string} id @returns {Transcript} */
export function withdrawn(t: Transcript, id: string): Transcript;
/**
 * @param {Transcript} t @param {string} id @param {string} reason
 * @returns {Transcript}
 */
export function closeRequest(t: Transcript, id: string, reason: string): Transcript;
/**
 * The frames jumped: what streamed so far has a hole. It stays to be read until
 * the history is there, or until something new streams.
 * @param {Transcript} t @param {boolean} ended whether the turn is over as far as we know
 * @returns {Transcript}
 */
export function jumped(t: Transcript, ended: boolean): Transcript;
/**
 * Takes the newest page of the history. Of what is here, later frames and what
 * was written here stay, and older pages when they reach up to it.
 * @param {Transcript} t
 * @param {Record<string, any>[]} page oldest first
 * @param {string | null} next
 * @param {string} epoch the thread's
 * @returns {Transcript}
 */
export function withHistory(t: Transcript, page: Record<string, any>[], next: string | null, epoch: string): Transcript;
/**
 * Puts an older page in front.
 * @param {Transcript} t @param {Record<string, any>[]} page @param {string | null} next @param {string} epoch
 * @returns {Transcript}
 */
export function withOlder(t: Transcript, page: Record<string, any>[], next: string | null, epoch: string): Transcript;
/**
 * What a person sees of a thread, computed from its frames and its history:
 * (transcript, frame) -> transcript. Pure; a transcript is never changed, so a
 * part that stayed the same is the same object.
 * @module
 */
/** @typedef {import('./thread.js').Frame} Frame */
/**
 * @typedef {object} Message
 * @property {string} key unique within the transcript; stable
 * @property {string} role
 * @property {any} content a string, or content blocks
 * @property {number} seq chat_seq; 0 until the server has numbered it
 * @property {string} epoch
 * @property {string} threadId another one where this thread continues or branches off that one
 * @property {string} turnId
 * @property {string} id idempotency key, '' for most assistant messages
 * @property {boolean} partial the turn ended early
 * @property {'done' | 'sending' | 'queued' | 'failed'} state
 * @property {Error | null} error why it failed
 * @property {Record<string, any>} frame as the server sent it: tool_calls and all the rest
 */
/**
 * @typedef {object} Draft what streams at the moment
 * @property {string} turnId
 * @property {string} text
 * @property {string} thinking
 */
/**
 * @typedef {object} Request
 * @property {string} id
 * @property {string} type tool_call, tool_approval_request, plan_approval_request, secret_request
 * @property {string} name of the tool, where there is one
 * @property {any} args
 * @property {'open' | 'elsewhere' | 'answered' | 'closed'} state elsewhere: another connection runs the tool
 * @property {string} reason why it is closed
 * @property {Frame} frame
 */
/**
 * @typedef {object} Transcript
 * @property {readonly Message[]} messages oldest first; those without a number come last
 * @property {Draft | null} draft
 * @property {boolean} stale the draft has lost its place and goes when the history is there
 * @property {readonly Request[]} requests of the newest turn
 * @property {number} attempt
 * @property {string | null} outcome of the newest turn; null while it runs
 * @property {string | null} error
 * @property {'none' | 'loading' | 'loaded' | 'failed'} history
 * @property {string | null} before where older history goes on
 */
/** @type {Transcript} */
export const empty: Transcript;
export type Frame = import("./thread.js").Frame;
export type Message = {
    /**
     * unique within the transcript; stable
     */
    key: string;
    role: string;
    /**
     * a string, or content blocks
     */
    content: any;
    /**
     * chat_seq; 0 until the server has numbered it
     */
    seq: number;
    epoch: string;
    /**
     * another one where this thread continues or branches off that one
     */
    threadId: string;
    turnId: string;
    /**
     * idempotency key, '' for most assistant messages
     */
    id: string;
    /**
     * the turn ended early
     */
    partial: boolean;
    state: "done" | "sending" | "queued" | "failed";
    /**
     * why it failed
     */
    error: Error | null;
    /**
     * as the server sent it: tool_calls and all the rest
     */
    frame: Record<string, any>;
};
/**
 * what streams at the moment
 */
export type Draft = {
    turnId: string;
    text: string;
    thinking: string;
};
export type Request = {
    id: string;
    /**
     * tool_call, tool_approval_request, plan_approval_request, secret_request
     */
    type: string;
    /**
     * of the tool, where there is one
     */
    name: string;
    args: any;
    /**
     * elsewhere: another connection runs the tool
     */
    state: "open" | "elsewhere" | "answered" | "closed";
    /**
     * why it is closed
     */
    reason: string;
    frame: Frame;
};
export type Transcript = {
    /**
     * oldest first; those without a number come last
     */
    messages: readonly Message[];
    draft: Draft | null;
    /**
     * the draft has lost its place and goes when the history is there
     */
    stale: boolean;
    /**
     * of the newest turn
     */
    requests: readonly Request[];
    attempt: number;
    /**
     * of the newest turn; null while it runs
     */
    outcome: string | null;
    error: string | null;
    history: "none" | "loading" | "loaded" | "failed";
    /**
     * where older history goes on
     */
    before: string | null;
};
