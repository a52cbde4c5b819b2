// Called on a frame's element: what page_extract.js gave of its page, for the one that holds it.
(function(content) {
  if (!globalThis.contentOfFrames) globalThis.contentOfFrames = new WeakMap();
  globalThis.contentOfFrames.set(this, content);
})
