/**
 * Idempotency keys.
 * @module
 */
/** A key that nobody else mints. */
export function newId(): string;
/** Size in bytes on the wire. @param {string} text */
export function byteLength(text: string): number;
