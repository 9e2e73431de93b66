"use strict";
(() => {
  const CHUNK = 40, PAGE = 100;
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const score = read("score"), entries = read("entries");
  const chunks = new Map();
  const cellAt = (place) => {
    const chunk = Math.floor(place / CHUNK);
    if (!chunks.has(chunk)) chunks.set(chunk, read("chunk-" + chunk));
    return chunks.get(chunk)[place % CHUNK];
  };
  const byId = (id) => document.getElementById(id);

  /* Everything from the data goes through here: as text or an attribute, never as markup. */
  const el = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };
  const clock = (ms) => {
    const s = Math.floor(ms / 1000), rest = ms % 1000;
    const seconds = (s % 60) + (rest ? "." + String(rest).padStart(3, "0") : "") + "s";
    const m = Math.floor(s / 60) % 60, h = Math.floor(s / 3600);
    return h ? `${h}h${m}m${seconds}` : m ? `${m}m${seconds}` : seconds;
  };

  /* ---- the scoreboard ---- */
  const CLASSES = [["harmed", "H"], ["wrongly", "W"], ["missed", "m"], ["stopped", "s"], ["resolved", "r"], ["untouched", "u"]];
  const worst = (row) => CLASSES.find(([name]) => row[name] > 0) || CLASSES[5];
  const natural = (a, b) => a.localeCompare(b, "en", { numeric: true });
  const board = () => {
    const mechanisms = [...new Set(score.map((row) => row.mechanism))].filter(Boolean).sort(natural);
    const strategies = [...new Set(score.map((row) => row.strategy))];
    const at = new Map(score.map((row) => [row.strategy + "\n" + row.mechanism, row]));
    const head = el("tr", {}, el("td"), ...mechanisms.map((m) => el("th", { scope: "col" }, el("span", {}, m))));
    const body = strategies.map((strategy) => el("tr", {},
      el("th", { scope: "row" }, strategy),
      ...mechanisms.map((mechanism) => {
        const row = at.get(strategy + "\n" + mechanism);
        if (!row) return el("td");
        const [name, letter] = worst(row);
        const told = CLASSES.filter(([name]) => row[name]).map(([name]) => `${row[name]} ${name}`).join(", ");
        return el("td", {}, el("button", {
          type: "button", class: "k-" + letter, title: `${strategy} on ${mechanism}: ${told}`,
          "aria-label": `${strategy} on ${mechanism}: ${told}`,
          on: { click: () => { location.hash = "s=" + encodeURIComponent(strategy) + "&m=" + encodeURIComponent(mechanism); } },
        }, (letter === "u" ? "·" : letter) + row[name]));
      })));
    byId("heat").replaceChildren(el("table", {}, el("thead", {}, head), el("tbody", {}, ...body)));
    arrows(byId("heat"), "button");
  };
  /* Arrow keys move between the buttons of a grid. */
  const arrows = (root, what) => root.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const cell = event.target.closest("td");
    if (!move || !cell) return;
    let row = cell.parentElement, column = cell.cellIndex;
    for (;;) {
      if (move[0]) row = move[0] < 0 ? row.previousElementSibling : row.nextElementSibling;
      column += move[1];
      const next = row && row.cells[column];
      if (!next) return;
      const button = next.querySelector(what);
      if (button) { button.focus(); event.preventDefault(); return; }
    }
  });

  /* ---- the list ---- */
  let page = 0, only = { strategy: null, mechanism: null };
  const chosen = () => {
    const words = byId("words").value.toLowerCase().split(/\s+/).filter(Boolean), bad = byId("bad").checked;
    const places = [];
    entries.forEach((entry, place) => {
      const mechanism = entry.control ? "control" : entry.mechanism;
      if (only.strategy !== null && (entry.strategy !== only.strategy || mechanism !== only.mechanism)) return;
      if (bad && entry.expected) return;
      const text = (entry.id + " " + entry.outcome + " " + (entry.why || "") + " " + entry.broken.join(" ") + " " + entry.mechanism).toLowerCase();
      if (words.every((word) => text.includes(word))) places.push(place);
    });
    return places;
  };
  const list = () => {
    const places = chosen(), pages = Math.max(1, Math.ceil(places.length / PAGE));
    page = Math.min(page, pages - 1);
    const shown = places.slice(page * PAGE, page * PAGE + PAGE);
    const told = only.strategy === null ? "" : ` of ${only.strategy} on ${only.mechanism}`;
    byId("count").textContent = `${places.length} cells${told}`;
    const head = ["cell", "mechanism", "outcome", "time", "breaks", ""].map((name) => el("th", { scope: "col" }, name));
    const rows = shown.map((place) => {
      const entry = entries[place];
      return el("tr", {},
        el("td", {}, el("a", { href: "#cell=" + encodeURIComponent(entry.id) }, entry.id)),
        el("td", {}, entry.mechanism),
        el("td", {}, entry.outcome + (entry.why ? ": " + entry.why.slice(0, 60) : "")),
        el("td", { class: "mono" }, clock(entry.virtual_ms)),
        el("td", {}, entry.broken.join(", ")),
        el("td", { class: entry.expected ? "good" : "bad" }, entry.expected ? "as expected" : "NOT as expected"));
    });
    byId("cells").replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)));
    const turn = (by, text, can) => el("button", { type: "button", disabled: !can, on: { click: () => { page += by; list(); byId("list-title").scrollIntoView(); } } }, text);
    byId("pages").replaceChildren(...(pages < 2 ? [] : [
      turn(-1, "Previous", page > 0), el("span", {}, `page ${page + 1} of ${pages}`), turn(1, "Next", page < pages - 1)]));
    if (only.strategy !== null) byId("pages").append(el("a", { href: "#" }, "all cells"));
  };

  /* ---- a cell ---- */
  let scaled = false;
  const GAP = 1000;
  const lanes = (cell) => {
    const rows = cell.rows, columns = cell.lanes.length, depth = [];
    /* each ask gets the first free column of bars */
    const bars = cell.asks.map((ask) => {
      const to = ask.to === null ? rows.length - 1 : Math.min(ask.to, rows.length - 1);
      let column = depth.findIndex((until) => until < ask.from);
      if (column < 0) column = depth.length;
      depth[column] = to;
      return { ...ask, to, column, open: ask.to === null };
    });
    const head = el("tr", {}, el("th", { scope: "col" }, "time"),
      ...cell.lanes.map((lane) => el("th", { scope: "col", class: "l-" + lane.kind }, lane.name)),
      ...depth.map(() => el("th", { scope: "col" }, "ask")));
    const body = [];
    /* extra rows (gaps, marks) stand between rows: bars must span them too */
    const place = new Map();
    let last = null, marked = false;
    const wide = (kind, text, style) => {
      const row = el("tr", { class: kind }, el("td", { class: "t" }), el("td", { colspan: columns, class: "wide", style }, text));
      body.push(row);
    };
    const total = Math.max(1, cell.virtual_ms);
    rows.forEach((row, index) => {
      if (!marked && row.t > cell.progress_ms && index > 0) { marked = true; wide("mark", `last material progress at ${clock(cell.progress_ms)}`); }
      if (last !== null && row.t - last >= GAP) {
        const height = scaled ? `height:${Math.max(20, Math.round(((row.t - last) / total) * 1600))}px` : null;
        wide("gap", "⋮ " + clock(row.t - last), height);
      }
      const lane = row.lane === null ? null : cell.lanes[row.lane];
      const cells = lane === null
        ? [el("td", { colspan: columns, class: "wide dim" }, row.text)]
        : cell.lanes.map((each, at) => at === row.lane ? el("td", { class: "on l-" + each.kind, "data-lane": each.name }, el("span", {}, row.text)) : el("td"));
      place.set(index, body.length);
      body.push(el("tr", { tabindex: "-1" }, el("td", { class: "t" }, row.t === last ? "" : clock(row.t)), ...cells));
      last = row.t;
    });
    bars.forEach((bar) => { bar.begin = place.get(bar.from); bar.end = place.get(bar.to); });
    body.forEach((row, at) => {
      for (let column = 0; column < depth.length; column++) {
        const bar = bars.find((bar) => bar.column === column && bar.begin <= at && at <= bar.end);
        if (!bar) row.append(el("td"));
        else if (bar.begin === at) row.append(el("td", {
          class: "ask" + (bar.open ? " open" : ""), rowspan: bar.end - bar.begin + 1,
          title: bar.label + (bar.open ? " (never ends)" : ""), "aria-label": "ask " + bar.label + (bar.open ? ", never ends" : ""),
        }, el("span", {}, bar.label.split(":")[0])));
      }
    });
    const verdict = `${cell.outcome}${cell.cause ? ": " + cell.cause : ""}${cell.blocked_on ? " on " + cell.blocked_on : ""}${cell.proof ? ", proved by " + cell.proof : ""}`;
    body.push(el("tr", { class: "end" }, el("td", { class: "t" }, clock(cell.virtual_ms)), el("td", { colspan: columns + depth.length, class: "wide" }, verdict)));
    const table = el("table", { class: "lanes" }, el("caption", { class: "dim" }, "time runs down; a lane for everybody"), el("thead", {}, head), el("tbody", {}, ...body));
    table.addEventListener("keydown", (event) => {
      const row = event.target.closest("tr");
      if (!row || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
      let next = row;
      do next = event.key === "ArrowDown" ? next.nextElementSibling : next.previousElementSibling; while (next && !next.hasAttribute("tabindex"));
      if (next) { next.focus(); event.preventDefault(); }
    });
    const first = table.querySelector("tbody tr[tabindex]");
    if (first) first.setAttribute("tabindex", "0");
    return el("div", { class: "scroll" }, table);
  };
  const player = (cell) => {
    if (!cell.frames.length) return null;
    let at = 0, timer = null;
    const screen = el("pre", { class: "screen", tabindex: "0", "aria-label": "terminal" });
    const time = el("span", { class: "mono" });
    const range = el("input", { type: "range", min: "0", max: String(cell.frames.length - 1), value: "0", "aria-label": "screen" });
    const show = (next) => {
      at = next;
      screen.textContent = cell.frames[at].text;
      time.textContent = `${clock(cell.frames[at].t)} · ${at + 1} of ${cell.frames.length}`;
      range.value = String(at);
    };
    const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
    const play = el("button", { type: "button", on: { click: () => {
      if (timer) return stop();
      if (at === cell.frames.length - 1) show(0);
      play.textContent = "Stop";
      timer = setInterval(() => { if (at + 1 < cell.frames.length) show(at + 1); else stop(); }, 600);
    } } }, "Play");
    range.addEventListener("input", () => { stop(); show(Number(range.value)); });
    show(0);
    return el("div", {}, el("h3", {}, "Terminal"), el("div", { class: "player" }, play, range, time), screen);
  };
  const arm = (cell, name) => el("div", {},
    el("h3", {}, name + cell.id),
    el("p", { class: "verdict " + cell.outcome },
      `${cell.outcome}${cell.cause ? ": " + cell.cause : ""}${cell.blocked_on ? " on " + cell.blocked_on : ""} after ${clock(cell.virtual_ms)}` +
      (cell.proof ? `; proved by ${cell.proof}` : "") + `; last material progress at ${clock(cell.progress_ms)}` +
      (cell.broken.length ? `; breaks ${cell.broken.join(", ")}` : "")),
    cell.mismatches.length ? el("ul", { class: "bad" }, ...cell.mismatches.map((line) => el("li", {}, line))) : null,
    lanes(cell), player(cell));
  const cell = (id) => {
    const place = entries.findIndex((entry) => entry.id === id);
    const section = byId("cell");
    if (place < 0) { section.replaceChildren(el("p", {}, "There is no cell " + id + " in this report. "), el("a", { href: "#" }, "All cells")); return; }
    const main = cellAt(place), other = main.control ? id.replace(/::control$/, "") : id + "::control";
    const beside = entries.findIndex((entry) => entry.id === other);
    const quoted = "'" + id.replace(/'/g, "'\\''") + "'";
    const commands = [`rehang show --stage ${main.stage} ${quoted}`, `rehang run --exact --stage ${main.stage} ${quoted}`];
    const scale = el("button", { type: "button", "aria-pressed": String(scaled), on: { click: () => { scaled = !scaled; cell(id); byId("scale").focus(); } }, id: "scale" }, "gaps to scale");
    section.replaceChildren(
      el("h2", { id: "cell-title", tabindex: "-1" }, "One cell"),
      el("div", { class: "bar-row" }, el("a", { href: "#" }, "← all cells"), scale),
      el("div", { class: "arms" }, arm(main, ""), beside < 0 ? null : arm(cellAt(beside), "beside it: ")),
      el("h3", {}, "Again, and the same"),
      ...commands.map((command) => el("pre", { class: "mono" }, command)));
  };

  /* ---- where we are ---- */
  const route = () => {
    const hash = new URLSearchParams(location.hash.slice(1));
    const id = hash.get("cell");
    byId("board").hidden = byId("list").hidden = id !== null;
    byId("cell").hidden = id === null;
    if (id !== null) { cell(id); const title = byId("cell-title"); if (title) title.focus({ preventScroll: true }); window.scrollTo(0, 0); return; }
    byId("cell").replaceChildren();
    only = { strategy: hash.get("s"), mechanism: hash.get("m") };
    page = 0;
    list();
    if (only.strategy !== null) byId("list-title").scrollIntoView();
  };
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  byId("words").addEventListener("input", () => { page = 0; list(); });
  byId("bad").addEventListener("change", () => { page = 0; list(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && location.hash.startsWith("#cell=")) location.hash = ""; });
  window.addEventListener("hashchange", route);
  board();
  route();
})();
