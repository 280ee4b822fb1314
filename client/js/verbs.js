/**
 * The WebSocket's messages as calls of the HTTP API.
 * @module
 */
import { HttpError, threadPath } from './http.js';

/** @typedef {import('./sse.js').Streams} Streams */
/** @typedef {Record<string, any>} Message */

/**
 * Carries out one message. What the server refuses becomes a negative
 * acknowledgement; a lost network rejects.
 * @param {Streams} to
 * @param {Message} message
 */
export async function perform(to, message) {
  const { command, data = {}, request_id } = message;
  try {
    if (command) {
      const verb = verbs[/** @type {keyof typeof verbs} */ (command)];
      const ack = verb ? await verb(to, data, request_id) : unsupported(command);
      if (ack) to.receive({ ...ack, request_id });
    } else {
      await control(to, message);
    }
  } catch (error) {
    if (!(error instanceof HttpError) || error.status === 401) throw error;
    if (command) {
      to.receive({ error: 'refused', code: error.code, message: error.message, retryable: error.retryable, thread_id: data.thread_id, request_id });
    } else if (error.status !== 404) {
      to.receive({ type: 'error', message: error.message, code: error.code, retryable: error.retryable });
    } // 404: the request is closed, somebody else was first
  }
}

/** @param {string} command */
const unsupported = (command) => ({ error: 'unsupported', code: 'unsupported', message: `${command} needs a WebSocket; this connection is an event stream` });

const verbs = { chat_message: submit, resume_chat: resume, follow, unfollow, stop, steer, set_policy: setPolicy, list_chat_turns: list };

/** @param {Streams} to @param {Message} message */
async function control(to, { type, ...message }) {
  switch (type) {
    case 'ping':
      await to.http.json('/v1/turns', { signal: to.signal });
      return to.receive({ type: 'pong' });
    case 'client_tools_manifest':
      return to.toolsChanged();
    case 'reauth':
      return to.receive({ ...unsupported(type), request_id: message.request_id });
    case 'tool_result':
    case 'tool_approval_response':
    case 'plan_approval_response':
    case 'secret_request_response': {
      const { thread_id, tool_call_id, approval_id, ...answer } = message;
      return post(to, thread_id, 'answers', { request_id: tool_call_id ?? approval_id, ...answer });
    }
  } // else: pong
}

/** @param {Streams} to @param {string} threadId @param {string} what @param {Message} body */
function post(to, threadId, what, body) {
  return to.http.json(`${threadPath(threadId)}/${what}`, { method: 'POST', body, signal: to.signal });
}

/** Where a thread is; 0 when it never ran. @param {Streams} to @param {string} threadId */
async function position(to, threadId) {
  try {
    return await to.http.json(threadPath(threadId), { signal: to.signal });
  } catch (error) {
    if (error instanceof HttpError && error.status === 404) return { last_seq: 0, epoch: '', status: 'unknown' };
    throw error;
  }
}

/** @param {Streams} to @param {Message} data */
async function submit(to, { thread_id, ...data }) {
  // The stream is there first: its connection is the viewer whose policy counts, and the target of tool calls.
  const connection = await (to.stream(thread_id)?.connection ?? to.follow(thread_id, await position(to, thread_id)));
  const tools = to.tools.manifest()?.tools;
  const { status, ...ack } = await post(to, thread_id, 'turns', { ...data, connection, ...(tools && { tools }) });
  return { message: status === 'queued' ? 'Chat message queued' : 'Chat message processing started', ...ack };
}

/** @param {Streams} to @param {Message} data @param {string} request_id */
async function resume(to, data, request_id) {
  let left = -1; // replayed frames to come, -1 = no header yet
  let replay_count = 0;
  let acknowledged = false;
  await to.follow(data.thread_id, /** @type {any} */ (data), (m) => {
    if (acknowledged) return;
    if (m.type === 'chat_resumed') left = replay_count = m.replay_count;
    else if (m.chat_seq && left > 0) left--;
    if (left !== 0) return;
    acknowledged = true;
    const message = m.status === 'unknown' ? 'No chat turn to resume' : 'Chat resumed';
    to.receive({ message, thread_id: data.thread_id, replay_count, request_id });
  });
}

/** @param {Streams} to @param {Message} data */
async function follow(to, { thread_id }) {
  const { last_seq, epoch, status } = await position(to, thread_id);
  await to.follow(thread_id, { last_seq, epoch });
  return { message: 'Following', thread_id, last_seq, epoch, status };
}

/** @param {Streams} to @param {Message} data */
async function unfollow(to, { thread_id }) {
  to.leave(thread_id);
  return { message: 'Unfollowed', thread_id };
}

/** @param {Streams} to @param {Message} data */
async function stop(to, { thread_id, turn_id }) {
  const { stopped, dropped } = await post(to, thread_id, 'stop', turn_id ? { turn_id } : {});
  for (const id of dropped) to.receive({ type: 'submission_dropped', thread_id, turn_id: id });
  if (!stopped) to.receive({ type: 'generation_stopped', message: 'nothing was running', job_id: null, thread_id });
  return { message: 'Stop command processed', thread_id, job_id: null };
}

/** @param {Streams} to @param {Message} data */
async function steer(to, { thread_id, ...data }) {
  return { message: 'Steer accepted', ...(await post(to, thread_id, 'steer', data)) };
}

/** @param {Streams} to @param {Message} data */
async function setPolicy(to, { thread_id, on_disconnect }) {
  const thread = await to.http.json(threadPath(thread_id), { method: 'PATCH', body: { on_disconnect }, signal: to.signal });
  return { message: 'Policy set', thread_id, on_disconnect: thread.on_disconnect ?? on_disconnect, scope: 'thread' };
}

/** @param {Streams} to */
async function list(to) {
  const { turns } = await to.http.json('/v1/turns', { signal: to.signal });
  for (const turn of turns) to.receive({ type: 'chat_turn_active', ...turn });
  return { message: 'Chat turns listed', count: turns.length };
}
