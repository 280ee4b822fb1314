/**
 * Tokens: a fresh one for every connection, and when it expires.
 * @module
 */
import { asError, ConnectionError, UnauthorizedError } from './errors.js';

/** @typedef {(context: {signal: AbortSignal}) => string | Promise<string>} TokenSource */

/**
 * Asks for a token.
 * @param {TokenSource | null} source
 * @param {AbortSignal} signal
 * @returns {Promise<string>} '' without a source
 */
export async function freshToken(source, signal) {
  if (!source) return '';
  let token;
  try {
    token = await source({ signal });
  } catch (error) {
    throw new ConnectionError('token', `the token option failed: ${asError(error).message}`, error);
  }
  // A subprotocol can hold no more than this, and no JWT does.
  if (typeof token !== 'string' || !/^[A-Za-z0-9._~+/=-]+$/.test(token)) {
    const error = new UnauthorizedError('the token option has to return a token: letters, digits and . _ ~ + / = -, without "Bearer"');
    throw Object.assign(error, { loss: { error, handshake: true, token: true } });
  }
  return token;
}

/**
 * When a JWT expires, in ms since 1970; 0 when it does not say.
 * @param {string} token
 */
export function expiry(token) {
  try {
    const part = token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/');
    const { exp } = JSON.parse(atob(part));
    return typeof exp === 'number' ? exp * 1000 : 0;
  } catch {
    return 0;
  }
}

/** The longest timer of browsers, in ms. */
const LONGEST = 2 ** 31 - 1;

/** Extends a connection with a new token shortly before the present one expires. */
export class Reauth {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #skew = 0;

  /**
   * @param {number} before ms before the expiry; 0 = never
   * @param {() => void} renew
   */
  constructor(before, renew) {
    this.before = before;
    this.renew = renew;
  }

  /** The server's clock counts, not this one. @param {string} serverTime */
  clock(serverTime) {
    const at = Date.parse(serverTime);
    if (at) this.#skew = at - Date.now();
  }

  /** @param {number} expires ms since 1970, 0 = never */
  arm(expires) {
    this.stop();
    if (!this.before || !expires) return;
    const left = expires - (Date.now() + this.#skew);
    // A token that lives shorter than `before` is renewed at half of its life.
    const wait = left > this.before ? left - this.before : left / 2;
    if (left > 0) this.#timer = setTimeout(this.renew, Math.min(wait, LONGEST));
  }

  stop() {
    clearTimeout(this.#timer);
  }
}
