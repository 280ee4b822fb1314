/** @typedef {import('./outbox.js').Entry} Entry */
/** @typedef {Record<string, any>} Message */
/**
 * @typedef {object} CommandOptions
 * @property {string} [threadId]
 * @property {AbortSignal} [signal]
 * @property {Message} [again] the data of a second try
 * @property {() => void} [queued] the command is on its way
 * @property {() => void} [withdrawn] it was taken back before anybody saw it
 */
export class Commands {
    /** @param {{queueLimit: number, maxMessage: number}} options */
    constructor({ queueLimit, maxMessage }: {
        queueLimit: number;
        maxMessage: number;
    });
    get online(): boolean;
    /** What has no acknowledgement yet. @returns {readonly Entry[]} */
    get waiting(): readonly Entry[];
    nextId(): string;
    /** @param {(message: Message) => void} send */
    attach(send: (message: Message) => void): void;
    /** Sends everything that waits. */
    resend(): void;
    detach(): void;
    /** Sends on the present connection, or not at all. @param {Message} message */
    now(message: Message): void;
    /**
     * Queues a command.
     * @param {string} command
     * @param {Message} data
     * @param {CommandOptions} [options]
     * @returns {Promise<Message>} of its acknowledgement
     */
    submit(command: string, data: Message, { threadId, signal, again, queued, withdrawn }?: CommandOptions): Promise<Message>;
    /** Queues an answer: settled once it is written. @param {string} answers @param {Message} message @param {() => void} [queued] */
    answer(answers: string, message: Message, queued?: () => void): void;
    /** Asks something of the present connection. @param {Message} message @returns {Promise<Message>} the answer, with `error` when there is none */
    ask(message: Message): Promise<Message>;
    /**
     * Takes an acknowledgement.
     * @param {Message} ack
     * @param {(entry: Entry, failure: Error | null) => Message | void} settle applies it before the promise
     *   settles, and may replace it
     * @returns {boolean} whether it was for one of ours
     */
    acknowledged(ack: Message, settle: (entry: Entry, failure: Error | null) => Message | void): boolean;
    /** @param {Error} why */
    close(why: Error): void;
    #private;
}
export type Entry = import("./outbox.js").Entry;
export type Message = Record<string, any>;
export type CommandOptions = {
    threadId?: string | undefined;
    signal?: AbortSignal | undefined;
    /**
     * the data of a second try
     */
    again?: Message | undefined;
    /**
     * the command is on its way
     */
    queued?: (() => void) | undefined;
    /**
     * it was taken back before anybody saw it
     */
    withdrawn?: (() => void) | undefined;
};
