(async function(selector, to) {
  if (selector) {
    const found = Document.prototype.querySelector.call(document, selector);
    if (!found) return false;
    Element.prototype.scrollIntoView.call(found, { block: 'center', behavior: 'instant' });
  } else {
    const height = document.scrollingElement ? document.scrollingElement.scrollHeight : 0;
    const step = innerHeight * 0.9;
    const target = { up: scrollY - step, down: scrollY + step, top: 0, bottom: height }[to];
    scrollTo({ top: target, behavior: 'instant' });
  }
  return true;
})
