/**
 * What the client knows of one thread, as a pure state machine:
 * (state, input) -> {state, effects}. No I/O, no clock, no randomness; states
 * are frozen by convention and never changed.
 *
 *          send, turn_started,
 *          chat_turn_active, resumed running     turn_finished, unknown,
 *   idle ------------------------------> busy    finished + incomplete
 *     ^                                    |
 *     +------------------------------------+
 *
 *   in step --hole, other numbering, new connection--> syncing
 *   syncing --chat_resumed--> in step
 *
 * The cursor is the highest chat_seq seen. Frames at or below it are dropped, a
 * hole asks for a resume, and while syncing numbered frames are dropped, because
 * the replay brings them. Another epoch restarts the cursor under the header
 * that announced it.
 *
 * Go's client is the same machine; client/testdata/thread_cases.json holds both to it.
 * @module
 */

/** Turn ids remembered, to tell a known turn from one under reused numbers. */
const REMEMBERED_TURNS = 16;

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
export function newThread(id) {
  return {
    id, epoch: '', cursor: 0, positioned: false, syncing: false, replayEnd: 0, open: false, running: false, turnId: '',
    queued: [], sending: 0, tried: false, turns: [], full: false, policy: '',
  };
}

/** Whether a turn runs, or is about to, as far as we know. @param {ThreadState} s */
export const busy = (s) => s.running || s.sending > 0 || s.queued.length > 0;

/**
 * Whether a new connection should resume the thread. A submission that was
 * never written is no reason: it follows the thread by itself.
 * @param {ThreadState} s
 */
export const wanted = (s) => s.open || s.running || s.tried || s.queued.length > 0;

/**
 * Takes one input.
 * @param {ThreadState} before
 * @param {Input} input
 * @returns {{state: ThreadState, effects: Effect[]}}
 */
export function step(before, input) {
  /** @type {Effect[]} */
  const effects = [];
  const state = take({ ...before }, input, effects);
  if (busy(before) !== busy(state)) effects.push({ do: 'busy', busy: busy(state) });
  return { state, effects };
}

/**
 * @param {ThreadState} s a copy, changed in place
 * @param {Input} input
 * @param {Effect[]} effects
 */
function take(s, input, effects) {
  switch (input.type) {
    case 'open':
      open(s, input);
      if (input.online) resume(s, effects);
      break;
    case 'left': // nobody tells us any more what runs
      Object.assign(s, { open: false, running: false, syncing: false, queued: [] });
      break;
    case 'connected':
      if (wanted(s)) resume(s, effects);
      break;
    case 'disconnected':
      s.syncing = false;
      break;
    case 'header':
      if (header(s, input.header)) effects.push({ do: 'reconcile', status: input.header.status });
      break;
    case 'frame':
      frame(s, input.frame, effects);
      break;
    case 'active': // a list says that a turn runs here
      if (s.running || s.syncing) break;
      s.running = true;
      s.turnId = input.turnId;
      resume(s, effects);
      break;
    case 'sent':
      s.sending++;
      break;
    case 'retried':
      s.tried = true;
      break;
    case 'accepted':
      settled(s);
      accepted(s, input.ack, effects);
      break;
    case 'refused':
      settled(s);
      break;
    case 'followed':
      followed(s, input.ack);
      break;
    case 'resumeRefused':
      s.syncing = s.open = s.running = false;
      break;
  }
  return s;
}

/** @param {ThreadState} s @param {Effect[]} effects */
function resume(s, effects) {
  s.syncing = true;
  /** @type {Record<string, any>} */
  const data = { thread_id: s.id, last_seq: s.cursor };
  if (s.epoch) data.epoch = s.epoch;
  if (s.full) data.full = true;
  if (s.policy) data.on_disconnect = s.policy;
  effects.push({ do: 'resume', data });
}

/** @param {ThreadState} s @param {Extract<Input, {type: 'open'}>} o */
function open(s, o) {
  s.open = true;
  s.full = Boolean(o.full);
  if (o.onDisconnect) s.policy = o.onDisconnect;
  if (o.full) {
    Object.assign(s, { cursor: 0, epoch: '', positioned: false });
  } else if (o.epoch || o.lastSeq) {
    Object.assign(s, { cursor: o.lastSeq ?? 0, epoch: o.epoch ?? '', positioned: true });
  }
}

/**
 * Takes a chat_resumed; true when the history must be loaded again.
 * @param {ThreadState} s @param {Frame} h
 */
