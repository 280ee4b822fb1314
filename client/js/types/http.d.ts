/** The path of a thread. @param {string} id */
export function threadPath(id: string): string;
/** A refused call with its HTTP status. */
export class HttpError extends RefusedError {
    /**
     * @param {string} call @param {number} status @param {Record<string, any>} problem
     * @param {number} retryAfter ms, 0 = not said
     */
    constructor(call: string, status: number, problem: Record<string, any>, retryAfter: number);
    status: number;
    retryAfter: number;
}
/** @typedef {{method?: string, body?: unknown, headers?: Record<string, string>, signal?: AbortSignal, token?: string}} CallOptions */
export class Http {
    /**
     * @param {typeof fetch} fetch
     * @param {() => string} base where /v1 is, such as https://example.org
     * @param {string} user for servers without authentication, '' for none
     * @param {() => string} token the present one, '' for none
     */
    constructor(fetch: typeof globalThis.fetch, base: () => string, user: string, token: () => string);
    base: () => string;
    /**
     * Makes a request; rejects with HttpError or ConnectionError.
     * @param {string} path below the base, with its query
     * @param {CallOptions} [options]
     * @returns {Promise<Response>}
     */
    request(path: string, { method, body, headers, signal, token }?: CallOptions): Promise<Response>;
    /** @param {string} path @param {CallOptions} [options] @returns {Promise<any>} */
    json(path: string, options?: CallOptions): Promise<any>;
    #private;
}
export type CallOptions = {
    method?: string;
    body?: unknown;
    headers?: Record<string, string>;
    signal?: AbortSignal;
    token?: string;
};
import { RefusedError } from './errors.js';
