/**
 * Listeners by event. A listener that throws is reported and hurts nobody else.
 * @module
 */
/**
 * @typedef {(...args: any[]) => void} Listener
 */
export class Emitter {
    /** @param {(error: unknown) => void} failed hears what listeners throw */
    constructor(failed: (error: unknown) => void);
    /**
     * @param {string} event
     * @param {Listener} listener
     * @param {{signal?: AbortSignal}} [options] aborting unsubscribes
     * @returns {() => void} unsubscribes
     */
    on(event: string, listener: Listener, { signal }?: {
        signal?: AbortSignal;
    }): () => void;
    /**
     * @param {string} event
     * @param {any[]} args
     */
    emit(event: string, ...args: any[]): void;
    /** @param {string} event */
    has(event: string): boolean;
    clear(): void;
    #private;
}
export type Listener = (...args: any[]) => void;