function header(s, h) {
  s.syncing = s.full = false;
  s.replayEnd = h.last_seq;
  const start = h.replay_count > 0 && h.first_seq > 0 ? h.first_seq - 1 : h.last_seq;
  if (h.status === 'unknown') {
    // Nothing is held. Numbers may go on in the old epoch (a thread lives longer
    // than its log): the cursor stays useful against repeats, and the next
    // frame, whatever its number, is in step.
    s.positioned = false;
    if (h.epoch && h.epoch !== s.epoch) Object.assign(s, { epoch: h.epoch, cursor: 0 });
    Object.assign(s, { running: false, turnId: '', queued: [] });
    return true;
  }
  if (h.epoch !== s.epoch || h.last_seq < s.cursor) {
    Object.assign(s, { epoch: h.epoch, cursor: start });
  } else if (start > s.cursor) {
    s.cursor = start;
  }
  s.positioned = true;
  const running = h.status === 'running';
  if (!running) s.queued = []; // what waited has run, or was dropped by somebody else's stop
  if (h.replay_incomplete && running) {
    Object.assign(s, { running, turnId: h.turn_id });
  } else if (h.replay_incomplete) {
    s.running = false;
  } else if (!h.replay_count) {
    Object.assign(s, { running, turnId: h.turn_id }); // there is no frame that could say so
  }
  return Boolean(h.replay_incomplete);
}

/** @param {ThreadState} s @param {Frame} f @param {Effect[]} effects */
function frame(s, f, effects) {
  const seq = f.chat_seq ?? 0;
  if (seq === 0) {
    track(s, f, false);
    effects.push({ do: 'deliver', frame: f, replayed: Boolean(f.replayed) });
    return;
  }
  if (s.syncing) {
    effects.push({ do: 'drop', frame: f, reason: 'syncing' });
    return;
  }
  if (seq <= s.cursor) {
    // A turn we never saw under a number we did: numbering restarted without a
    // header. The resume brings the new epoch.
    const renumbered = f.type === 'turn_started' && (f.attempt ?? 1) <= 1 && f.turn_id && !s.turns.includes(f.turn_id);
    effects.push({ do: 'drop', frame: f, reason: renumbered ? 'renumbered' : 'seen' });
    if (renumbered) resume(s, effects);
    return;
  }
  if (s.positioned && seq > s.cursor + 1) {
    effects.push({ do: 'drop', frame: f, reason: 'gap' });
    resume(s, effects);
    return;
  }
  s.cursor = seq;
  s.positioned = true;
  // The only word of the epoch when the thread had never run before.
  if (f.type === 'turn_started' && f.epoch) s.epoch = f.epoch;
  track(s, f, true);
  effects.push({ do: 'deliver', frame: f, replayed: seq <= s.replayEnd });
  // Somebody's stop may have dropped what waited here, and told only its sender.
  if (f.type === 'turn_finished' && f.outcome === 'stopped' && s.queued.length > 0) resume(s, effects);
}

/** Follows the turn's life. @param {ThreadState} s @param {Frame} f @param {boolean} numbered */
function track(s, f, numbered) {
  const turn = f.turn_id ?? '';
  switch (f.type) {
    case 'turn_started':
      Object.assign(s, { running: true, turnId: turn, queued: s.queued.filter((id) => id !== turn) });
      if (!s.turns.includes(turn)) s.turns = [...s.turns, turn].slice(-REMEMBERED_TURNS);
      break;
    case 'turn_finished':
      // A superseded turn's successor is already there: stay busy.
      if (f.outcome !== 'superseded' && (!s.turnId || !turn || turn === s.turnId)) s.running = false;
      break;
    case 'submission_dropped':
      s.queued = s.queued.filter((id) => id !== turn);
      break;
    case 'generation_stopped':
      if (!numbered) s.running = false; // nothing was running, or we do not follow it
      break;
    default:
      if (numbered && turn) Object.assign(s, { running: true, turnId: turn }); // only running turns speak
  }
}

/** One submission has its answer. @param {ThreadState} s */
function settled(s) {
  s.sending = Math.max(0, s.sending - 1);
  s.tried = s.tried && s.sending > 0;
}

/** @param {ThreadState} s @param {Record<string, any>} ack of a chat_message @param {Effect[]} effects */
function accepted(s, ack, effects) {
  const known = s.turns.includes(ack.turn_id);
  const renumbered = Boolean(ack.epoch && s.epoch && ack.epoch !== s.epoch);
  if (ack.epoch && !s.epoch) s.epoch = ack.epoch;
  if (renumbered || (ack.duplicate && !known)) { // only a header can put us in step
    s.running ||= !ack.duplicate;
    if (!s.syncing) resume(s, effects);
  } else if (ack.position > 0 && !known) {
    s.queued = [...s.queued, ack.turn_id];
  } else if (!known && !ack.duplicate) {
    Object.assign(s, { running: true, turnId: ack.turn_id });
  }
}

/** @param {ThreadState} s @param {Record<string, any>} ack of a follow */
function followed(s, ack) {
  s.open = true;
  if (ack.epoch !== s.epoch || ack.last_seq > s.cursor) Object.assign(s, { epoch: ack.epoch, cursor: ack.last_seq });
  s.positioned = true;
  s.running = ack.status === 'running';
}
