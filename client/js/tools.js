/**
 * Functions of this page that agents may call.
 * @module
 */
import { asError, TurnlogError } from './errors.js';

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
  /** @type {Map<string, Tool>} */
  #tools = new Map();
  #announced = false;
  #once;

  /**
   * @param {Record<string, Tool>} tools
   * @param {Once} [once]
   */
  constructor(tools, once = (_, run) => run()) {
    for (const [name, tool] of Object.entries(tools)) this.add(name, tool);
    this.#once = once;
  }

  /** @param {string} name @param {Tool} tool */
  add(name, tool) {
    if (!name || typeof tool?.run !== 'function') throw new TurnlogError('invalid_option', `tool ${JSON.stringify(name)} needs a name and a run function`);
    if (this.#tools.has(name)) throw new TurnlogError('invalid_option', `there is a tool ${name} already; remove it first`);
    this.#tools.set(name, tool);
  }

  /** @param {string} name @param {Tool} tool */
  remove(name, tool) {
    if (this.#tools.get(name) === tool) this.#tools.delete(name);
  }

  /** @param {string} name */
  get(name) {
    return this.#tools.get(name);
  }

  names() {
    return [...this.#tools.keys()];
  }

  /** What announces the tools; null when there are none and never were. */
  manifest() {
    if (this.#tools.size === 0 && !this.#announced) return null;
    this.#announced = true;
    const tools = [...this.#tools].map(([name, { description = '', parameters = { type: 'object', properties: {} } }]) => ({ name, description, parameters }));
    return { type: 'client_tools_manifest', tools };
  }

  /**
   * Runs one call; never rejects. What a tool throws becomes an answer.
   * @param {Tool} tool @param {Call} call @param {AbortSignal} signal
   * @returns {Promise<Answer>}
   */
  async run(tool, call, signal) {
    const execute = async () => {
      const result = (await tool.run(call.args ?? {}, { signal, threadId: call.threadId, id: call.id })) ?? null;
      JSON.stringify(result); // a cycle or a BigInt throws here
      return { ok: true, result };
    };
    /** @type {Promise<Answer> | undefined} */
    let once; // whatever happens around it, it executes once
    const guarded = () => (once ??= execute().catch((error) => ({ ok: false, result: null, error: `tool ${call.name}: ${asError(error).message}` })));
    return this.#once(call.id, guarded).catch(guarded);
  }
}
