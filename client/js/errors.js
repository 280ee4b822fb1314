/**
 * What promises of the client reject with. Every error has a stable `code`.
 * @module
 */

export class TurnlogError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {{cause?: unknown}} [options]
   */
  constructor(code, message, options) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The client was closed; make another one with createClient. */
export class ClosedError extends TurnlogError {
  /** @param {unknown} [cause] */
  constructor(cause) {
    const why = cause instanceof Error && !(cause instanceof ClosedError) ? ` (${cause.message})` : '';
    super('closed', `the client is closed${why}; make another one with createClient`, { cause });
  }
}

/** Too many commands wait for the connection or for their acknowledgement. */
export class QueueFullError extends TurnlogError {
  /** @param {number} limit */
  constructor(limit) {
    super('queue_full', `${limit} commands already wait for the server; wait for them, or raise queueLimit`);
  }
}

/** A command is larger than the server takes. */
export class TooLargeError extends TurnlogError {
  /**
   * @param {number} size
   * @param {number} limit
   */
  constructor(size, limit) {
    super('too_large', `the message has ${size} bytes; at most ${limit} are allowed (maxMessage here, limits.inbound_bytes on the server)`);
  }
}

/** The server's negative acknowledgement of a command. */
export class RefusedError extends TurnlogError {
  /**
   * @param {string} command
   * @param {string} code stable, such as `busy`, or the server's error text where there is none
   * @param {string} detail
   * @param {boolean} retryable
   */
  constructor(command, code, detail, retryable) {
    super(code, `${command} refused: ${code}${detail && detail !== code ? `: ${detail}` : ''}`);
    this.command = command;
    this.retryable = retryable;
  }
}

/** The server refuses this client for good. */
export class UnauthorizedError extends TurnlogError {
  /**
   * @param {string} message
   * @param {unknown} [cause]
   */
  constructor(message, cause) {
    super('unauthorized', message, { cause });
  }
}

/** The connection was lost; the client comes back by itself. */
export class ConnectionError extends TurnlogError {
  /**
   * @param {string} code
   * @param {string} message
   * @param {unknown} [cause]
   */
  constructor(code, message, cause) {
    super(code, message, { cause });
  }
}

/** The server does not speak the protocol as it should. */
export class ProtocolError extends TurnlogError {
  /** @param {string} message */
  constructor(message) {
    super('protocol', message);
  }
}

/** @param {unknown} error */
export function asError(error) {
  return error instanceof Error ? error : new Error(String(error));
}

/**
 * A promise that nobody has to look at: ignored, it is no unhandled rejection.
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
export function ignorable(promise) {
  promise.catch(() => {});
  return promise;
}

/** AbortSignal.throwIfAborted, which React Native has not. @param {AbortSignal} [signal] */
export function throwIfAborted(signal) {
  if (signal?.aborted) throw reasonOf(signal);
}

/** @param {AbortSignal} signal */
export function reasonOf(signal) {
  return signal.reason ?? Object.assign(new Error('aborted'), { name: 'AbortError' });
}
