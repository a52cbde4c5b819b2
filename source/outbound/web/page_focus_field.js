(function(selector, text) {
  const field = findFirst(selector);
  if (!field) return 'no element matches';
  const tell = name => field.dispatchEvent(new Event(name, { bubbles: true }));
  if (field instanceof HTMLSelectElement) {
    const option = [...HTMLSelectElement.prototype.__lookupGetter__('options').call(field)].find(each => each.value === text || each.text.trim() === text);
    if (!option) return 'it has no option "' + text + '"';
    option.selected = true;
    tell('input');
    tell('change');
    return 'chosen';
  }
  const kinds = ['button', 'submit', 'reset', 'image', 'checkbox', 'radio', 'file', 'hidden', 'range', 'color'];
  const input = field instanceof HTMLInputElement;
  if (input && kinds.includes(field.type)) return 'an input of type ' + field.type + ' takes no text; use click';
  if (!input && !(field instanceof HTMLTextAreaElement) && !field.isContentEditable) return 'it is no field that takes text';
  if (field.disabled || field.readOnly) return 'it is disabled or read-only';
  Element.prototype.scrollIntoView.call(field, { block: 'center', behavior: 'instant' });
  HTMLElement.prototype.focus.call(field);
  if (input && ['date', 'time', 'datetime-local', 'month', 'week', 'number'].includes(field.type)) {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, text);
    tell('input');
    tell('change');
    return 'chosen';
  }
  if (input || field instanceof HTMLTextAreaElement) field.select();
  else getSelection().selectAllChildren(field);
  return 'typed';
})
