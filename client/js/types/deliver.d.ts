/** @typedef {import('./thread.js').Frame} Frame */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('./handle.js').Thread} Thread */
/**
 * @param {Session} session
 * @param {Thread | null} thread null for frames that belong to none we know
 * @param {Frame} f
 * @param {boolean} replayed
 */
export function deliver(session: Session, thread: Thread | null, f: Frame, replayed: boolean): void;
export type Frame = import("./thread.js").Frame;
export type Session = import("./session.js").Session;
export type Thread = import("./handle.js").Thread;
