/**
 * What a person sees of a thread, computed from its frames and its history:
 * (transcript, frame) -> transcript. Pure; a transcript is never changed, so a
 * part that stayed the same is the same object.
 * @module
 */

/** @typedef {import('./thread.js').Frame} Frame */

/**
 * @typedef {object} Message
 * @property {string} key unique within the transcript; stable
 * @property {string} role
 * @property {any} content a string, or content blocks
 * @property {number} seq chat_seq; 0 until the server has numbered it
 * @property {string} epoch
 * @property {string} threadId another one where this thread continues or branches off that one
 * @property {string} turnId
 * @property {string} id idempotency key, '' for most assistant messages
 * @property {boolean} partial the turn ended early
 * @property {'done' | 'sending' | 'queued' | 'failed'} state
 * @property {Error | null} error why it failed
 * @property {Record<string, any>} frame as the server sent it: tool_calls and all the rest
 */

/**
 * @typedef {object} Draft what streams at the moment
 * @property {string} turnId
 * @property {string} text
 * @property {string} thinking
 */

/**
 * @typedef {object} Request
 * @property {string} id
 * @property {string} type tool_call, tool_approval_request, plan_approval_request, secret_request
 * @property {string} name of the tool, where there is one
 * @property {any} args
 * @property {'open' | 'elsewhere' | 'answered' | 'closed'} state elsewhere: another connection runs the tool
 * @property {string} reason why it is closed
 * @property {Frame} frame
 */

/**
 * @typedef {object} Transcript
 * @property {readonly Message[]} messages oldest first; those without a number come last
 * @property {Draft | null} draft
 * @property {boolean} stale the draft has lost its place and goes when the history is there
 * @property {readonly Request[]} requests of the newest turn
 * @property {number} attempt
 * @property {string | null} outcome of the newest turn; null while it runs
 * @property {string | null} error
 * @property {'none' | 'loading' | 'loaded' | 'failed'} history
 * @property {string | null} before where older history goes on
 */

/** @type {Transcript} */
export const empty = {
  messages: [], draft: null, stale: false, requests: [], attempt: 0, outcome: null, error: null, history: 'none', before: null,
};

/**
 * Takes a frame that is new.
 * @param {Transcript} t
 * @param {Frame} f
 * @param {string} epoch the thread's
 * @param {number} limit messages kept
 * @returns {Transcript}
 */
export function applyFrame(t, f, epoch, limit) {
  switch (f.type) {
    case 'turn_started':
      return started(t, f, epoch);
    case 'chunk':
      return chunk(t, f);
    case 'message':
      return bounded({ ...add(t, toMessage(f, epoch)), draft: f.role === 'assistant' ? null : t.draft }, limit);
    case 'turn_finished':
      return finished(t, f, epoch);
    case 'error':
      return f.chat_seq ? { ...t, error: String(f.message ?? 'error') } : t;
    case 'request_closed':
      return closeRequest(t, f.request_id, f.reason);
    case 'request_open':
    case 'tool_call':
    case 'tool_approval_request':
    case 'plan_approval_request':
    case 'secret_request':
      return openRequest(t, f);
    default:
      return t;
  }
}

/** @param {Transcript} t @param {Frame} f @param {string} epoch @returns {Transcript} */
function started(t, f, epoch) {
  const again = (f.attempt ?? 1) > 1;
  const known = again && t.messages.some((m) => m.turnId === f.turn_id);
  const next = f.message && !known ? add(t, toMessage({ ...f, ...f.message, message: undefined }, epoch)) : t;
  return {
    ...next, attempt: f.attempt ?? 1, outcome: null, error: null, stale: false,
    draft: t.draft?.turnId === f.turn_id ? t.draft : null,
    requests: again ? t.requests : [],
  };
}

/** @param {Transcript} t @param {Frame} f @returns {Transcript} */
function chunk(t, f) {
  if ((f.content_type && f.content_type !== 'text') || typeof f.content !== 'string' || f.content === '') return t;
  const old = t.draft?.turnId === f.turn_id && !t.stale ? t.draft : null;
  const draft = { turnId: f.turn_id ?? '', text: old?.text ?? '', thinking: old?.thinking ?? '' };
  draft[f.thinking ? 'thinking' : 'text'] += f.content;
  return { ...t, draft, stale: false };
}

