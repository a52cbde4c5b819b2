(async function(selector) {
  const element = findFirst(selector);
  if (!element) return null;
  Element.prototype.scrollIntoView.call(element, { block: 'center', inline: 'center', behavior: 'instant' });
  await new Promise(done => { requestAnimationFrame(() => requestAnimationFrame(done)); setTimeout(done, 200) });
  const boxes = [...Element.prototype.getClientRects.call(element)].filter(box => box.width > 0 && box.height > 0);
  const box = boxes[0];
  if (!box) return { x: 0, y: 0, visible: false, name: element.localName };
  return { x: box.x + box.width / 2, y: box.y + box.height / 2, visible: true, name: element.localName };
})
