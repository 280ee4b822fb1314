/**
 * @typedef {object} State
 * @property {'idle' | 'connecting' | 'online' | 'waiting' | 'closed'} phase
 * @property {'websocket' | 'sse' | ''} transport while online
 * @property {string} node that answers, while online
 * @property {number} attempt 1-based since the last healthy connection
 * @property {number} delay ms until the next attempt, while waiting
 * @property {Error | null} error why it waits or is closed
 */
/**
 * @typedef {object} Hooks
 * @property {(events: Events, signal: AbortSignal) => Promise<Transport>} dial
 * @property {(transport: Transport) => void} attach a connection is open
 * @property {() => void} detach it is gone
 * @property {(objects: any[]) => void} receive throws when the connection has to end
 * @property {(now: number) => void} check now and then; throws when the connection has to end
 * @property {(state: State) => void} report
 * @property {boolean} renewable whether another token can be had
 * @property {(loss: Loss, transport: Transport | null) => Promise<Loss>} explain finds out more about a loss
 */
export class Connection {
    /**
     * @param {{silence: number, dialTimeout: number, maxDelay: number, random?: () => number}} options
     * @param {Hooks} hooks
     */
    constructor(options: {
        silence: number;
        dialTimeout: number;
        maxDelay: number;
        random?: () => number;
    }, hooks: Hooks);
    /** @type {State} */
    state: State;
    options: {
        silence: number;
        dialTimeout: number;
        maxDelay: number;
        random?: () => number;
    };
    hooks: Hooks;
    start(): void;
    /** @param {Record<string, any>} message */
    send(message: Record<string, any>): void;
    /** Ends everything and waits for it. */
    close(): Promise<void>;
    /** The network or the page is back: ends a wait, or looks whether the connection lives. */
    wake(): void;
    /** Cuts the connection and stays away for at least so long. @param {number} ms */
    drop(ms: number): void;
    #private;
}
export type Loss = import("./backoff.js").Loss;
export type Transport = import("./socket.js").Transport;
export type Events = import("./socket.js").Events;
export type State = {
    phase: "idle" | "connecting" | "online" | "waiting" | "closed";
    /**
     * while online
     */
    transport: "websocket" | "sse" | "";
    /**
     * that answers, while online
     */
    node: string;
    /**
     * 1-based since the last healthy connection
     */
    attempt: number;
    /**
     * ms until the next attempt, while waiting
     */
    delay: number;
    /**
     * why it waits or is closed
     */
    error: Error | null;
};
export type Hooks = {
    dial: (events: Events, signal: AbortSignal) => Promise<Transport>;
    /**
     * a connection is open
     */
    attach: (transport: Transport) => void;
    /**
     * it is gone
     */
    detach: () => void;
    /**
     * throws when the connection has to end
     */
    receive: (objects: any[]) => void;
    /**
     * now and then; throws when the connection has to end
     */
    check: (now: number) => void;
    report: (state: State) => void;
    /**
     * whether another token can be had
     */
    renewable: boolean;
    /**
     * finds out more about a loss
     */
    explain: (loss: Loss, transport: Transport | null) => Promise<Loss>;
};