/** @param {Transcript} t @param {Frame} f @param {string} epoch @returns {Transcript} */
function finished(t, f, epoch) {
  let next = t;
  // Text that no message took over stays readable.
  if (t.draft?.text && !t.stale && t.draft.turnId === f.turn_id) {
    const left = { ...f, role: 'assistant', content: t.draft.text, error: undefined, partial: f.outcome !== 'completed' };
    next = add(t, toMessage(left, epoch));
  }
  if (f.outcome === 'superseded') return { ...next, draft: t.draft?.turnId === f.turn_id ? null : next.draft };
  const requests = t.requests.map((r) => (r.state === 'open' || r.state === 'elsewhere' ? { ...r, state: /** @type {const} */ ('closed'), reason: 'turn_ended' } : r));
  return { ...next, draft: null, stale: false, requests, outcome: f.outcome ?? '', error: f.error ?? t.error };
}

/** @param {Record<string, any>} f @param {string} epoch @returns {Message} */
export function toMessage(f, epoch) {
  const seq = f.chat_seq ?? 0;
  const at = f.epoch || epoch;
  return {
    key: `${f.thread_id}/${at}:${seq}`, role: f.role ?? 'assistant', content: f.content ?? '', seq, epoch: at, threadId: f.thread_id ?? '',
    turnId: f.turn_id ?? '', id: f.id ?? '', partial: Boolean(f.partial), state: 'done', error: null, frame: f,
  };
}

/**
 * Adds a numbered message behind the numbered ones. One that was written here
 * keeps its key, so that it does not flicker.
 * @param {Transcript} t @param {Message} m @returns {Transcript}
 */
function add(t, m) {
  if (t.messages.some((old) => old.seq && identity(old) === m.key)) return t; // whatever its key: it may have been written here
  const local = m.id ? t.messages.find((old) => !old.seq && old.id === m.id) : undefined;
  const rest = local ? t.messages.filter((old) => old !== local) : t.messages;
  const at = rest.findIndex((old) => !old.seq);
  const message = local ? { ...m, key: local.key } : m;
  return { ...t, messages: at < 0 ? [...rest, message] : [...rest.slice(0, at), message, ...rest.slice(at)] };
}

/**
 * A message written here; until the server numbers it, it stands at the end.
 * @param {Transcript} t @param {string} threadId @param {string} id @param {any} content @param {string} role
 * @returns {Transcript}
 */
export function written(t, threadId, id, content, role) {
  if (t.messages.some((m) => m.id === id && m.seq)) return t;
  const m = { ...toMessage({ thread_id: threadId, id, content, role: role || 'user' }, ''), key: `local/${id}`, state: /** @type {const} */ ('sending') };
  return { ...t, messages: [...t.messages.filter((old) => old.id !== id), m] };
}

/**
 * What became of a message that was written here.
 * @param {Transcript} t @param {string} id
 * @param {Partial<Pick<Message, 'state' | 'error' | 'turnId'>>} change
 * @returns {Transcript}
 */
export function answered(t, id, change) {
  const messages = t.messages.map((m) => (m.id === id && !m.seq ? { ...m, ...change } : m));
  return { ...t, messages };
}

/** A message that was withdrawn. @param {Transcript} t @param {string} id @returns {Transcript} */
export function withdrawn(t, id) {
  return { ...t, messages: t.messages.filter((m) => m.id !== id || m.seq) };
}

/** @param {Transcript} t @param {Frame} f @returns {Transcript} */
function openRequest(t, f) {
  const id = f.tool_call_id ?? f.approval_id ?? f.request_id;
  if (!id) return t;
  const request = {
    id, type: f.kind ?? f.type, name: f.name ?? f.tool_name ?? '', args: f.args ?? null, reason: '', frame: f,
    state: /** @type {Request['state']} */ (f.type === 'request_open' ? 'elsewhere' : 'open'),
  };
  const old = t.requests.find((r) => r.id === id);
  if (!old) return { ...t, requests: [...t.requests, request].slice(-256) };
  if (old.state !== 'elsewhere') return t; // shown again, or answered here
  return { ...t, requests: t.requests.map((r) => (r === old ? request : r)) };
}

