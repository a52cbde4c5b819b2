(function(selector, milliseconds) {
  const there = () => findFirst(selector) !== null;
  if (there() || milliseconds <= 0) return there();
  return new Promise(done => {
    // What happens in a shadow root, and that there is one, no observer of the document hears.
    const look = setInterval(() => { if (there()) finish(true) }, 100);
    const watch = new MutationObserver(() => { if (Document.prototype.querySelector.call(document, selector) !== null) finish(true) });
    const timer = setTimeout(() => finish(there()), milliseconds);
    const finish = answer => { watch.disconnect(); clearInterval(look); clearTimeout(timer); done(answer) };
    watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  });
})
