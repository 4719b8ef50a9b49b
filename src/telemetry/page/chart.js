// Charts drawn as SVG: lines over time, and the picture of the windows.
"use strict";

const Chart = (() => {
  const SPACE = "http://www.w3.org/2000/svg";

  function element(name, attributes, text) {
    const made = document.createElementNS(SPACE, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function canvas(place, width, height, title) {
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    svg.appendChild(element("title", {}, title));
    place.replaceChildren(svg);
    return svg;
  }

  // Colours that are told apart, also by those who do not see all of them.
  function colour(number) {
    const known = ["#1d6fd6", "#d97706", "#17803d", "#9333ea", "#c4281c", "#0e7490", "#a16207", "#be185d"];
    return number < known.length ? known[number] : `hsl(${(number * 137) % 360} 60% 50%)`;
  }

  // Lines: each has a name, points (oldest first, one a look) and a colour or a class.
  function lines(place, traces, most, show, title) {
    const [width, height, left, low] = [560, 170, 64, 150];
    const svg = canvas(place, width, height, title);
    const points = traces.flatMap((trace) => trace.points);
    const top = Math.max(1e-12, ...points) * 1.08;
    for (const share of [0, 0.5, 1]) {
      const y = low - share * (low - 12);
      svg.appendChild(element("line", { class: "axis", x1: left, x2: width, y1: y, y2: y }));
      svg.appendChild(element("text", { x: left - 6, y: y + 3, "text-anchor": "end" }, show(share * top)));
    }
    for (const trace of traces) {
      const x = (at) => width - 4 - (trace.points.length - 1 - at) * ((width - left - 8) / (most - 1));
      const y = (value) => low - (value / top) * (low - 12);
      const path = trace.points.map((value, at) => `${at ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`);
      const line = element("path", { class: `trace ${trace.class || ""}`, d: path.join("") });
      if (trace.colour) line.setAttribute("stroke", trace.colour);
      line.appendChild(element("title", {}, trace.name));
      svg.appendChild(line);
    }
    svg.appendChild(element("text", { x: left, y: height - 4 }, `${most} s ago`));
    svg.appendChild(element("text", { x: width - 4, y: height - 4, "text-anchor": "end" }, "now"));
  }

  // Servers from top to bottom, time from left to right. A block is the window of an agent, a mark a
  // batch that this agent sent. Windows follow from the clock: in window n agent a serves group n + a.
  function windows(place, window, servers, batches, colourOf) {
    const rows = Math.min(servers, 32);
    const [width, left, row] = [1160, 40, Math.max(9, Math.min(22, 330 / rows))];
    const height = rows * row + 26;
    const svg = canvas(place, width, height, "windows of agents over servers, and batches that left");
    const last = batches.length ? batches[batches.length - 1][0] : window.end_ns;
    const length = window.length_ns;
    const shown = Math.max(12, Math.min(48, 3 * window.groups));
    const end = window.end_ns + Math.ceil((last - window.end_ns) / length) * length;
    const begin = end - shown * length;
    const x = (time) => left + ((time - begin) / (end - begin)) * (width - left);
    const groups = window.groups;
    for (let at = 0; at < shown; at++) {
      const from = begin + at * length;
      const ahead = Math.round((from + length - window.end_ns) / length);
      const turn = (((window.turn + ahead) % groups) + groups) % groups;
      for (let agent = 0; agent < Math.min(window.agents, 64); agent++) {
        const group = (turn + agent) % groups;
        const first = group * window.size;
        if (first >= rows) continue;
        const size = Math.min(window.size, rows - first);
        svg.appendChild(element("rect", {
          class: agent === window.agent ? "own" : "other",
          x: x(from) + 0.5, y: first * row + 1, rx: 2,
          width: Math.max(1, x(from + length) - x(from) - 1), height: size * row - 2,
          fill: colourOf(agent),
        }));
      }
    }
    for (let server = 0; server < rows; server++) {
      svg.appendChild(element("text", { x: left - 8, y: (server + 0.5) * row + 3, "text-anchor": "end" }, server));
    }
    const most = Math.max(1, ...batches.map((batch) => batch[2]));
    for (const [time, server, bytes] of batches) {
      if (time < begin || server >= rows) continue;
      const tall = Math.max(3, Math.sqrt(bytes / most) * (row - 4));
      const mark = element("rect", {
        class: "batch", x: x(time) - 0.75, y: (server + 0.5) * row - tall / 2, width: 1.5, height: tall,
      });
      svg.appendChild(mark);
    }
    const axis = rows * row + 2;
    svg.appendChild(element("line", { class: "axis", x1: left, x2: width, y1: axis, y2: axis }));
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const time = ((share - 1) * shown * length) / 1e6;
      const anchor = share === 1 ? "end" : share === 0 ? "start" : "middle";
      svg.appendChild(element("text", { x: left + share * (width - left), y: axis + 14, "text-anchor": anchor },
        `${time.toFixed(1)} ms`));
    }
  }

  return { colour, lines, windows };
})();
