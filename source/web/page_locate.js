(async function(selector) {
  const found = Document.prototype.querySelector.call(document, selector);
  if (!found) return null;
  Element.prototype.scrollIntoView.call(found, { block: 'center', inline: 'center', behavior: 'instant' });
  await new Promise(done => { requestAnimationFrame(() => requestAnimationFrame(done)); setTimeout(done, 200) });
  const boxes = [...Element.prototype.getClientRects.call(found)].filter(box => box.width > 0 && box.height > 0);
  const box = boxes[0];
  if (!box) return { x: 0, y: 0, visible: false, name: found.localName };
  return { x: box.x + box.width / 2, y: box.y + box.height / 2, visible: true, name: found.localName };
})
