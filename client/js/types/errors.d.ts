/** @param {unknown} error */
export function asError(error: unknown): Error;
/**
 * A promise that nobody has to look at: ignored, it is no unhandled rejection.
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
export function ignorable<T>(promise: Promise<T>): Promise<T>;
/** AbortSignal.throwIfAborted, which React Native has not. @param {AbortSignal} [signal] */
export function throwIfAborted(signal?: AbortSignal): void;
/** @param {AbortSignal} signal */
export function reasonOf(signal: AbortSignal): any;
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
    constructor(code: string, message: string, options?: {
        cause?: unknown;
    });
    code: string;
}
/** The client was closed; make another one with createClient. */
export class ClosedError extends TurnlogError {
    /** @param {unknown} [cause] */
    constructor(cause?: unknown);
}
/** Too many commands wait for the connection or for their acknowledgement. */
export class QueueFullError extends TurnlogError {
    /** @param {number} limit */
    constructor(limit: number);
}
/** A command is larger than the server takes. */
export class TooLargeError extends TurnlogError {
    /**
     * @param {number} size
     * @param {number} limit
     */
    constructor(size: number, limit: number);
}
/** The server's negative acknowledgement of a command. */
export class RefusedError extends TurnlogError {
    /**
     * @param {string} command
     * @param {string} code stable, such as `busy`, or the server's error text where there is none
     * @param {string} detail
     * @param {boolean} retryable
     */
    constructor(command: string, code: string, detail: string, retryable: boolean);
    command: string;
    retryable: boolean;
}
/** The server refuses this client for good. */
export class UnauthorizedError extends TurnlogError {
    /**
     * @param {string} message
     * @param {unknown} [cause]
     */
    constructor(message: string, cause?: unknown);
}
/** The connection was lost; the client comes back by itself. */
export class ConnectionError extends TurnlogError {
    /**
     * @param {string} code
     * @param {string} message
     * @param {unknown} [cause]
     */
    constructor(code: string, message: string, cause?: unknown);
}
/** The server does not speak the protocol as it should. */
export class ProtocolError extends TurnlogError {
    /** @param {string} message */
    constructor(message: string);
}
