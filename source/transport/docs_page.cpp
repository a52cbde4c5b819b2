#include "transport/docs_page.hpp"

#include <string_view>

namespace cmcp {

namespace {

// Everything that comes from the server is set as text, never as markup.
constexpr std::string_view page = R"PAGE(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Container-MCP: tools</title>
<style>
:root { color-scheme: light dark; --line: #8886; --soft: #8882; --accent: #2563eb; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; display: grid; grid-template-columns: 17rem 1fr; min-height: 100vh; }
nav { border-right: 1px solid var(--line); padding: 1rem; position: sticky; top: 0; height: 100vh; overflow: auto; }
nav h1 { font-size: 1.1rem; margin: 0 0 .5rem; }
nav h2 { font-size: .8rem; text-transform: uppercase; letter-spacing: .05em; opacity: .7; margin: 1rem 0 .25rem; }
nav a { display: block; padding: .15rem .5rem; border-radius: .3rem; color: inherit; text-decoration: none; font-family: ui-monospace, monospace; font-size: .85rem; }
nav a:hover, nav a.on { background: var(--soft); }
main { padding: 1.5rem 2rem; max-width: 60rem; }
h2.name { font-family: ui-monospace, monospace; margin: 0; }
code, pre, textarea, input.text { font-family: ui-monospace, monospace; font-size: .87rem; }
label { display: block; margin: .9rem 0 .2rem; font-weight: 600; }
label small { font-weight: 400; opacity: .75; }
input.text, textarea, select { width: 100%; padding: .4rem .5rem; border: 1px solid var(--line); border-radius: .3rem; background: transparent; color: inherit; }
textarea { min-height: 7rem; resize: vertical; }
button { margin: 1rem .5rem 0 0; padding: .45rem 1rem; border: 1px solid var(--accent); border-radius: .3rem; background: var(--accent); color: #fff; font: inherit; cursor: pointer; }
button.stop { background: transparent; color: inherit; border-color: var(--line); }
button:disabled { opacity: .5; cursor: default; }
pre { border: 1px solid var(--line); border-radius: .3rem; padding: .7rem; overflow: auto; max-height: 26rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0 1rem; }
.hide { display: none; }
.bad { color: #dc2626; }
details { margin-top: 1.5rem; } summary { cursor: pointer; font-weight: 600; }
@media (max-width: 50rem) { body { grid-template-columns: 1fr; } nav { position: static; height: auto; } }
</style>
</head>
<body>
<nav>
<h1>Container-MCP</h1>
<label for="token">Token <small>only where the server asks for one</small></label>
<input class="text" id="token" type="password" autocomplete="off">
<div id="list"></div>
</nav>
<main id="main">
<h2>REST</h2>
<p>Every MCP tool is a call <code>POST /mcp/tools/&lt;name&gt;</code> with its arguments as a JSON object; the answer is the result object.
With <code>Accept: text/event-stream</code> the output comes while the tool runs. Files of sandboxes: <code>GET</code> and <code>POST /sandbox/file</code>.
The same in machine-readable form: <a href="openapi.json">openapi.json</a>. Choose a tool to see and try it.</p>
<p id="problem" class="bad"></p>
</main>
<script>
'use strict';
const main = document.getElementById('main'), list = document.getElementById('list'), token = document.getElementById('token');
let running = null;

function make(kind, text, attributes) {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  return made;
}
function headers(more) {
  const made = Object.assign({}, more);
  if (token.value) made['Authorization'] = 'Bearer ' + token.value;
  return made;
}
function field(name, schema, required) {
  const id = 'arg-' + name, box = make('div');
  const label = make('label', name + ' ', { for: id });
  label.append(make('small', (required ? 'required' : 'optional') + (schema.type ? ', ' + schema.type : '')));
  let input;
  if (schema.enum || schema.type === 'boolean') {
    input = make('select', undefined, { id });
    input.append(make('option', '', { value: '' }));
    for (const each of schema.enum || ['true', 'false']) input.append(make('option', each, { value: each }));
  } else if (['code', 'command', 'content'].includes(name) || schema.type === 'object' || schema.type === 'array') {
    input = make('textarea', undefined, { id, spellcheck: 'false' });
  } else {
    input = make('input', undefined, { id, class: 'text', spellcheck: 'false' });
  }
  if (schema.default !== undefined) input.placeholder = String(schema.default);
  box.append(label, make('div', schema.description || ''), input);
  return { box, read() {
    const text = input.value;
    if (text === '') return undefined;
    if (schema.type === 'integer' || schema.type === 'number') return Number(text);
    if (schema.type === 'boolean') return text === 'true';
    if (schema.type === 'array' && !text.trim().startsWith('[')) return text.split(/[\n,]/).map(s => s.trim()).filter(s => s);
    if (schema.type === 'array' || schema.type === 'object') return JSON.parse(text);
    return text;
  } };
}
async function call(name, args, output, signal) {
  const answer = await fetch('mcp/tools/' + encodeURIComponent(name), { method: 'POST', signal,
    headers: headers({ 'Content-Type': 'application/json', 'Accept': 'text/event-stream' }), body: JSON.stringify(args) });
  if (!(answer.headers.get('content-type') || '').startsWith('text/event-stream')) return answer.json();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '', result = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return result;
    rest += value;
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const lines = rest.slice(0, end).split('\n');
      rest = rest.slice(end + 2);
      const kind = (lines.find(l => l.startsWith('event:')) || '').slice(6).trim();
      const data = lines.filter(l => l.startsWith('data:')).map(l => l.slice(5).trimStart()).join('\n');
      if (kind === 'output') { output.textContent += JSON.parse(data).text; output.scrollTop = output.scrollHeight; }
      if (kind === 'result') result = JSON.parse(data);
    }
  }
}
function show(name, operation) {
  if (running) running.abort();
  for (const each of list.querySelectorAll('a')) each.classList.toggle('on', each.textContent === name);
  const schema = operation.requestBody.content['application/json'].schema;
  const required = schema.required || [];
  const fields = Object.entries(schema.properties || {}).map(([n, s]) => [n, field(n, s, required.includes(n))]);
  const run = make('button', 'Run', { id: 'run' }), stop = make('button', 'Stop', { class: 'stop' });
  const outputTitle = make('label', 'Output, as it comes', { class: 'hide' }), output = make('pre', '', { id: 'output', class: 'hide' });
  const resultTitle = make('label', 'Result', { class: 'hide' }), result = make('pre', '', { id: 'result', class: 'hide' });
  const pictures = make('div', '', { id: 'pictures' });
  const more = make('details');
  more.append(make('summary', 'Schemas'), make('label', 'Arguments'), make('pre', JSON.stringify(schema, null, 2)),
    make('label', 'Result'), make('pre', JSON.stringify(operation.responses['200'].content['application/json'].schema, null, 2)));
  stop.disabled = true;
  run.onclick = async () => {
    const args = {};
    try {
      for (const [n, f] of fields) { const value = f.read(); if (value !== undefined) args[n] = value; }
    } catch (problem) { result.textContent = 'An argument is not valid JSON: ' + problem.message; result.classList.remove('hide'); return; }
    for (const each of [outputTitle, output, resultTitle, result]) each.classList.remove('hide');
    output.textContent = ''; pictures.replaceChildren(); result.textContent = 'running…'; run.disabled = true; stop.disabled = false;
    running = new AbortController();
    try {
      const object = await call(name, args, output, running.signal), images = (object && object.images) || [];
      const short = images.map(i => ({ ...i, data: i.data.slice(0, 40) + '…' }));
      result.textContent = JSON.stringify(images.length ? { ...object, images: short } : object, null, 2);
      pictures.replaceChildren(...images.map(i => make('img', '', { src: 'data:' + i.mimeType + ';base64,' + i.data, style: 'max-width: 100%' })));
    } catch (problem) { result.textContent = problem.name === 'AbortError' ? 'stopped' : String(problem); }
    run.disabled = false; stop.disabled = true; running = null;
  };
  stop.onclick = () => { if (running) running.abort(); };
  main.replaceChildren(make('h2', name, { class: 'name' }), make('p', operation.summary), make('p', operation.description),
    make('code', 'POST /mcp/tools/' + name), ...fields.map(([, f]) => f.box), run, stop, outputTitle, output, resultTitle, result, pictures, more);
}
async function load() {
  const answer = await fetch('openapi.json', { headers: headers() });
  const problem = document.getElementById('problem');
  if (!answer.ok) { if (problem) problem.textContent = answer.status === 401 ? 'The server asks for a token: enter it on the left.' : 'openapi.json: ' + answer.status; return; }
  const paths = Object.entries((await answer.json()).paths).filter(([path]) => path.startsWith('/mcp/tools/'));
  const groups = {};
  for (const [path, item] of paths) (groups[item.post.tags[0]] = groups[item.post.tags[0]] || []).push([path.slice(11), item.post]);
  list.replaceChildren();
  for (const [group, tools] of Object.entries(groups)) {
    list.append(make('h2', group));
    for (const [name, operation] of tools) {
      const link = make('a', name, { href: '#' + name });
      link.onclick = () => show(name, operation);
      list.append(link);
    }
  }
  const wanted = location.hash.slice(1), found = paths.find(([path]) => path === '/mcp/tools/' + wanted);
  if (found) show(wanted, found[1].post);
}
token.onchange = load;
load();
</script>
</body>
</html>
)PAGE";

}  // namespace

awaitable<> serve_docs(exchange& x)
{
    http_reply reply;
    reply.content_type = "text/html; charset=utf-8";
    reply.body = page;
    reply.with("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
                                          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    reply.with("X-Content-Type-Options", "nosniff");
    reply.with("Referrer-Policy", "no-referrer");
    reply.with("Cache-Control", "no-cache");
    co_await x.reply(std::move(reply));
}

}  // namespace cmcp
