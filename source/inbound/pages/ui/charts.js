// Curves of figures over time, as SVG that is made node by node.

import { element, setText } from "./elements.js";

const width = 300, height = 60;
const svg = (tag, attributes) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};

/// A curve with its latest value and its highest one. `lines`: [{name, read(sample)}], at most two; `write(number)`.
export function curve(title, lines, write, highest) {
  const figure = element("b"), about = element("span", { class: "dim" });
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: "curve", role: "img" });
  const paths = lines.map((_, index) => svg("path", { class: `line${index}`, "vector-effect": "non-scaling-stroke" }));
  picture.append(...paths);
  const node = element("li", {}, element("div", { class: "chart" }, element("span", {}, title), figure), picture, about);
  const update = (samples, from, to) => {
    const values = lines.map(({ read }) => samples.map(read));
    const most = Math.max(highest || 0, ...values.flat(), Number.MIN_VALUE);
    const x = ({ at }) => (width * (at - from)) / (to - from), y = (value) => height - 1 - ((height - 3) * value) / most;
    paths.forEach((path, index) => path.setAttribute("d", samples.map((sample, at) => `${at ? "L" : "M"}${x(sample).toFixed(1)} ${y(values[index][at]).toFixed(1)}`).join("")));
    const latest = values.map((each) => each.at(-1) ?? 0), top = values.map((each) => Math.max(0, ...each));
    const name = (index) => lines.length > 1 ? `${lines[index].name} ` : "";
    setText(figure, latest.map((value, index) => `${name(index)}${write(value)}`).join(", "));
    setText(about, `most ${top.map((value, index) => `${name(index)}${write(value)}`).join(", ")}`);
    picture.setAttribute("aria-label", `${title} of the last hour: now ${figure.textContent}, ${about.textContent}`);
  };
  return { node, update };
}
