// Called on a frame's element: where its page begins in the page that holds it, after scrolling it into sight.
(function() {
  Element.prototype.scrollIntoView.call(this, { block: 'nearest', inline: 'nearest', behavior: 'instant' });
  const box = Element.prototype.getBoundingClientRect.call(this);
  return { x: box.x + this.clientLeft, y: box.y + this.clientTop, shown: box.width > 1 && box.height > 1 && Element.prototype.checkVisibility.call(this, { visibilityProperty: true }) };
})
