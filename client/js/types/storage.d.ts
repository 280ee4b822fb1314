export class Cursors {
    /** @param {Store} store @param {string} name of this server and user */
    constructor(store: Store, name: string);
    /** @param {Thread} thread */
    changed(thread: Thread): void;
    /** Writes what has changed. */
    save(): void;
    /** @param {Thread} thread */
    restore(thread: Thread): void;
    close(): void;
    #private;
}
export type Thread = import("./handle.js").Thread;
export type Message = import("./transcript.js").Message;
export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;
