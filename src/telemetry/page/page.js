// Asks the agent once a second, remembers two minutes, draws.
"use strict";

(() => {
  const SECONDS = 120;
  const state = { before: null, history: new Map(), chosen: 0, updates: 0, errors: 0 };
  const find = (id) => document.getElementById(id);

  addEventListener("error", () => { document.body.dataset.errors = ++state.errors; });
  addEventListener("unhandledrejection", () => { document.body.dataset.errors = ++state.errors; });

  function scaled(value, step, units) {
    let unit = 0;
    while (value >= step * 0.9995 && unit + 1 < units.length) { value /= step; unit += 1; }
    const digits = unit === 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return `${value.toFixed(digits)} ${units[unit]}`.trim();
  }
  const bytes = (value) => scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
  const rate = (value) => `${bytes(value)}/s`;
  const count = (value) => scaled(value, 1000, ["", "k", "M", "G", "T"]);
  const share = (value) => `${Math.round(Math.min(1, Math.max(0, value)) * 100)} %`;
  const time = (nanos) => nanos < 1e9 ? scaled(nanos, 1000, ["ns", "µs", "ms"]) : `${(nanos / 1e9).toFixed(2)} s`;

  function long(nanos) {
    const seconds = Math.floor(nanos / 1e9);
    if (seconds < 120) return `${seconds} s`;
    if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} d`;
  }

  // The value that a share of all does not pass, even inside its bucket.
  function quantile(spread, part) {
    let below = 0;
    const rank = Math.max(1, spread.count * part);
    for (const [bound, number] of spread.buckets) {
      if (below + number >= rank) {
        const [least, most] = [bound / 2, Math.min(bound, Math.max(1, spread.largest))];
        return least + (most - least) * ((rank - below) / number);
      }
      below += number;
    }
    return spread.largest;
  }

  function since(now, before) {
    if (!before) return now;
    const earlier = new Map(before.buckets);
    const buckets = now.buckets.map(([bound, number]) => [bound, number - (earlier.get(bound) || 0)]);
    return { count: now.count - before.count, largest: now.largest, buckets: buckets.filter(([, n]) => n > 0) };
  }

  function cell(kind, text, type) {
    const made = document.createElement(kind);
    made.textContent = text;
    if (type) made.className = type;
    return made;
  }

  // Rows are lists of texts, or of [text, class]; texts never become HTML.
  function table(id, head, rows, classes) {
    const line = (kind, cells, type) => {
      const made = document.createElement("tr");
      if (type) made.className = type;
      for (const one of cells) made.appendChild(Array.isArray(one) ? cell(kind, ...one) : cell(kind, one));
      return made;
    };
    const lines = rows.map((row, at) => line("td", row, classes && classes[at]));
    find(id).replaceChildren(line("th", head), ...lines);
  }

  function remember(key, value) {
    const kept = state.history.get(key) || [];
    kept.push(value);
    if (kept.length > SECONDS) kept.shift();
    state.history.set(key, kept);
    return kept;
  }

  function drawHealth(problems) {
    const place = find("health");
    place.className = problems.length ? "ill" : "well";
    place.replaceChildren(...(problems.length ? problems : ["well"]).map((text) => cell("p", text)));
  }

  function drawTiles(now, every, changes) {
    const total = (of) => changes.reduce((sum, change) => sum + of(change), 0);
    const tiles = [
      ["read", rate(total((c) => c.read))],
      ["written", rate(total((c) => c.written))],
      ["queued", count(every.servers.reduce((sum, s) => sum + s.queued, 0))],
      ["on their way", count(every.servers.reduce((sum, s) => sum + s.in_flight, 0))],
      ["files open", count(every.open_files)],
    ];
    if (now.service) tiles.push(["clients", count(now.service.clients)], ["held in memory", bytes(now.service.memory_bytes)]);
    find("tiles").replaceChildren(...tiles.map(([name, value]) => {
      const tile = cell("div", "", "tile");
      tile.append(cell("b", value), cell("span", name));
      tile.dataset.tile = name;
      return tile;
    }));
  }

  function change(server, before, seconds) {
    const grown = (field) => server[field] - (before ? before[field] : 0);
    const batches = grown("batches");
    return {
      read: grown("bytes_read") / seconds,
      written: grown("bytes_written") / seconds,
      merged: batches ? grown("issued") / batches : 1,
      idle: 1 - grown("busy_ns") / 1e9 / seconds,
      wait: since(server.wait, before && before.wait),
      service: since(server.service, before && before.service),
    };
  }

  function drawServers(every, changes) {
    const own = every.window;
    const served = (at) => own && Math.floor(at / own.size) === (own.turn + own.agent) % own.groups;
    const classes = every.servers.map((_, at) => (served(at) ? "served" : ""));
    const rows = every.servers.map((server, at) => {
      const c = changes[at];
      const wait = c.wait.count > 0 ? c.wait : server.wait;
      const service = c.service.count > 0 ? c.service : server.service;
      return [
        `${at} ${server.name}`, count(server.queued), count(server.in_flight), rate(c.read), rate(c.written),
        time(quantile(wait, 0.5)), time(quantile(wait, 0.99)), time(quantile(service, 0.5)), time(quantile(service, 0.99)),
        c.merged.toFixed(1), share(c.idle), bytes(server.bytes_read), bytes(server.bytes_written), count(server.failed),
      ];
    });
    table("servers", ["server", "queued", "out", "read", "written", "wait p50", "p99", "service p50", "p99",
      "merged", "idle", "read in all", "written in all", "failed"], rows, classes);
  }

  function drawCharts(every, changes) {
    const traces = changes.map((c, at) => ({
      name: `server ${at} ${every.servers[at].name}`, colour: Chart.colour(at),
      points: remember(`${every.name}/rate/${at}`, c.read + c.written),
    }));
    Chart.lines(find("rates"), traces, SECONDS, rate, "bytes a second of each server");
    const slowest = (of) => Math.max(0, ...changes.map((c) => (of(c).count > 0 ? quantile(of(c), 0.99) : 0)));
    const times = ["wait", "service"].map((what) => ({
      name: what, class: what, points: remember(`${every.name}/${what}`, slowest((c) => c[what])),
    }));
    Chart.lines(find("times"), times, SECONDS, time, "wait and service times of the slowest server");
    find("legend").replaceChildren(...traces.slice(0, 24).map((trace) => {
      const entry = cell("span", "");
      const key = cell("span", "", "key");
      key.style.background = trace.colour;
      entry.append(key, trace.name);
      return entry;
    }));
  }

  function drawWindows(every) {
    const hint = find("window-hint");
    const own = every.window;
    if (!own) {
      hint.textContent = `No windows: the policy is ${every.policy}, with ${every.servers.length} server(s).`;
      find("windows").replaceChildren();
      return;
    }
    hint.textContent = `Servers from top to bottom, time from left to right. Blocks are windows of ${time(own.length_ns)}: ` +
      `this agent's (${own.agent + 1} of ${own.agents}) strong, those of others faint. Marks are batches that left.`;
    Chart.windows(find("windows"), own, every.servers.length, every.recent, Chart.colour);
  }

  function drawLists(every, before, seconds) {
    const most = Math.max(1, ...every.levels.map((level) => (level.requests ? level.bytes / level.requests : 0)));
    find("levels").replaceChildren(...every.levels.map((level) => {
      const size = level.requests ? level.bytes / level.requests : 0;
      const bar = cell("div", "", "bar");
      const length = cell("i", "");
      length.style.width = `${(size / most) * 100}%`;
      bar.append(cell("span", level.name), length, cell("b", bytes(size)));
      bar.title = `${level.requests} requests, ${level.bytes} bytes`;
      return bar;
    }));
    const earlier = (list, name) => (before ? before[list].find((one) => one.name === name) : null);
    const moved = (one) => (one ? one.bytes_read + one.bytes_written : 0);
    const row = (list) => (one) => [
      one.name, count(one.requests), bytes(one.bytes_read), bytes(one.bytes_written),
      rate(Math.max(0, moved(one) - moved(earlier(list, one.name))) / seconds),
    ];
    table("jobs", ["job", "requests", "read", "written", "now"], every.jobs.slice(0, 12).map(row("jobs")));
    table("files", ["file", "requests", "read", "written", "now"], every.files.map(row("files")));
  }

  function drawChoice(exports) {
    const names = exports.map((one) => one.name || "mount");
    find("exports").replaceChildren(...(names.length > 1 ? names : []).map((name, at) => {
      const button = cell("button", name);
      button.setAttribute("aria-pressed", at === state.chosen);
      button.addEventListener("click", () => { state.chosen = at; });
      return button;
    }));
  }

  function draw(seen) {
    const now = seen.snapshot;
    document.body.dataset.updates = ++state.updates;
    // The agent looks at itself a few times a second at most.
    if (state.before && state.before.pid === now.pid && state.before.uptime_ns === now.uptime_ns) return;
    const same = state.before && state.before.pid === now.pid && now.uptime_ns > state.before.uptime_ns;
    const before = same ? state.before : null;
    const seconds = Math.max(1e-3, (now.uptime_ns - (before ? before.uptime_ns : 0)) / 1e9);
    drawHealth(seen.problems);
    drawChoice(now.exports);
    find("who").textContent = `${now.version} on ${now.host}, process ${now.pid}, up ${long(now.uptime_ns)}`;
    const every = now.exports[state.chosen] || now.exports[0];
    if (every) {
      const earlier = before && before.exports.find((one) => one.name === every.name);
      const changes = every.servers.map((server, at) => change(server, earlier && earlier.servers[at], seconds));
      drawTiles(now, every, changes);
      drawServers(every, changes);
      if (before) drawCharts(every, changes);
      drawWindows(every);
      drawLists(every, earlier, seconds);
    }
    const settings = now.settings.map((one) => [one.name, [one.value, "text"], [one.meaning, "text"]]);
    table("settings", ["setting", ["value", "text"], ["meaning", "text"]], settings);
    state.before = now;
  }

  async function ask() {
    try {
      const answer = await fetch("/snapshot.json", { cache: "no-store" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      draw(await answer.json());
    } catch (error) {
      drawHealth([`the agent does not answer: ${error.message}; what is shown below is old`]);
    }
    setTimeout(ask, 1000);
  }

  document.body.dataset.errors = 0;
  document.body.dataset.updates = 0;
  ask();
})();
