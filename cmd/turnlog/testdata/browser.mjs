// Runs the script of a page in Node, with as much of a document as it needs:
//   node browser.mjs PAGE MODULES WS_MODULE SOCKET_URL ORIGIN TEXT
// and prints what the page shows once the text was sent and its turn is over.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [page, modules, ws, url, origin, text] = process.argv.slice(2);
const html = readFileSync(page, 'utf8');
const { default: WebSocket } = await import(pathToFileURL(ws).href);
globalThis.WebSocket = class extends WebSocket {
  constructor(address, protocols) { super(address, protocols, { origin }); }
};
const elements = Object.fromEntries([...html.matchAll(/ id="(\w+)"/g)].map(([, id]) => [id, { value: '', textContent: '' }]));
globalThis.document = {
  title: '',
  getElementById: (id) => elements[id] ?? null,
};
globalThis.location = { search: `?url=${encodeURIComponent(url)}` };
const script = /<script type="module">\n([\s\S]*?)<\/script>/.exec(html)[1].replaceAll("'../../client/js/", `'${pathToFileURL(modules).href}/`);
const file = join(mkdtempSync(join(tmpdir(), 'page-')), 'page.mjs');
writeFileSync(file, script);
await import(pathToFileURL(file).href);

elements.text.value = text;
elements.form.onsubmit({ preventDefault() {} });
const over = (shown) => /^assistant: /m.test(shown) && !/^\(/m.test(shown);
for (let n = 0; n < 600 && !over(elements.said.textContent); n++) await new Promise((resolve) => setTimeout(resolve, 50));
console.log(elements.said.textContent);
console.log(document.title);
process.exit(0);