/**
 * @param {Transcript} t @param {string} id @param {string} reason
 * @returns {Transcript}
 */
export function closeRequest(t, id, reason) {
  const state = reason === 'answered' ? /** @type {const} */ ('answered') : /** @type {const} */ ('closed');
  return { ...t, requests: t.requests.map((r) => (r.id === id ? { ...r, state, reason } : r)) };
}

/**
 * The frames jumped: what streamed so far has a hole. It stays to be read until
 * the history is there, or until something new streams.
 * @param {Transcript} t @param {boolean} ended whether the turn is over as far as we know
 * @returns {Transcript}
 */
export function jumped(t, ended) {
  return {
    ...t, stale: t.draft !== null, draft: t.draft,
    requests: ended ? t.requests.map((r) => (r.state === 'open' || r.state === 'elsewhere' ? { ...r, state: /** @type {const} */ ('closed'), reason: 'turn_ended' } : r)) : t.requests,
  };
}

/**
 * Takes the newest page of the history. Of what is here, later frames and what
 * was written here stay, and older pages when they reach up to it.
 * @param {Transcript} t
 * @param {Record<string, any>[]} page oldest first
 * @param {string | null} next
 * @param {string} epoch the thread's
 * @returns {Transcript}
 */
export function withHistory(t, page, next, epoch) {
  const loaded = page.map((m) => toMessage(m, epoch));
  const keys = new Set(loaded.map((m) => m.key));
  const ids = new Set(loaded.filter((m) => m.id).map((m) => m.id));
  const turns = new Set(loaded.filter((m) => m.role === 'user').map((m) => m.turnId));
  const end = Math.max(0, ...loaded.filter((m) => m.epoch === epoch).map((m) => m.seq));
  const later = t.messages.filter((m) => {
    if (m.id && ids.has(m.id)) return false;
    if (!m.seq) return true;
    return m.epoch === epoch && m.seq > end && !(m.role === 'user' && turns.has(m.turnId));
  });
  const overlap = t.messages.findIndex((m) => m.seq && keys.has(identity(m)));
  const older = overlap > 0 && loaded.length > 0 && identity(t.messages[overlap]) === loaded[0].key ? t.messages.slice(0, overlap) : [];
  return {
    ...t, messages: [...older, ...keepKeys(loaded, t.messages), ...later], history: 'loaded',
    before: older.length > 0 ? t.before : next, draft: t.stale ? null : t.draft, stale: false,
  };
}

/** The key that the server's numbering gives. @param {Message} m */
const identity = (m) => `${m.threadId}/${m.epoch}:${m.seq}`;

/** Loaded messages that are here already stay the same objects. @param {Message[]} loaded @param {readonly Message[]} here */
function keepKeys(loaded, here) {
  const known = new Map(here.map((m) => [m.seq ? identity(m) : `id ${m.id}`, m]));
  return loaded.map((m) => {
    const same = known.get(m.key);
    if (same) return same;
    const local = m.id ? known.get(`id ${m.id}`) : undefined;
    return local ? { ...m, key: local.key } : m;
  });
}

/**
 * Puts an older page in front.
 * @param {Transcript} t @param {Record<string, any>[]} page @param {string | null} next @param {string} epoch
 * @returns {Transcript}
 */
export function withOlder(t, page, next, epoch) {
  const here = new Set(t.messages.map(identity));
  const older = page.map((m) => toMessage(m, epoch)).filter((m) => !here.has(m.key));
  return { ...t, messages: [...older, ...t.messages], before: next };
}

/** Drops the oldest messages beyond the limit; loading older ones brings them back. @param {Transcript} t @param {number} limit @returns {Transcript} */
function bounded(t, limit) {
  if (t.messages.length <= limit) return t;
  const messages = t.messages.slice(-limit);
  const first = messages[0];
  return first.seq ? { ...t, messages, before: String(first.seq) } : t;
}
