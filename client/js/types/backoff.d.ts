/** A connection that lived this long, in ms, was healthy. */
export const STABLE_AFTER: 2000;
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
    constructor(max: number, random?: () => number);
    max: number;
    random: () => number;
    /** Failures in a row. */
    failures: number;
    /** Forgets earlier failures. */
    healthy(): void;
    /**
     * Counts a failure.
     * @param {Pick<Loss, 'restart' | 'later'>} why
     * @returns {number} ms until the next attempt
     */
    next(why: Pick<Loss, "restart" | "later">): number;
}
/**
 * Why a connection could not be made, or ended.
 */
export type Loss = {
    error: Error;
    /**
     * retrying cannot help
     */
    fatal?: boolean | undefined;
    /**
     * the node goes away, or went without a word
     */
    restart?: boolean | undefined;
    /**
     * wait at least this long, in ms
     */
    later?: number | undefined;
    /**
     * the token was not accepted
     */
    token?: boolean | undefined;
    /**
     * no connection was made
     */
    handshake?: boolean | undefined;
};
