(function(selector, milliseconds) {
  const there = () => Document.prototype.querySelector.call(document, selector) !== null;
  if (there()) return true;
  return new Promise(done => {
    const watch = new MutationObserver(() => { if (there()) finish(true) });
    const timer = setTimeout(() => finish(there()), milliseconds);
    const finish = answer => { watch.disconnect(); clearTimeout(timer); done(answer) };
    watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  });
})
