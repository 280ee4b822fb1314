/**
 * Reads server-sent events from a response, as the HTML standard defines them.
 * @module
 */

/** @typedef {{event: string, data: string, id: string}} ServerEvent */

/** Takes text in pieces and gives whole events. */
export class EventParser {
  #buffer = '';
  /** @type {string[]} */
  #data = [];
  #event = '';
  #id = '';
  #first = true;

  /**
   * @param {string} piece
   * @returns {ServerEvent[]}
   */
  push(piece) {
    if (this.#first && piece) {
      this.#first = false;
      if (piece.charCodeAt(0) === 0xfeff) piece = piece.slice(1);
    }
    this.#buffer += piece;
    /** @type {ServerEvent[]} */
    const events = [];
    // A CR at the very end may be half of a CRLF: it waits for the next piece.
    const lines = /([^\r\n]*)(?:\r\n|\n|\r(?!$))/gy;
    let end = 0;
    for (let m = lines.exec(this.#buffer); m; m = lines.exec(this.#buffer)) {
      end = lines.lastIndex;
      this.#line(m[1], events);
    }
    this.#buffer = this.#buffer.slice(end);
    return events;
  }

  /** @param {string} line @param {ServerEvent[]} events */
  #line(line, events) {
    if (line === '') {
      if (this.#data.length > 0) events.push({ event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id });
      this.#data = [];
      this.#event = '';
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#event = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
  }
}

/**
 * Calls on for each event until the stream ends.
 * @param {ReadableStream<Uint8Array>} body
 * @param {(event: ServerEvent) => void} on
 */
export async function readEvents(body, on) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.push(decoder.decode(value, { stream: true })).forEach(on);
    }
  } finally {
    reader.cancel().catch(() => {}); // no more of it
  }
}
