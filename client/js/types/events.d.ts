export type Frame = import("./thread.js").Frame;
export type Events = {
    state: [state: import("./connection.js").State];
    /**
     * every frame that is new: numbered ones once and in order
     */
    frame: [frame: Frame, info: {
        replayed: boolean;
    }];
    /**
     * every message as it passes
     */
    raw: [raw: {
        direction: "in" | "out";
        message: Record<string, any>;
        at: number;
    }];
    /**
     * a frame that was not new
     */
    dropped: [frame: Frame, reason: "seen" | "syncing" | "gap" | "renumbered" | "unknown thread"];
    /**
     * a chat_resumed before its frames
     */
    header: [header: Frame];
    /**
     * what follows is live
     */
    resumed: [resumed: {
        threadId: string;
        status: string;
        replayed: number;
        incomplete: boolean;
    }];
    /**
     * the history has to be loaded again
     */
    reconcile: [why: {
        threadId: string;
        status: string;
    }];
    turn: [turn: {
        threadId: string;
        turnId: string;
        attempt: number;
        message: any;
    }];
    finish: [finish: {
        threadId: string;
        turnId: string;
        outcome: string;
        error?: string;
        usage?: any;
    }];
    text: [text: {
        threadId: string;
        turnId: string;
        text: string;
        thinking: boolean;
    }];
    /**
     * an assistant or tool message
     */
    message: [message: {
        threadId: string;
        message: Frame;
    }];
    /**
     * once per id
     */
    request: [request: {
        threadId: string;
        id: string;
        type: string;
        name: string;
        args: any;
        frame: Frame;
    }];
    requestClosed: [closed: {
        threadId: string;
        id: string;
        reason: string;
    }];
    busy: [busy: {
        threadId: string;
        busy: boolean;
    }];
    /**
     * a chat_turn_active of a list
     */
    active: [turn: Frame];
    error: [error: {
        threadId: string;
        message: string;
        code: string;
        error?: unknown;
    }];
};
