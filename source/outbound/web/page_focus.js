(function(selector) {
  const element = findFirst(selector);
  if (element) HTMLElement.prototype.focus.call(element);
})
