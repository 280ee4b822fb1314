/**
 * Idempotency keys.
 * @module
 */

/** A key that nobody else mints. */
export function newId() {
  const crypto = globalThis.crypto;
  if (crypto?.randomUUID) return `m-${crypto.randomUUID()}`;
  if (crypto?.getRandomValues) {
    return `m-${[...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('')}`;
  }
  // React Native without a polyfill: keys must only differ within a user's day.
  return `m-${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
}

/** Size in bytes on the wire. @param {string} text */
export function byteLength(text) {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) bytes += unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1; // half of a pair: 2 of its 4 bytes
  }
  return bytes;
}
