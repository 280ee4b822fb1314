/** @typedef {import('./tools.js').Answer} Answer */
/** @typedef {Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>} Store */
/**
 * @param {Store} store localStorage, or something like it
 * @param {LockManager | undefined} locks without them two tabs may both be asked at the same moment
 * @param {string} [prefix]
 * @returns {import('./tools.js').Once}
 */
export function oncePerDevice(store: Store, locks: LockManager | undefined, prefix?: string): import("./tools.js").Once;
export type Answer = import("./tools.js").Answer;
export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;
