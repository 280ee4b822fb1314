// The quick start of docs/clients.md runs as it stands.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { proxy } from './world.js';

test('the quick start of docs/clients.md', async (t) => {
  const p = await proxy();
  const [, block] = /```js\n([^]*?)```/.exec(readFileSync(new URL('../../../../docs/clients.md', import.meta.url), 'utf8'));
  const here = (path) => new URL(path, import.meta.url).href;
  const program = block
    .replace("'turnlog-client'", JSON.stringify(here('../../client.js')))
    .replace('ws://127.0.0.1:8080/ws', p.url);
  const dir = mkdtempSync(join(tmpdir(), 'turnlog-docs-'));
  t.after(() => rmSync(dir, { recursive: true }));
  // Node 20 has no WebSocket: the global of newer ones.
  writeFileSync(join(dir, 'start.mjs'), `globalThis.WebSocket ??= (await import(${JSON.stringify(here('../../node_modules/ws/wrapper.mjs'))})).WebSocket;\nawait import('./program.mjs');\n`);
  writeFileSync(join(dir, 'program.mjs'), program);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(dir, 'start.mjs')], { timeout: 60_000 });
  assert.match(stdout, /'user: Where shall we go\?'/);
  assert.match(stdout, /'assistant: /);
  assert.equal(stderr, '');
});
