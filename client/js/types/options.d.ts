/**
 * @param {Options} given
 */
export function withDefaults(given: Options): {
    transport: "auto" | "websocket" | "sse";
    /**
     * asked before every connect, so that an expired token is replaced
     */
    token: import("./token.js").TokenSource | null;
    /**
     * ms before a JWT's expiry at which the connection is extended with a new token; 0 (default) = never
     */
    reauthBefore: number;
    /**
     * user name, for servers without authentication
     */
    user: string;
    /**
     * by name
     */
    tools: Record<string, import("./tools.js").Tool>;
    /**
     * a tool call runs once per page (default), or per device, over reloads and tabs
     */
    once: string;
    /**
     * for once: 'device'; default localStorage
     */
    deviceStorage: Pick<Storage, "getItem" | "removeItem" | "setItem"> | undefined;
    /**
     * default: the global one
     */
    WebSocket: typeof WebSocket;
    /**
     * default: the global one; for history and event streams
     */
    fetch: typeof fetch;
    /**
     * of a MessagePack library; the connection is binary then
     */
    codec: import("./socket.js").Codec | null;
    /**
     * ask for the user's running turns at every connect
     */
    discover: boolean;
    /**
     * whether a running turn of an unknown thread is followed; default: all are
     */
    adopt: (threadId: string) => boolean;
    /**
     * load messages over HTTP when a header says so; default true
     */
    history: boolean;
    /**
     * where /v1 is; default: where the WebSocket is
     */
    httpUrl: string;
    /**
     * sessionStorage: threads go on after a reload where they were
     */
    storage: import("./storage.js").Store | null;
    /**
     * whose threads they are, so that the next user of the tab does not see them; default: user
     */
    storageKey: string;
    /**
     * ms of silence after which a connection is taken for dead; default 60,000, the server speaks every 25,000
     */
    silence: number;
    /**
     * ms for one attempt, token included; default 10,000
     */
    dialTimeout: number;
    /**
     * ms between two attempts at most; default 10,000
     */
    maxDelay: number;
    /**
     * commands that wait; default 256, which stays within the server's burst of 400 messages
     */
    queueLimit: number;
    /**
     * bytes of one command; default 8 MiB, the server's own
     */
    maxMessage: number;
    /**
     * messages kept per thread; default 500
     */
    messageLimit: number;
    /**
     * hears what listeners throw; default console
     */
    logger: {
        error: (...args: any[]) => void;
    };
};
/**
 * The addresses behind a url that a user gave: http becomes ws, the path defaults to /ws.
 * @param {string} given
 * @param {{user: string, codec: unknown, httpUrl: string}} options
 * @returns {{socket: string, http: string}}
 */
export function endpoint(given: string, { user, codec, httpUrl }: {
    user: string;
    codec: unknown;
    httpUrl: string;
}): {
    socket: string;
    http: string;
};
/**
 * All optional.
 */
export type Options = {
    /**
     * asked before every connect, so that an expired token is replaced
     */
    token?: import("./token.js").TokenSource | undefined;
    /**
     * ms before a JWT's expiry at which the connection is extended with a new token; 0 (default) = never
     */
    reauthBefore?: number | undefined;
    /**
     * user name, for servers without authentication
     */
    user?: string | undefined;
    /**
     * by name
     */
    tools?: Record<string, import("./tools.js").Tool> | undefined;
    /**
     * a tool call runs once per page (default), or per device, over reloads and tabs
     */
    once?: "page" | "device" | undefined;
    /**
     * for once: 'device'; default localStorage
     */
    deviceStorage?: Pick<Storage, "getItem" | "removeItem" | "setItem"> | undefined;
    /**
     * auto (default) falls back to event streams when no WebSocket opens
     */
    transport?: "auto" | "websocket" | "sse" | undefined;
    /**
     * default: the global one
     */
    WebSocket?: {
        new (url: string | URL, protocols?: string | string[]): WebSocket;
        prototype: WebSocket;
        readonly CONNECTING: 0;
        readonly OPEN: 1;
        readonly CLOSING: 2;
        readonly CLOSED: 3;
    } | undefined;
    /**
     * default: the global one; for history and event streams
     */
    fetch?: typeof fetch | undefined;
    /**
     * of a MessagePack library; the connection is binary then
     */
    codec?: import("./socket.js").Codec | null | undefined;
    /**
     * ask for the user's running turns at every connect
     */
    discover?: boolean | undefined;
    /**
     * whether a running turn of an unknown thread is followed; default: all are
     */
    adopt?: ((threadId: string) => boolean) | undefined;
    /**
     * load messages over HTTP when a header says so; default true
     */
    history?: boolean | undefined;
    /**
     * where /v1 is; default: where the WebSocket is
     */
    httpUrl?: string | undefined;
    /**
     * sessionStorage: threads go on after a reload where they were
     */
    storage?: import("./storage.js").Store | null | undefined;
    /**
     * whose threads they are, so that the next user of the tab does not see them; default: user
     */
    storageKey?: string | undefined;
    /**
     * ms of silence after which a connection is taken for dead; default 60,000, the server speaks every 25,000
     */
    silence?: number | undefined;
    /**
     * ms for one attempt, token included; default 10,000
     */
    dialTimeout?: number | undefined;
    /**
     * ms between two attempts at most; default 10,000
     */
    maxDelay?: number | undefined;
    /**
     * commands that wait; default 256, which stays within the server's burst of 400 messages
     */
    queueLimit?: number | undefined;
    /**
     * bytes of one command; default 8 MiB, the server's own
     */
    maxMessage?: number | undefined;
    /**
     * messages kept per thread; default 500
     */
    messageLimit?: number | undefined;
    /**
     * hears what listeners throw; default console
     */
    logger?: {
        error: (...args: any[]) => void;
    } | undefined;
};
