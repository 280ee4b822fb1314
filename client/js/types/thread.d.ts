/**
 * @typedef {object} ThreadState
 * @property {string} id
 * @property {string} epoch
 * @property {number} cursor highest chat_seq seen
 * @property {boolean} positioned the cursor means something: the next frame is cursor + 1
 * @property {boolean} syncing a resume is on its way: numbered frames are dropped
 * @property {number} replayEnd last_seq of the newest header: up to here frames are replayed
 * @property {boolean} open asked to be followed while idle too
 * @property {boolean} running a turn is in flight
 * @property {string} turnId
 * @property {readonly string[]} queued turn ids of submissions that wait on the server
 * @property {number} sending submissions without acknowledgement
 * @property {boolean} tried one of them was written on an earlier connection
 * @property {readonly string[]} turns newest turn ids seen start
 * @property {boolean} full the next resume asks for everything held
 * @property {string} policy on_disconnect of resumes, '' for none
 */
/**
 * @typedef {Record<string, any> & {type: string}} Frame one object of the wire, see docs/protocol.md
 */
/**
 * @typedef {{type: 'open', lastSeq?: number, epoch?: string, full?: boolean, onDisconnect?: string, online: boolean}
 *   | {type: 'left'}
 *   | {type: 'connected'}
 *   | {type: 'disconnected'}
 *   | {type: 'header', header: Frame}
 *   | {type: 'frame', frame: Frame}
 *   | {type: 'active', turnId: string}
 *   | {type: 'sent'}
 *   | {type: 'retried'}
 *   | {type: 'accepted', ack: Record<string, any>}
 *   | {type: 'refused'}
 *   | {type: 'followed', ack: Record<string, any>}
 *   | {type: 'resumeRefused'}} Input
 */
/**
 * What has to be done, in order:
 * deliver: the frame is new, show it; drop: it is not; resume: send resume_chat
 * with `data`; reconcile: load the history again; busy: tell.
 * @typedef {{do: 'deliver', frame: Frame, replayed: boolean}
 *   | {do: 'drop', frame: Frame, reason: 'seen' | 'syncing' | 'gap' | 'renumbered'}
 *   | {do: 'resume', data: Record<string, any>}
 *   | {do: 'reconcile', status: string}
 *   | {do: 'busy', busy: boolean}} Effect
 */
/**
 * @param {string} id
 * @returns {ThreadState}
 */
export function newThread(id: string): ThreadState;
/**
 * Takes one input.
 * @param {ThreadState} before
 * @param {Input} input
 * @returns {{state: ThreadState, effects: Effect[]}}
 */
export function step(before: ThreadState, input: Input): {
    state: ThreadState;
    effects: Effect[];
};
export function busy(s: ThreadState): boolean;
export function wanted(s: ThreadState): boolean;
export type ThreadState = {
    id: string;
    epoch: string;
    /**
     * highest chat_seq seen
     */
    cursor: number;
    /**
     * the cursor means something: the next frame is cursor + 1
     */
    positioned: boolean;
    /**
     * a resume is on its way: numbered frames are dropped
     */
    syncing: boolean;
    /**
     * last_seq of the newest header: up to here frames are replayed
     */
    replayEnd: number;
    /**
     * asked to be followed while idle too
     */
    open: boolean;
    /**
     * a turn is in flight
     */
    running: boolean;
    turnId: string;
    /**
     * turn ids of submissions that wait on the server
     */
    queued: readonly string[];
    /**
     * submissions without acknowledgement
     */
    sending: number;
    /**
     * one of them was written on an earlier connection
     */
    tried: boolean;
    /**
     * newest turn ids seen start
     */
    turns: readonly string[];
    /**
     * the next resume asks for everything held
     */
    full: boolean;
    /**
     * on_disconnect of resumes, '' for none
     */
    policy: string;
};
/**
 * one object of the wire, see docs/protocol.md
 */
export type Frame = Record<string, any> & {
    type: string;
};
export type Input = {
    type: "open";
    lastSeq?: number;
    epoch?: string;
    full?: boolean;
    onDisconnect?: string;
    online: boolean;
} | {
    type: "left";
} | {
    type: "connected";
} | {
    type: "disconnected";
} | {
    type: "header";
    header: Frame;
} | {
    type: "frame";
    frame: Frame;
} | {
    type: "active";
    turnId: string;
} | {
    type: "sent";
} | {
    type: "retried";
} | {
    type: "accepted";
    ack: Record<string, any>;
} | {
    type: "refused";
} | {
    type: "followed";
    ack: Record<string, any>;
} | {
    type: "resumeRefused";
};
/**
 * What has to be done, in order:
 * deliver: the frame is new, show it; drop: it is not; resume: send resume_chat
 * with `data`; reconcile: load the history again; busy: tell.
 */
export type Effect = {
    do: "deliver";
    frame: Frame;
    replayed: boolean;
} | {
    do: "drop";
    frame: Frame;
    reason: "seen" | "syncing" | "gap" | "renumbered";
} | {
    do: "resume";
    data: Record<string, any>;
} | {
    do: "reconcile";
    status: string;
} | {
    do: "busy";
    busy: boolean;
};
