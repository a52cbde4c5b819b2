(function(format, selector, limit) {
  const getter = (owner, name) => { const get = Object.getOwnPropertyDescriptor(owner.prototype, name).get; return o => get.call(o) };
  const root = getter(Document, 'documentElement')(document);
  const body = getter(Document, 'body')(document);
  const title = getter(Document, 'title')(document);
  const kids = node => [...getter(Node, 'childNodes')(node)];
  const outer = getter(Element, 'outerHTML');
  const textContent = getter(Node, 'textContent');
  const innerText = getter(HTMLElement, 'innerText');
  const localName = getter(Element, 'localName');
  const attribute = (node, name) => Element.prototype.getAttribute.call(node, name) ?? '';
  const shown = node => Element.prototype.checkVisibility.call(node, { visibilityProperty: true });
  const all = text => Document.prototype.querySelectorAll.call(document, text);
  const plain = node => node instanceof HTMLElement ? innerText(node) : textContent(node) ?? '';
  const html = node => {
    const type = getter(Document, 'doctype')(document);
    return node === root && type ? '<!DOCTYPE ' + type.name + '>\n' + outer(node) : outer(node);
  };

  const skipped = new Set(['script', 'style', 'noscript', 'template', 'head', 'svg', 'canvas', 'iframe', 'object', 'audio', 'video', 'button', 'select', 'textarea']);
  const blocks = new Set(['p', 'div', 'section', 'article', 'main', 'header', 'footer', 'nav', 'aside', 'figure', 'figcaption', 'form',
    'fieldset', 'dl', 'dt', 'dd', 'address', 'details', 'summary', 'body', 'html', 'ul', 'ol', 'table', 'blockquote', 'pre', 'hr', 'li', 'tr']);
  const block = text => '\n\n' + text.trim() + '\n\n';
  const tidy = text => text.replace(/[ \t]+\n/g, '\n').replace(/\n{3,}/g, '\n\n').trim();
  const indent = (text, first, rest) => first + text.replace(/\n(?=.)/g, '\n' + rest);
  const inside = (node, depth) => kids(node).map(child => mark(child, depth)).join('');
  const line = (node, depth) => inside(node, depth).replace(/\s+/g, ' ').trim();
  const list = (node, depth, ordered) => {
    let number = Number(attribute(node, 'start')) || 1;
    const items = kids(node).filter(child => child instanceof Element && localName(child) === 'li' && shown(child));
    return items.map(child => {
      const sign = ordered ? number++ + '. ' : '- ';
      return indent(tidy(inside(child, depth + 1)), sign, ' '.repeat(sign.length));
    }).join('\n');
  };
  const table = (node, depth) => {
    const rows = [...Element.prototype.querySelectorAll.call(node, 'tr')].filter(shown).map(row =>
      kids(row).filter(cell => cell instanceof HTMLTableCellElement).map(cell => line(cell, depth + 1).replace(/\|/g, '\\|')));
    if (rows.length === 0) return inside(node, depth);
    const width = Math.max(...rows.map(row => row.length));
    const text = row => '| ' + [...row, ...Array(width - row.length).fill('')].join(' | ') + ' |';
    return [text(rows[0]), '|' + ' --- |'.repeat(width), ...rows.slice(1).map(text)].join('\n');
  };
  const link = (node, depth) => {
    const text = line(node, depth), target = attribute(node, 'href');
    if (!text || !target || target.startsWith('javascript:')) return text;
    let whole = target;
    try { whole = new URL(target, getter(Node, 'baseURI')(node)).href } catch {}
    return '[' + text + '](' + whole + ')';
  };
  const wrapped = (node, depth, sign) => { const text = line(node, depth); return text ? sign + text + sign : '' };
  const mark = (node, depth) => {
    if (node instanceof Text) return textContent(node).replace(/\s+/g, ' ');
    if (!(node instanceof Element) || depth > 200) return '';
    const name = localName(node);
    if (skipped.has(name) || !shown(node)) return '';
    if (/^h[1-6]$/.test(name)) return block('#'.repeat(Number(name[1])) + ' ' + line(node, depth + 1));
    switch (name) {
      case 'br': return '\n';
      case 'hr': return block('---');
      case 'a': return link(node, depth + 1);
      case 'img': { const text = attribute(node, 'alt').trim(); return text ? '![' + text + '](' + node.src + ')' : '' }
      case 'b': case 'strong': return wrapped(node, depth + 1, '**');
      case 'i': case 'em': return wrapped(node, depth + 1, '*');
      case 'code': case 'kbd': case 'samp': return '`' + textContent(node) + '`';
      case 'pre': return '\n\n```\n' + textContent(node).replace(/\n$/, '') + '\n```\n\n';
      case 'blockquote': return block(indent(tidy(inside(node, depth + 1)), '> ', '> ').replace(/\n\n/g, '\n>\n'));
      case 'ul': return block(list(node, depth, false));
      case 'ol': return block(list(node, depth, true));
      case 'table': return block(table(node, depth));
    }
    return blocks.has(name) ? block(inside(node, depth + 1)) : inside(node, depth + 1);
  };
  const markdown = node => node instanceof HTMLElement ? tidy(mark(node, 0)) : plain(node);

  const render = { html, text: plain, markdown }[format];
  const found = selector ? [...all(selector)] : [format === 'html' ? root : body ?? root];
  let content = '', truncated = false;
  for (const node of found) {
    if (node) content += (content ? '\n' : '') + render(node);
    if (content.length > limit) { content = content.slice(0, limit); truncated = true; break }
  }
  const timing = performance.getEntriesByType('navigation')[0];
  return { content: content.toWellFormed(), title: title.slice(0, 1000).toWellFormed(), url: location.href.slice(0, 8000),
    status: timing ? timing.responseStatus : 0, matches: found.length, truncated };
})
