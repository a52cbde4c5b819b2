(async function(selector, to) {
  if (selector) {
    const element = findFirst(selector);
    if (!element) return false;
    Element.prototype.scrollIntoView.call(element, { block: 'center', behavior: 'instant' });
  } else {
    const height = document.scrollingElement ? document.scrollingElement.scrollHeight : 0;
    const step = innerHeight * 0.9;
    const target = { up: scrollY - step, down: scrollY + step, top: 0, bottom: height }[to];
    scrollTo({ top: target, behavior: 'instant' });
  }
  return true;
})
