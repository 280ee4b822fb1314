/**
 * @typedef {object} Tool
 * @property {string} [description]
 * @property {Record<string, any>} [parameters] JSON schema; an object without properties when absent
 * @property {(args: any, call: {signal: AbortSignal, threadId: string, id: string}) => unknown} run may be async;
 *   the result must be encodable as JSON. signal aborts when the call needs no answer any more
 */
/** @typedef {{threadId: string, id: string, name: string, args: any}} Call */
/** @typedef {{ok: boolean, result: unknown, error?: string}} Answer */
/** Decides whether a call runs here. @typedef {(id: string, run: () => Promise<Answer>) => Promise<Answer>} Once */
export class Tools {
    /**
     * @param {Record<string, Tool>} tools
     * @param {Once} [once]
     */
    constructor(tools: Record<string, Tool>, once?: Once);
    /** @param {string} name @param {Tool} tool */
    add(name: string, tool: Tool): void;
    /** @param {string} name @param {Tool} tool */
    remove(name: string, tool: Tool): void;
    /** @param {string} name */
    get(name: string): Tool | undefined;
    names(): string[];
    /** What announces the tools; null when there are none and never were. */
    manifest(): {
        type: string;
        tools: {
            name: string;
            description: string;
            parameters: Record<string, any>;
        }[];
    } | null;
    /**
     * Runs one call; never rejects. What a tool throws becomes an answer.
     * @param {Tool} tool @param {Call} call @param {AbortSignal} signal
     * @returns {Promise<Answer>}
     */
    run(tool: Tool, call: Call, signal: AbortSignal): Promise<Answer>;
    #private;
}
export type Tool = {
    description?: string | undefined;
    /**
     * JSON schema; an object without properties when absent
     */
    parameters?: Record<string, any> | undefined;
    /**
     * may be async;
     * the result must be encodable as JSON. signal aborts when the call needs no answer any more
     */
    run: (args: any, call: {
        signal: AbortSignal;
        threadId: string;
        id: string;
    }) => unknown;
};
export type Call = {
    threadId: string;
    id: string;
    name: string;
    args: any;
};
export type Answer = {
    ok: boolean;
    result: unknown;
    error?: string;
};
/**
 * Decides whether a call runs here.
 */
export type Once = (id: string, run: () => Promise<Answer>) => Promise<Answer>;
