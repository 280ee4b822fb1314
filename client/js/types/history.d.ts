export class History {
    /** @param {import('./http.js').Http} http @param {import('./emitter.js').Emitter} emitter */
    constructor(http: import("./http.js").Http, emitter: import("./emitter.js").Emitter);
    /** Loads the newest page; a later call replaces an earlier one. @param {Thread} thread @param {number} limit messages kept */
    reconcile(thread: Thread, limit: number): void;
    /** Puts an older page in front. @param {Thread} thread @param {AbortSignal} [signal] */
    older(thread: Thread, signal?: AbortSignal): Promise<void>;
    close(): void;
    #private;
}
export type Thread = import("./handle.js").Thread;
