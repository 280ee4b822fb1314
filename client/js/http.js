/**
 * Calls of the HTTP API, see docs/http.md.
 * @module
 */
import { asError, ConnectionError, RefusedError, throwIfAborted } from './errors.js';

/** A refused call with its HTTP status. */
export class HttpError extends RefusedError {
  /**
   * @param {string} call @param {number} status @param {Record<string, any>} problem
   * @param {number} retryAfter ms, 0 = not said
   */
  constructor(call, status, problem, retryAfter) {
    super(call, problem.code ?? `http_${status}`, problem.detail ?? problem.title ?? '', Boolean(problem.retryable));
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** @typedef {{method?: string, body?: unknown, headers?: Record<string, string>, signal?: AbortSignal, token?: string}} CallOptions */

export class Http {
  #fetch;
  #user;
  #token;

  /**
   * @param {typeof fetch} fetch
   * @param {() => string} base where /v1 is, such as https://example.org
   * @param {string} user for servers without authentication, '' for none
   * @param {() => string} token the present one, '' for none
   */
  constructor(fetch, base, user, token) {
    this.#fetch = fetch;
    this.base = base;
    this.#user = user;
    this.#token = token;
  }

  /**
   * Makes a request; rejects with HttpError or ConnectionError.
   * @param {string} path below the base, with its query
   * @param {CallOptions} [options]
   * @returns {Promise<Response>}
   */
  async request(path, { method = 'GET', body, headers = {}, signal, token = this.#token() } = {}) {
    const query = this.#user ? `${path.includes('?') ? '&' : '?'}user=${encodeURIComponent(this.#user)}` : '';
    /** @type {Record<string, string>} */
    const all = { ...headers };
    if (token) all.Authorization = `Bearer ${token}`;
    if (body !== undefined) all['Content-Type'] = 'application/json';
    const call = `${method} ${path.split('?')[0]}`;
    let response;
    try {
      const fetch = this.#fetch; // not a method call: browsers insist on that
      response = await fetch(this.base() + path + query, {
        method, headers: all, signal, cache: 'no-store', credentials: 'omit', body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (error) {
      throwIfAborted(signal);
      throw new ConnectionError('network', `${call}: ${asError(error).message}`, error);
    }
    if (response.ok) return response;
    const problem = await response.json().catch(() => ({}));
    const after = Number(response.headers.get('Retry-After'));
    throw new HttpError(call, response.status, problem ?? {}, after > 0 ? Math.min(after, 3600) * 1000 : 0);
  }

  /** @param {string} path @param {CallOptions} [options] @returns {Promise<any>} */
  async json(path, options) {
    const response = await this.request(path, options);
    if (response.status === 204) return null;
    try {
      return await response.json();
    } catch (error) {
      throwIfAborted(options?.signal);
      throw new ConnectionError('network', `${path}: the answer was cut or is no JSON`, error);
    }
  }
}

/** The path of a thread. @param {string} id */
export function threadPath(id) {
  const segment = id === '.' ? '%2E' : id === '..' ? '%2E%2E' : encodeURIComponent(id);
  return `/v1/threads/${segment}`;
}
