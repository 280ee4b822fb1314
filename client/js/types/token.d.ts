/** @typedef {(context: {signal: AbortSignal}) => string | Promise<string>} TokenSource */
/**
 * Asks for a token.
 * @param {TokenSource | null} source
 * @param {AbortSignal} signal
 * @returns {Promise<string>} '' without a source
 */
export function freshToken(source: TokenSource | null, signal: AbortSignal): Promise<string>;
/**
 * When a JWT expires, in ms since 1970; 0 when it does not say.
 * @param {string} token
 */
export function expiry(token: string): number;
/** Extends a connection with a new token shortly before the present one expires. */
export class Reauth {
    /**
     * @param {number} before ms before the expiry; 0 = never
     * @param {() => void} renew
     */
    constructor(before: number, renew: () => void);
    before: number;
    renew: () => void;
    /** The server's clock counts, not this one. @param {string} serverTime */
    clock(serverTime: string): void;
    /** @param {number} expires ms since 1970, 0 = never */
    arm(expires: number): void;
    stop(): void;
    #private;
}
export type TokenSource = (context: {
    signal: AbortSignal;
}) => string | Promise<string>;
