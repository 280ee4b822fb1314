/**
 * How long to wait before the next attempt to connect. Pure but for `random`.
 *
 * The first retry after a healthy connection is immediate (spread over a second
 * when the node went away, so that its clients do not return as one wave); later
 * ones wait a random time below 250 ms, 500 ms, ... up to `max` (full jitter).
 * @module
 */

const FIRST = 250;
const RESTART_SPAN = 1000;

/** A connection that lived this long, in ms, was healthy. */
export const STABLE_AFTER = 2000;

/**
 * Why a connection could not be made, or ended.
 * @typedef {object} Loss
 * @property {Error} error
 * @property {boolean} [fatal] retrying cannot help
 * @property {boolean} [restart] the node goes away, or went without a word
 * @property {number} [later] wait at least this long, in ms
 * @property {boolean} [token] the token was not accepted
 * @property {boolean} [handshake] no connection was made
 */

export class Backoff {
  /**
   * @param {number} max the longest wait in ms
   * @param {() => number} [random] in [0, 1)
   */
  constructor(max, random = Math.random) {
    this.max = max;
    this.random = random;
    /** Failures in a row. */
    this.failures = 0;
  }

  /** Forgets earlier failures. */
  healthy() {
    this.failures = 0;
  }

  /**
   * Counts a failure.
   * @param {Pick<Loss, 'restart' | 'later'>} why
   * @returns {number} ms until the next attempt
   */
  next(why) {
    this.failures++;
    const jitter = (/** @type {number} */ span) => this.random() * span;
    const span = Math.min(this.max, RESTART_SPAN);
    if (why.restart && this.failures === 1) return jitter(span);
    const ceiling = Math.min(this.max, FIRST * 2 ** Math.min(this.failures - 2, 16));
    const wait = this.failures > 1 ? jitter(ceiling) : 0;
    if (why.later) return Math.max(wait, Math.min(this.max, why.later)) + jitter(span);
    return wait;
  }
}
