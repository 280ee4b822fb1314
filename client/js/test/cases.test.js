// The exchanges that Go's client and this one have to have alike.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Emitter } from '../emitter.js';
import { Session } from '../session.js';
import { busy } from '../thread.js';
import { Tools } from '../tools.js';
import { contains } from './kit.js';

const cases = JSON.parse(readFileSync(new URL('../../testdata/thread_cases.json', import.meta.url), 'utf8'));

for (const { name, steps, state } of cases) {
  test(name, () => {
    const failed = (error) => { throw error; };
    const emitter = new Emitter(failed);
    const options = { queueLimit: 256, maxMessage: 8 << 20, messageLimit: 500, discover: false, adopt: () => true };
    const session = new Session(options, { emitter, tools: new Tools({}), history: null, cursors: null, failed });
    let told = [];
    emitter.on('frame', (f) => told.push(`frame ${f.chat_seq ?? 0}`));
    emitter.on('reconcile', (r) => told.push(`reconcile ${r.status}`));
    let sent = [];
    let last = '';
    const thread = session.thread('t1');
    steps.forEach((step, i) => {
      told = [];
      sent = [];
      if (step.connect) session.attach((m) => sent.push(m));
      else if (step.lose) session.detach();
      else if (step.open) thread.open({ lastSeq: step.open.last_seq, epoch: step.open.epoch, full: step.open.full });
      else if (step.send) thread.send('hi', step.send);
      for (const m of step.receive ?? []) session.receive([JSON.parse(JSON.stringify(m).replaceAll('"$last"', JSON.stringify(last)))]);
      last = sent.findLast((m) => m.request_id)?.request_id ?? last;
      const want = step.sent ?? [];
      assert.equal(sent.length, want.length, `step ${i} sent ${JSON.stringify(sent)}`);
      sent.forEach((m, j) => {
        assert.ok(contains(m, want[j]), `step ${i} sent ${JSON.stringify(m)}, want ${JSON.stringify(want[j])}`);
        assert.deepEqual(Object.keys(m.data).sort(), Object.keys(want[j].data).sort());
      });
      assert.deepEqual(told, step.told ?? [], `step ${i}`);
      assert.equal(busy(thread.machine), step.busy, `step ${i}: busy`);
    });
    const { cursor, epoch, turnId } = thread.machine;
    assert.deepEqual({ last_seq: cursor, epoch, turn_id: turnId }, { ...state });
  });
}
