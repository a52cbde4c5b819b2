// Stands before each of the other scripts: how they reach elements, those in open shadow roots among them.
const getter = (owner, name) => { const get = Object.getOwnPropertyDescriptor(owner.prototype, name).get; return node => get.call(node) };
const shadowOf = getter(Element, 'shadowRoot');
const parentOf = getter(Node, 'parentNode');
const found = (root, selector) => (root === document ? Document : DocumentFragment).prototype.querySelectorAll.call(root, selector);
// The roots in a tree; deeper ones behind the root that holds them.
const rootsIn = root => {
  const roots = [root];
  for (let i = 0; i < roots.length && roots.length < 10000; i++)
    for (const each of found(roots[i], '*')) {
      const inner = shadowOf(each);
      if (inner) roots.push(inner);
    }
  return roots;
};
const findAll = selector => {
  const light = [...found(document, selector)];
  return light.concat(...rootsIn(document).slice(1).map(root => [...found(root, selector)]));
};
const findFirst = selector => {
  const light = Document.prototype.querySelector.call(document, selector);
  if (light) return light;
  for (const root of rootsIn(document).slice(1)) {
    const inner = DocumentFragment.prototype.querySelector.call(root, selector);
    if (inner) return inner;
  }
  return null;
};
