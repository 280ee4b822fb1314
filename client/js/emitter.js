/**
 * Listeners by event. A listener that throws is reported and hurts nobody else.
 * @module
 */

/**
 * @typedef {(...args: any[]) => void} Listener
 */

export class Emitter {
  /** @type {Map<string, Set<Listener>>} */
  #listeners = new Map();
  #failed;

  /** @param {(error: unknown) => void} failed hears what listeners throw */
  constructor(failed) {
    this.#failed = failed;
  }

  /**
   * @param {string} event
   * @param {Listener} listener
   * @param {{signal?: AbortSignal}} [options] aborting unsubscribes
   * @returns {() => void} unsubscribes
   */
  on(event, listener, { signal } = {}) {
    if (signal?.aborted) return () => {};
    const entry = (/** @type {any[]} */ ...args) => listener(...args); // the same function may listen twice
    let all = this.#listeners.get(event);
    if (!all) this.#listeners.set(event, (all = new Set()));
    all.add(entry);
    const off = () => {
      all.delete(entry);
      signal?.removeEventListener('abort', off);
    };
    signal?.addEventListener('abort', off, { once: true });
    return off;
  }

  /**
   * @param {string} event
   * @param {any[]} args
   */
  emit(event, ...args) {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) {
      try {
        listener(...args);
      } catch (error) {
        this.#failed(error);
      }
    }
  }

  /** @param {string} event */
  has(event) {
    return (this.#listeners.get(event)?.size ?? 0) > 0;
  }

  clear() {
    this.#listeners.clear();
  }
}
