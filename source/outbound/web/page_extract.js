// Gives what is asked for of a page: its HTML as it is (`html`), or the part of it that is shown, in the tags and attributes
// that web_page_renderer.py knows, with open shadow roots and frames where they are shown.
(function(format, selector, limit) {
  const root = getter(Document, 'documentElement')(document);
  const body = getter(Document, 'body')(document);
  const title = getter(Document, 'title')(document);
  const childNodes = getter(Node, 'childNodes');
  const outer = getter(Element, 'outerHTML');
  const textContent = getter(Node, 'textContent');
  const localName = getter(Element, 'localName');
  const attribute = (node, name) => Element.prototype.getAttribute.call(node, name);
  const frames = globalThis.contentOfFrames ?? new WeakMap();
  const closed = new Set();

  const html = node => {
    const roots = node === root || node === body ? rootsIn(document).slice(1) : inside(node).map(shadowOf).filter(Boolean).flatMap(rootsIn);
    let text = outer(node);
    if (roots.length && Element.prototype.getHTML) {
      const inner = Object.getOwnPropertyDescriptor(Element.prototype, 'innerHTML').get.call(node);
      const end = '</' + localName(node) + '>';
      if (text.endsWith(inner + end)) {
        // getHTML() leaves out the element itself, whose own root then stands first.
        const all = Element.prototype.getHTML.call(node, { serializableShadowRoots: true, shadowRoots: roots });
        text = text.slice(0, text.length - inner.length - end.length) + all + end;
      }
    }
    const type = getter(Document, 'doctype')(document);
    if (node === root && type) text = '<!DOCTYPE ' + type.name + '>\n' + text;
    for (const frame of inside(node)) if (frames.has(frame)) text += '\n' + frames.get(frame);
    return text;
  };
  const inside = node => {
    const all = [node, ...Element.prototype.querySelectorAll.call(node, '*')];
    for (let i = 0; i < all.length; i++) {
      const inner = shadowOf(all[i]);
      if (inner) all.push(...found(inner, '*'));
    }
    return all;
  };

  const escaped = text => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
  const skipped = new Set(['script', 'style', 'noscript', 'template', 'head', 'canvas', 'object', 'embed', 'audio', 'video', 'datalist', 'noembed', 'noframes']);
  const blocks = new Set(['p', 'div', 'section', 'article', 'main', 'header', 'footer', 'nav', 'aside', 'figure', 'figcaption', 'form', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6',
    'fieldset', 'dl', 'dt', 'dd', 'address', 'details', 'summary', 'ul', 'ol', 'menu', 'table', 'thead', 'tbody', 'tfoot', 'caption', 'blockquote', 'pre', 'hr', 'li',
    'tr', 'td', 'th']);
  const marks = new Set(['a', 'b', 'strong', 'i', 'em', 'code', 'kbd', 'samp', 'del', 's', 'strike', 'sup', 'sub', 'q', 'abbr', 'ruby', 'rt', 'rp', 'br', 'img', 'svg',
    'input', 'select', 'option', 'textarea']);
  const empty = new Set(['br', 'hr', 'img', 'input']);
  const kept = { ol: ['start', 'reversed', 'type'], li: ['value'], td: ['colspan', 'rowspan'], th: ['colspan', 'rowspan'], abbr: ['title'], a: ['aria-label', 'title'],
    svg: ['aria-label'], table: ['role'], code: ['class'], pre: ['class'], input: ['type'], img: ['alt'] };
  const address = (node, name) => {
    try { return new URL(attribute(node, name), getter(Node, 'baseURI')(node)).href } catch { return '' }
  };
  const attributes = (node, name) => {
    const all = (kept[name] ?? []).map(each => [each, attribute(node, each)]);
    if (name === 'a' && attribute(node, 'href')) all.push(['href', address(node, 'href')]);
    if (name === 'img' && attribute(node, 'src')) all.push(['src', address(node, 'src')]);
    if (name === 'input' && !['password', 'hidden', 'file'].includes(node.type)) all.push(['value', node.value], ['checked', node.checked ? '' : null]);
    if (name === 'option' && node.selected) all.push(['selected', '']);
    return all.filter(([, value]) => value !== null).map(([key, value]) => ' ' + key + '="' + escaped(String(value)) + '"').join('');
  };
  const kids = node => {
    const inner = shadowOf(node);
    if (inner) return [...childNodes(inner)];
    if (localName(node) !== 'slot') return [...childNodes(node)];
    const given = HTMLSlotElement.prototype.assignedNodes.call(node);
    return given.length ? given : [...childNodes(node)];
  };

  // What draws a formula for the eye stands beside its MathML.
  const drawsFormula = node => attribute(node, 'aria-hidden') === 'true' && parentOf(node) instanceof Element &&
    Element.prototype.querySelector.call(parentOf(node), 'math') !== null;

  const parts = [];
  let length = 0, truncated = false;
  const put = text => {
    if (truncated) return;
    parts.push(text.slice(0, limit - length));
    if ((length += text.length) > limit) truncated = true;
  };
  // `seen` is false within what is invisible, where a part may be visible again; `lines`: line ends are kept.
  const mark = (node, depth, seen, lines, style) => {
    if (truncated || depth > 1000) return;
    if (node instanceof Text) {
      if (!seen) return;
      const text = escaped(textContent(node));
      put(lines ? text.replace(/\n/g, '<br>') : text);
      return;
    }
    if (!(node instanceof Element)) return;
    const name = localName(node);
    if (skipped.has(name)) return;
    const look = getComputedStyle(node);
    if (look.display === 'none' || drawsFormula(node)) return;
    seen = look.visibility === 'visible' || !look.visibility;
    if (name.includes('-') && !shadowOf(node) && !node.firstChild && seen && node.getClientRects().length && node.offsetHeight > 0) closed.add(name);
    if (name === 'math') return seen ? put(new XMLSerializer().serializeToString(node)) : undefined;
    if (name === 'svg') {
      const caption = attribute(node, 'aria-label') || [...childNodes(node)].filter(each => each instanceof Element && localName(each) === 'title').map(textContent)[0];
      return seen && caption ? put('<svg aria-label="' + escaped(caption) + '"></svg>') : undefined;
    }
    if (name === 'textarea') return seen ? put('<textarea>' + escaped(node.value) + '</textarea>') : undefined;
    if (name === 'iframe' || name === 'frame') return seen && frames.has(node) ? put('<section>' + frames.get(node).replace(/<\/?page-part>/g, '') + '</section>') : undefined;
    const own = blocks.has(name) || marks.has(name) ? name : '';
    const flat = /^(inline|contents|ruby)/.test(look.display);
    const block = !flat && !blocks.has(name) && !['option', 'select', 'br', 'img', 'input'].includes(name);
    const plain = name === 'div' && flat;
    const apart = /^inline-/.test(look.display) && !own;
    if (block) put('<div>');
    if (apart) put(' ');
    if (own && !plain && seen) put('<' + own + attributes(node, own) + '>' + (own === 'pre' ? '\n' : ''));
    if (!empty.has(name)) {
      const keeps = name !== 'pre' && !lines && /^(pre|break-spaces)/.test(look.whiteSpace) && !Element.prototype.closest.call(node, 'pre');
      for (const child of kids(node)) mark(child, depth + 1, seen, name === 'pre' ? false : lines ? /^(pre|break-spaces)/.test(look.whiteSpace) : keeps);
      if (own && !plain && seen) put('</' + own + '>');
    }
    if (apart) put(' ');
    if (block) put('</div>');
  };
  const asParts = node => {
    put('<page-part>');
    if (node instanceof HTMLElement) mark(node, 0, true, false);
    else put(escaped(textContent(node) ?? ''));
    put('</page-part>');
  };

  const chosen = selector ? findAll(selector) : [format === 'html' ? root : body ?? root];
  for (const node of chosen) {
    if (!node || truncated) continue;
    if (format === 'html') put((parts.length ? '\n' : '') + html(node));
    else asParts(node);
  }
  const content = parts.join('');
  const timing = performance.getEntriesByType('navigation')[0];
  return { content: content.toWellFormed(), title: title.slice(0, 1000).toWellFormed(), url: location.href.slice(0, 8000),
    status: timing ? timing.responseStatus : 0, matches: chosen.length, truncated, closed: [...closed].slice(0, 5) };
})
