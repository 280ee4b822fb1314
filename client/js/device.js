/**
 * A tool call runs once on this device, over reloads and tabs: `once: 'device'`.
 *
 * Web Locks let one page at a time handle a call; localStorage remembers its
 * answer. A call whose page went away while it ran is answered with an error
 * and not run again: nobody knows how far it came.
 * @module
 */

/** Answers remembered, and for how long (ms). */
const REMEMBERED = 200;
const LIFETIME = 24 * 60 * 60 * 1000;

/** @typedef {import('./tools.js').Answer} Answer */
/** @typedef {Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>} Store */

/**
 * @param {Store} store localStorage, or something like it
 * @param {LockManager | undefined} locks without them two tabs may both be asked at the same moment
 * @param {string} [prefix]
 * @returns {import('./tools.js').Once}
 */
export function oncePerDevice(store, locks, prefix = 'turnlog:call:') {
  const handle = async (/** @type {string} */ id, /** @type {() => Promise<Answer>} */ run) => {
    const key = prefix + id;
    const known = read(store, key);
    if (known?.answer) return known.answer;
    if (known) return { ok: false, result: null, error: 'the page was reloaded while the tool ran; its outcome is unknown' };
    try {
      store.setItem(key, JSON.stringify({ at: Date.now() }));
      remember(store, prefix, id);
    } catch {
      return run(); // no room: once per page it is
    }
    const answer = await run();
    try {
      store.setItem(key, JSON.stringify({ at: Date.now(), answer }));
    } catch {
      store.setItem(key, JSON.stringify({ at: Date.now(), answer: { ok: false, result: null, error: 'the tool has run; its result was too large to keep' } }));
    }
    return answer;
  };
  return async (id, run) => (locks ? locks.request(prefix + id, () => handle(id, run)) : handle(id, run));
}

/** @param {Store} store @param {string} key @returns {{at: number, answer?: Answer} | null} */
function read(store, key) {
  try {
    const entry = JSON.parse(store.getItem(key) ?? 'null');
    return entry && Date.now() - entry.at < LIFETIME ? entry : null;
  } catch {
    return null;
  }
}

/** Keeps the list of calls, and forgets the oldest. @param {Store} store @param {string} prefix @param {string} id */
function remember(store, prefix, id) {
  const key = `${prefix}list`;
  /** @type {string[]} */
  let ids = [];
  try {
    ids = JSON.parse(store.getItem(key) ?? '[]');
  } catch {
    // somebody else wrote there; begin anew
  }
  ids.push(id);
  while (ids.length > REMEMBERED) store.removeItem(prefix + ids.shift());
  store.setItem(key, JSON.stringify(ids));
}
