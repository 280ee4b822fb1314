// An independent MessagePack peer for the tests of package wsapi.
//
//   node peer.mjs encode   prints one message per line: name, hex
//   node peer.mjs decode   reads hex lines and prints what each is, as JSON;
//                          a BigInt prints as "BigInt:..."
import { createInterface } from 'node:readline';
import { Packr, pack, unpack } from 'msgpackr';

const wide = {};
for (let i = 0; i < 20; i++) wide['k' + i] = i;

const messages = {
  ping: { type: 'ping', ts: 1700000000000 },
  undefined_values: { command: 'stop', request_id: undefined, data: { thread_id: 't', turn_id: undefined } },
  not_a_number: { command: 'resume_chat', data: { thread_id: 't', last_seq: NaN } },
  infinite: { command: 'resume_chat', data: { thread_id: 't', last_seq: Infinity } },
  map16: { command: 'chat_message', data: { thread_id: 'wide', content: 'x', ...wide } },
  long_text: { type: 'ping', ts: 'é'.repeat(300) },
  float: { command: 'resume_chat', data: { thread_id: 't', last_seq: 1.5 } },
  big: { command: 'resume_chat', data: { thread_id: 't', last_seq: 2 ** 40 } },
  bigint: { command: 'resume_chat', data: { thread_id: 't', last_seq: 5n } },
  date: { type: 'ping', ts: new Date(0) },
  nothing: undefined,
  bytes: { type: 'tool_result', tool_call_id: 'c', ok: true, result: new Uint8Array([1, 2, 3]) },
};

function show(value) {
  return JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? 'BigInt:' + v : v));
}

if (process.argv[2] === 'encode') {
  const packers = {
    plain: pack,
    // variableMapSize off is the default: every map has a map16 header.
    exact: (v) => new Packr({ useRecords: false, variableMapSize: true }).pack(v),
    records: (v) => new Packr({ useRecords: true }).pack(v),
    more: (v) => new Packr({ moreTypes: true, structuredClone: true }).pack({ type: 'ping', ts: new Set([1]) }),
  };
  for (const [how, packer] of Object.entries(packers)) {
    for (const [name, value] of Object.entries(messages)) {
      console.log(`${how}/${name} ${Buffer.from(packer(value)).toString('hex')}`);
    }
  }
} else {
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(show(unpack(Buffer.from(line, 'hex'))));
  }
}
