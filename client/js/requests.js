/**
 * Remembers every request of the server by id: a tool call runs once, and an
 * answer is repeated only when the server asks again.
 * @module
 */

/** Closed requests remembered, so that a late replay of one does nothing. */
const REMEMBERED = 1024;

/**
 * @typedef {object} Request
 * @property {string} id
 * @property {string} threadId
 * @property {boolean} closed
 * @property {Record<string, any>} [answer] the control message that answers it
 * @property {number} [sentOn] the connection that carries the answer, 0 = none yet
 * @property {AbortController} [running] of the tool that runs for it
 */

export class Requests {
  /** @type {Map<string, Request>} */
  #all = new Map();
  /** Closed ones, oldest first. @type {string[]} */
  #closed = [];

  /**
   * Takes a request that arrived on a connection.
   * @param {string} id
   * @param {string} threadId
   * @param {number} connection
   * @returns {{request: Request, fresh: boolean, repeat?: Record<string, any>}} repeat is the
   *   answer to send again: the server still waits, and this connection has not carried it
   */
  see(id, threadId, connection) {
    const known = this.#all.get(id);
    if (known) {
      if (known.closed || !known.answer || known.sentOn === connection) return { request: known, fresh: false };
      known.sentOn = connection;
      return { request: known, fresh: false, repeat: known.answer };
    }
    const request = { id, threadId, closed: false };
    this.#all.set(id, request);
    return { request, fresh: true };
  }

  /** @param {string} id */
  get(id) {
    return this.#all.get(id);
  }

  /**
   * Remembers the answer to a request; the first one counts.
   * @param {string} id @param {Record<string, any>} answer @param {number} connection that carries it
   */
  answered(id, answer, connection) {
    const request = this.#all.get(id);
    if (request && !request.closed && !request.answer) Object.assign(request, { answer, sentOn: connection });
  }

  /** Notes that a waiting answer travels on a connection now. @param {string} id @param {number} connection */
  carries(id, connection) {
    const request = this.#all.get(id);
    if (request) request.sentOn = connection;
  }

  /**
   * Closes a request and stops its tool.
   * @param {string} id @param {string} reason
   * @returns {boolean} whether it was open here
   */
  end(id, reason) {
    let request = this.#all.get(id);
    const open = Boolean(request && !request.closed);
    if (request?.closed) return false;
    if (!request) this.#all.set(id, (request = { id, threadId: '', closed: true })); // a later replay must not run it
    request.closed = true;
    delete request.answer;
    if (reason !== 'answered') request.running?.abort(new Error(`the request was closed: ${reason}`));
    this.#closed.push(id);
    if (this.#closed.length > REMEMBERED) this.#all.delete(/** @type {string} */ (this.#closed.shift()));
    return open;
  }

  /** Closes what a thread's ended turn left open. @param {string} threadId */
  endTurn(threadId) {
    for (const r of this.#all.values()) if (!r.closed && r.threadId === threadId) this.end(r.id, 'turn_ended');
  }

  /** Stops every tool. @param {Error} why */
  stop(why) {
    for (const r of this.#all.values()) r.running?.abort(why);
  }
}
