'use strict';
// Lists what the OpenAPI document has: operations by service, then schemas.

// el makes an element: properties, then children, which are elements or text.
function el(name, properties, ...children) {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children.filter((c) => c !== null && c !== undefined && c !== ''));
  return e;
}

const shortName = (ref) => ref.replace(/^#\/definitions\//, '').replace(/^v1/, '');

// typeOf describes a schema, with links to those that have a name.
function typeOf(schema) {
  if (!schema) return el('span', {}, 'nothing');
  if (schema.$ref) return el('a', { href: '#schema-' + shortName(schema.$ref) }, shortName(schema.$ref));
  if (schema.type === 'array') return el('span', {}, 'list of ', typeOf(schema.items));
  if (schema.enum) return el('span', {}, schema.enum.join(' | '));
  return el('span', {}, (schema.type || 'any') + (schema.format ? ' (' + schema.format + ')' : ''));
}

const text = (schema) => [schema.title, schema.description].filter(Boolean).join('\n');

function table(rows) {
  return el('table', {}, el('thead', {}, el('tr', {}, ...['Name', 'Type', 'Meaning'].map((h) => el('th', {}, h)))),
    el('tbody', {}, ...rows.map(([name, schema, more]) =>
      el('tr', {}, el('td', {}, name), el('td', {}, typeOf(schema)), el('td', {}, [more, text(schema)].filter(Boolean).join('. '))))));
}

// example is what a body could be.
function example(doc, schema) {
  const named = schema.$ref && doc.definitions[schema.$ref.replace('#/definitions/', '')];
  return (named && named.example) || {};
}

// address is this server in a command of curl, with the prefix that a proxy may have added.
const address = (location.protocol === 'https:' ? 'https:' + '//' : '') + location.host + location.pathname.replace(/\/docs$/, '');

const quote = (s) => "'" + s.replaceAll("'", "'\\''") + "'";

// token returns the token that the reader entered; it is stored nowhere else.
const token = () => document.getElementById('token').value.trim();

function curl(method, url, body) {
  return 'curl' + (method === 'GET' ? '' : ' -X ' + method) + (token() ? ' -H "Authorization: Bearer $SNOWRAFT_TOKEN"' : '') + ' ' + (/[?&'{}]/.test(url) ? quote(url) : url) + (body ? ' \\\n  -d ' + quote(body) : '');
}

// form lets a reader send the request.
function form(doc, path, method, parameters) {
  const inputs = parameters.filter((p) => p.in !== 'body').map((p) => [p, el('input', { name: p.name, autocomplete: 'off' })]);
  const bodyOf = parameters.find((p) => p.in === 'body');
  const body = bodyOf && el('textarea', { value: JSON.stringify(example(doc, bodyOf.schema), null, 2), spellcheck: false, ariaLabel: 'Body' });
  const command = el('pre', {});
  const answer = el('pre', { hidden: true, ariaLive: 'polite' });
  const request = () => {
    let url = path;
    const query = new URLSearchParams();
    for (const [p, input] of inputs) {
      if (p.in === 'path') url = url.replace('{' + p.name + '}', input.value ? encodeURIComponent(input.value) : '{' + p.name + '}');
      else if (input.value) query.append(p.name, input.value);
    }
    return url + (query.size ? '?' + query : '');
  };
  const show = () => { command.textContent = curl(method, address + request(), body && body.value); };
  const send = async () => {
    if (method !== 'GET' && !confirm(method + ' ' + request() + '\nThis is a live cluster. Send it?')) return;
    answer.hidden = false;
    answer.textContent = '…';
    try {
      const headers = body ? { 'Content-Type': 'application/json' } : {};
      if (token()) headers.Authorization = 'Bearer ' + token();
      const response = await fetch('.' + request(), { method, body: body ? body.value : undefined, headers });
      const raw = await response.text();
      let pretty = raw;
      try { pretty = JSON.stringify(JSON.parse(raw), null, 2); } catch { /* no JSON: as it is */ }
      answer.textContent = response.status + ' ' + response.statusText + '\n' + pretty;
    } catch (failure) {
      answer.textContent = String(failure);
    }
  };
  const f = el('form', {}, ...inputs.map(([p, input]) => el('label', {}, p.name + ' ', input)), body, el('button', { type: 'submit' }, 'Try it'));
  f.addEventListener('input', show);
  document.getElementById('token').addEventListener('input', show);
  f.addEventListener('submit', (event) => { event.preventDefault(); send(); });
  show();
  return [command, f, answer];
}

function operation(doc, path, method, op) {
  const parameters = op.parameters || [];
  const body = parameters.find((p) => p.in === 'body');
  const fields = parameters.filter((p) => p.in !== 'body').map((p) => [p.name, p, p.in]);
  const details = el('details', { className: 'operation', id: op.operationId },
    el('summary', {}, el('h3', {}, el('span', { className: 'method ' + method.toLowerCase() }, method), ' ', el('span', { className: 'path' }, path)),
      el('span', { className: 'summary' }, op.summary || '')));
  // The rest is made when the operation is opened.
  details.addEventListener('toggle', () => {
    if (details.childElementCount > 1) return;
    details.append(el('div', {},
      el('p', {}, op.description || ''),
      fields.length ? table(fields) : null,
      body ? el('p', {}, 'Body: ', typeOf(body.schema)) : null,
      el('p', {}, 'Response: ', typeOf(op.responses['200'] && op.responses['200'].schema)),
      ...form(doc, path, method, parameters)));
  });
  return details;
}

function render(doc) {
  document.getElementById('about').textContent = doc.info.description;
  const nav = document.getElementById('nav');
  const list = document.getElementById('operations');
  nav.append(el('a', { href: '#plain' }, 'Plain text'), el('a', { href: '#others' }, 'Paths of other servers'), el('a', { href: '#schemas' }, 'Schemas'));
  for (const tag of doc.tags) {
    const entries = [];
    for (const [path, methods] of Object.entries(doc.paths)) {
      for (const [method, op] of Object.entries(methods)) {
        if (op.tags.includes(tag.name)) entries.push([path, method.toUpperCase(), op]);
      }
    }
    nav.append(el('strong', {}, tag.name), ...entries.map(([, , op]) => el('a', { href: '#' + op.operationId }, op.operationId.replace(/^.*_/, ''))));
    list.append(el('section', {}, el('h2', {}, tag.name), el('p', {}, tag.description || ''), ...entries.map((e) => operation(doc, ...e))));
  }
  document.getElementById('schemas').append(el('h2', {}, 'Schemas'), ...Object.entries(doc.definitions).map(([name, schema]) =>
    el('div', { className: 'schema', id: 'schema-' + shortName(name) }, el('h3', {}, shortName(name)), el('p', {}, text(schema)),
      schema.enum ? el('pre', {}, schema.enum.join('\n')) : table(Object.entries(schema.properties || {})))));
}

// open shows the operation that the address names.
function open() {
  const named = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!named) return;
  if (named.tagName === 'DETAILS') named.open = true;
  named.scrollIntoView();
}

async function main() {
  for (const e of document.querySelectorAll('.address')) e.textContent = address;
  const response = await fetch('openapi.json');
  render(await response.json());
  const find = document.getElementById('find');
  find.addEventListener('input', () => {
    const words = find.value.toLowerCase().split(/\s+/);
    for (const d of document.querySelectorAll('.operation')) {
      const all = (d.id + ' ' + d.firstElementChild.textContent).toLowerCase();
      d.hidden = !words.every((w) => all.includes(w));
    }
  });
  addEventListener('hashchange', open);
  open();
}

main().catch((failure) => { document.getElementById('about').textContent = 'OpenAPI document not loaded: ' + failure; });
