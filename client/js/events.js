/**
 * What a client tells its listeners: the arguments of each event. Types only.
 * @module
 */

/** @typedef {import('./thread.js').Frame} Frame */

/**
 * @typedef {object} Events
 * @property {[state: import('./connection.js').State]} state
 * @property {[frame: Frame, info: {replayed: boolean}]} frame every frame that is new: numbered ones once and in order
 * @property {[raw: {direction: 'in' | 'out', message: Record<string, any>, at: number}]} raw every message as it passes
 * @property {[frame: Frame, reason: 'seen' | 'syncing' | 'gap' | 'renumbered' | 'unknown thread']} dropped a frame that was not new
 * @property {[header: Frame]} header a chat_resumed before its frames
 * @property {[resumed: {threadId: string, status: string, replayed: number, incomplete: boolean}]} resumed what follows is live
 * @property {[why: {threadId: string, status: string}]} reconcile the history has to be loaded again
 * @property {[turn: {threadId: string, turnId: string, attempt: number, message: any}]} turn
 * @property {[finish: {threadId: string, turnId: string, outcome: string, error?: string, usage?: any}]} finish
 * @property {[text: {threadId: string, turnId: string, text: string, thinking: boolean}]} text
 * @property {[message: {threadId: string, message: Frame}]} message an assistant or tool message
 * @property {[request: {threadId: string, id: string, type: string, name: string, args: any, frame: Frame}]} request once per id
 * @property {[closed: {threadId: string, id: string, reason: string}]} requestClosed
 * @property {[busy: {threadId: string, busy: boolean}]} busy
 * @property {[turn: Frame]} active a chat_turn_active of a list
 * @property {[error: {threadId: string, message: string, code: string, error?: unknown}]} error
 */

export {};
