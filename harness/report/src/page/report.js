"use strict";
(async () => {
  const CHUNK = Number(document.documentElement.dataset.chunk), PAGE = 100, GAP = 1000;
  const byId = (id) => document.getElementById(id);

  /* Data stands in the page compressed (deflate) and in base64. */
  const read = async (id) => {
    const bytes = Uint8Array.from(atob(byId(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  };
  const chunks = new Map();
  const cellAt = async (place) => {
    const chunk = Math.floor(place / CHUNK);
    if (!chunks.has(chunk)) chunks.set(chunk, read("chunk-" + chunk));
    return (await chunks.get(chunk))[place % CHUNK];
  };

  /* Everything from the data goes through here: as text or an attribute, never as markup. */
  const el = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
      else if (name === "height") { if (value) element.style.height = value + "px"; }
      else if (name === "share") { element.style.insetInlineStart = value[0] + "%"; element.style.inlineSize = value[1] + "%"; }
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
  /* Roles are written out, since a narrow page lays tables out as lists, and a browser then forgets them. */
  const table = (attributes, caption, head, body) => el("table", { role: "table", ...attributes },
    el("caption", { class: "dim" }, caption), el("thead", { role: "rowgroup" }, head), el("tbody", { role: "rowgroup" }, ...body));
  const tr = (attributes, ...cells) => el("tr", { role: "row", ...attributes }, ...cells);
  const th = (attributes, ...children) => el("th", { role: "columnheader", scope: "col", ...attributes }, ...children);
  const td = (attributes, ...children) => el("td", { role: "cell", ...attributes }, ...children);

  /* ---- the scoreboard ---- */
  const CLASSES = [["harmed", "H"], ["wrongly", "W"], ["missed", "m"], ["undecided", "q"], ["stopped", "s"], ["resolved", "r"], ["untouched", "u"]];
  const MARKS = { u: "·", q: "?" };
  const worst = (row) => CLASSES.find(([name]) => row[name] > 0) || CLASSES.at(-1);
  /* the control arms stand behind all mechanisms */
  const natural = (a, b) => (a === "control") - (b === "control") || a.localeCompare(b, "en", { numeric: true });
  let names = {};
  const called = (mechanism) => names[mechanism] ? mechanism + " " + names[mechanism].name : mechanism;
  /* the book's words: what is between backticks is code */
  const words = (text) => text.replace(/\*\*/g, "").split("`").map((part, at) => at % 2 ? el("code", {}, part) : part);
  /* a mechanism is explained where it is named */
  const meaning = (mechanism) => {
    const known = names[mechanism];
    if (!known) return null;
    return el("details", { class: "meaning" }, el("summary", {}, `What ${called(mechanism)} is`),
      ...known.lead.map((text) => el("p", {}, ...words(text))),
      el("dl", {}, ...known.parts.flatMap(([head, text]) => [el("dt", {}, head), el("dd", {}, ...words(text))])));
  };
  /* A box that scrolls says so for as long as there is more in it than is seen. */
  const cued = (box) => {
    const cue = el("p", { class: "cue", "aria-hidden": "true" });
    const look = () => {
      const across = box.scrollWidth > box.clientWidth + 1, down = box.scrollHeight > box.clientHeight + 1;
      const right = box.scrollLeft + box.clientWidth < box.scrollWidth - 1, below = box.scrollTop + box.clientHeight < box.scrollHeight - 1;
      box.classList.toggle("more-right", right);
      box.classList.toggle("more-below", below);
      cue.textContent = across && down ? "this box scrolls: sideways ↔ and down ↕" : across ? "this box scrolls sideways ↔" : down ? "this box scrolls down ↕" : "";
      cue.hidden = !across && !down;
    };
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box);
    box.before(cue);
    look();
  };
  const squareHash = (strategy, mechanism) => "#s=" + encodeURIComponent(strategy) + "&m=" + encodeURIComponent(mechanism);
  /* Paper does not scroll: there the board comes in tables as wide as a page. */
  const SHEET = 24;
  const onPaper = (strategies, mechanisms, at) => {
    const print = matchMedia("print"), sheets = byId("sheets");
    const draw = () => {
      if (!print.matches || sheets.childElementCount) return;
      for (let from = 0; from < mechanisms.length; from += SHEET) {
        const some = mechanisms.slice(from, from + SHEET);
        const rows = strategies.filter((strategy) => some.some((m) => at.has(strategy + "\n" + m))).map((strategy) => tr({}, th({ role: "rowheader", scope: "row" }, strategy),
          ...some.map((m) => {
            const row = at.get(strategy + "\n" + m);
            if (!row) return td({});
            const [name, letter] = worst(row);
            return td({ class: "k-" + letter }, (MARKS[letter] || letter) + row[name]);
          })));
        sheets.append(table({}, "strategies on " + some[0] + " to " + some.at(-1), tr({}, th({}, "strategy"), ...some.map((m) => th({}, m))), rows));
      }
    };
    print.addEventListener("change", draw);
    draw();
  };
  const board = (score) => {
    const mechanisms = [...new Set(score.map((row) => row.mechanism))].filter(Boolean).sort(natural);
    const strategies = [...new Set(score.map((row) => row.strategy))];
    const at = new Map(score.map((row) => [row.strategy + "\n" + row.mechanism, row]));
    const head = tr({}, td({ role: "columnheader" }, "strategy"), ...mechanisms.map((m) => th({ title: called(m), "aria-label": called(m) }, el("span", {}, m))));
    const body = strategies.map((strategy) => tr({},
      th({ role: "rowheader", scope: "row" }, strategy),
      ...mechanisms.map((mechanism) => {
        const row = at.get(strategy + "\n" + mechanism);
        if (!row) return td({ role: "gridcell" });
        const [name, letter] = worst(row);
        const told = CLASSES.filter(([name]) => row[name]).map(([name]) => `${row[name]} ${name}`).join(", ");
        const hash = squareHash(strategy, mechanism);
        return td({ role: "gridcell" }, el("button", {
          type: "button", class: "k-" + letter, tabindex: "-1", "data-hash": hash, title: `${strategy} on ${called(mechanism)}: ${told}`,
          "aria-label": `${strategy} on ${called(mechanism)}: ${told}`, on: { click: () => { location.hash = hash; } },
        }, (MARKS[letter] || letter) + row[name]));
      })));
    byId("heat").replaceChildren(table({ role: "grid", "aria-labelledby": "board-title" }, "arrow keys move, Enter opens", head, body));
    onPaper(strategies, mechanisms, at);
    grid(byId("heat"));
    cued(byId("heat"));
    const explained = mechanisms.map(meaning).filter(Boolean);
    if (explained.length) byId("meanings").append(el("details", {}, el("summary", {}, "What the columns mean"), ...explained));
  };
  /* One stop of the Tab key for a grid of buttons; arrow keys, Home and End move in it. */
  const grid = (root) => {
    const stop = (button) => {
      root.querySelectorAll('button[tabindex="0"]').forEach((other) => other.setAttribute("tabindex", "-1"));
      button.setAttribute("tabindex", "0");
    };
    const first = root.querySelector("button");
    if (first) stop(first);
    root.addEventListener("focusin", (event) => { if (event.target.matches("button")) stop(event.target); });
    root.addEventListener("keydown", (event) => {
      const cell = event.target.closest("td");
      if (!cell) return;
      const ends = { Home: 0, End: -1 }[event.key];
      const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (ends === undefined && !move) return;
      /* nor does the page scroll away at an edge */
      event.preventDefault();
      let next = ends === undefined ? null : [...cell.parentElement.querySelectorAll("button")].at(ends);
      if (move) {
        let row = cell.parentElement, column = cell.cellIndex;
        while (!next) {
          if (move[0]) row = move[0] < 0 ? row.previousElementSibling : row.nextElementSibling;
          column += move[1];
          if (!row || !row.cells[column]) return;
          next = row.cells[column].querySelector("button");
        }
      }
      if (!next) return;
      /* as little as must be: the heads are to stay in sight */
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest", inline: "nearest" });
      root.scrollIntoView({ block: "nearest" });
    });
  };

  /* ---- the list ---- */
  let entries = [], stages = 1, page = 0, only = { strategy: null, mechanism: null };
  /* a cell that ran on two stages stands there twice */
  const cellHash = (entry) => "#cell=" + encodeURIComponent(entry.id) + (stages > 1 ? "&stage=" + entry.stage : "");
  const chosen = () => {
    const words = byId("words").value.toLowerCase().split(/\s+/).filter(Boolean), bad = byId("bad").checked;
    const places = [];
    entries.forEach((entry, place) => {
      const mechanism = entry.control ? "control" : entry.mechanism;
      if (only.strategy !== null && (entry.strategy !== only.strategy || mechanism !== only.mechanism)) return;
      if (bad && entry.wrong === null) return;
      entry.text ??= [entry.id, entry.stage, entry.outcome, entry.why || "", ...entry.broken, called(entry.mechanism)].join(" ").toLowerCase();
      if (words.every((word) => entry.text.includes(word))) places.push(place);
    });
    return places;
  };
  const list = () => {
    const places = chosen(), pages = Math.max(1, Math.ceil(places.length / PAGE));
    page = Math.min(page, pages - 1);
    const shown = places.slice(page * PAGE, page * PAGE + PAGE);
    const told = only.strategy === null ? "" : ` of ${only.strategy} on ${only.mechanism}`;
    byId("count").textContent = `${places.length} ${places.length === 1 ? "cell" : "cells"}${told}`;
    const head = tr({}, ...["cell", "mechanism", "outcome", "time", "breaks", "expected"].map((name) => th({}, name)));
    const rows = shown.map((place) => {
      const entry = entries[place];
      return tr({},
        td({}, el("a", { href: cellHash(entry) }, entry.id + (stages > 1 ? " on " + entry.stage : ""))),
        td({ title: called(entry.mechanism) }, entry.mechanism),
        td({}, entry.outcome + (entry.why ? ": " + entry.why.slice(0, 60) : "")),
        td({ class: "mono" }, clock(entry.virtual_ms)),
        td({}, entry.broken.join(", ")),
        entry.wrong === null ? td({ class: "good" }, "as expected") : td({ class: "bad" }, "NOT: " + (entry.wrong.length > 160 ? entry.wrong.slice(0, 160) + "…" : entry.wrong)));
    });
    byId("cells").replaceChildren(table({ class: "list" }, pages < 2 ? "each opens as a picture" : `page ${page + 1} of ${pages}; each opens as a picture`, head, rows));
    const turn = (by, text, can) => el("button", { type: "button", disabled: !can, on: { click: () => { page += by; list(); byId("list-title").scrollIntoView(); byId("list-title").focus(); } } }, text);
    byId("pages").replaceChildren(...(pages < 2 ? [] : [
      turn(-1, "Previous", page > 0), el("span", {}, `page ${page + 1} of ${pages}`), turn(1, "Next", page < pages - 1)]));
    if (only.strategy !== null) byId("pages").append(el("a", { href: "#" }, "all cells"));
  };

  /* ---- a cell ---- */
  let scaled = false, wires = false;
  const ended = (cell) => `${cell.outcome}${cell.cause ? ": " + cell.cause : ""}${cell.blocked_on ? " on " + cell.blocked_on : ""}`;
  const ending = (cell) => ended(cell) + (cell.proof ? ", proved by " + cell.proof : "");
  const SHORT = 220;
  const shortly = (row) => {
    const text = row.text + (row.said === undefined ? "" : " " + row.said.replace(/\s+/g, " "));
    return text.length > SHORT ? text.slice(0, SHORT) + "…" : text;
  };
  /* What decided it: from the last material progress on, without what went over wires. */
  const DECISIVE_HEAD = 7, DECISIVE_TAIL = 5;
  const decisive = (cell) => {
    /* the same again and again is one line */
    const rows = [];
    for (const row of cell.rows.slice(cell.decisive)) {
      const last = rows.at(-1);
      if (row.wire) continue;
      if (last && last.lane === row.lane && last.text === row.text && last.said === row.said) { last.times += 1; last.until = row.t; }
      else rows.push({ ...row, times: 1 });
    }
    const over = rows.length - DECISIVE_HEAD - DECISIVE_TAIL;
    const line = (row) => tr({}, td({ class: "t" }, clock(row.t)), td({ class: "who" }, row.lane === null ? "" : cell.lanes[row.lane].name), td({ class: "what" }, shortly(row) + (row.times > 1 ? ` (${row.times} times, until ${clock(row.until)})` : "")));
    const shown = over > 1
      ? [...rows.slice(0, DECISIVE_HEAD).map(line), tr({}, td({ class: "t" }), td({}), td({ class: "dim" }, `… ${over} more, in the timeline`)), ...rows.slice(-DECISIVE_TAIL).map(line)]
      : rows.map(line);
    const end = tr({ class: "end" }, td({ class: "t" }, clock(cell.virtual_ms)), td({ class: "who" }, ""), td({ class: "what" }, ending(cell)));
    return table({ class: "decisive" }, "what decided it: from the last progress to the end", tr({}, th({}, "time"), th({}, "who"), th({}, "what")), [...shown, end]);
  };
  /* Asks as wide as they are long. */
  const asks = (cell) => {
    if (!cell.asks.length) return null;
    const total = Math.max(1, cell.virtual_ms), at = (row) => cell.rows[Math.min(row, cell.rows.length - 1)].t;
    const lines = cell.asks.map((ask) => {
      const from = at(ask.from), to = ask.to === null ? Math.max(from, cell.virtual_ms) : at(ask.to), share = cell.virtual_ms ? Math.max(1, ((to - from) / total) * 100) : 100;
      const told = ask.to !== null ? `open for ${clock(to - from)}` : cell.outcome === "hung" ? `open since ${clock(from)}, and never ends` : `open since ${clock(from)}, to the end`;
      return tr({ class: ask.to === null ? "never" : "" }, td({ class: "what" }, ask.label),
        td({ class: "track" }, el("span", { class: "long", "aria-hidden": "true" }, el("span", { share: [Math.min(99, (from / total) * 100), Math.min(share, 100 - Math.min(99, (from / total) * 100))] })), el("span", {}, told)));
    });
    return table({ class: "spans" }, `asks, each as wide as it is long: the whole width is ${clock(cell.virtual_ms)}`, tr({}, th({}, "ask"), th({}, "open")), lines);
  };
  const lanes = (whole, name) => {
    /* the rows of wires are hidden until they are asked for, and their lane with them */
    const kept = whole.rows.map((row, at) => at).filter((at) => wires || !whole.rows[at].wire);
    const now = new Map(kept.map((old, at) => [old, at]));
    const moved = (old) => now.get(kept.find((at) => at >= old)) ?? kept.length - 1;
    const shown = whole.lanes.map((lane, at) => at).filter((at) => wires || whole.lanes[at].kind !== "wire");
    const cell = { ...whole, lanes: shown.map((at) => whole.lanes[at]),
      rows: kept.map((at) => ({ ...whole.rows[at], lane: whole.rows[at].lane === null ? null : shown.indexOf(whole.rows[at].lane) })),
      asks: whole.asks.map((ask) => ({ ...ask, from: moved(ask.from), to: ask.to === null ? null : moved(ask.to) })) };
    const rows = cell.rows, columns = Math.max(1, cell.lanes.length), until = [];
    /* each ask gets the first column of bars that is free */
    const bars = cell.asks.map((ask) => {
      const to = ask.to === null ? rows.length - 1 : Math.min(ask.to, rows.length - 1);
      let column = until.findIndex((end) => end < ask.from);
      if (column < 0) column = until.length;
      until[column] = to;
      return { ...ask, to, column, open: ask.to === null };
    });
    const head = tr({}, th({}, "time"), ...cell.lanes.map((lane) => th({ class: "l-" + lane.kind }, lane.name)),
      until.length ? th({ colspan: until.length }, until.length > 1 ? "asks" : "ask") : null);
    /* gaps and marks stand between rows, and bars span them too */
    const body = [], place = [], total = Math.max(1, cell.virtual_ms);
    let last = null, marked = false;
    const wide = (kind, text, height) =>
      body.push(tr({ class: kind, height }, td({ class: "t" }), td({ colspan: columns, class: "wide" }, text)));
    const mark = () => { marked = true; wide("mark", `last material progress at ${clock(cell.progress_ms)}`, 0); };
    rows.forEach((row, index) => {
      if (!marked && row.t > cell.progress_ms && index > 0) mark();
      if (last !== null && row.t - last >= GAP) wide("gap", "⋮ " + clock(row.t - last), scaled ? Math.max(20, Math.round(((row.t - last) / total) * 1600)) : 0);
      const said = row.said === undefined ? null : el("span", { class: "said" }, row.said);
      const cells = row.lane === null
        ? [td({ colspan: columns, class: "wide dim" }, row.text)]
        : cell.lanes.map((each, at) => at !== row.lane ? td({})
          : td({ class: "on l-" + each.kind, "data-lane": each.name }, el("div", { class: "fold" }, row.text + (said ? " " : ""), said)));
      place[index] = body.length;
      body.push(tr({ tabindex: "-1" }, td({ class: "t" }, row.t === last ? "" : clock(row.t)), ...cells));
      last = row.t;
    });
    if (!marked && rows.length) mark();
    const at = until.map(() => new Map());
    bars.forEach((bar) => { for (let row = place[bar.from]; row <= place[bar.to]; row++) at[bar.column].set(row, bar); });
    body.forEach((row, index) => at.forEach((column) => {
      const bar = column.get(index);
      if (!bar) return row.append(td({}));
      row.classList.add("asking");
      if (bar.open) row.classList.add("never");
      if (place[bar.from] !== index) return undefined;
      const told = bar.label + (bar.open ? " (never ends)" : "");
      return row.append(td({ class: "ask" + (bar.open ? " open" : ""), rowspan: place[bar.to] - index + 1, title: told, "aria-label": "ask " + told },
        el("span", {}, place[bar.to] - index < 3 ? bar.label.split(":")[0] : bar.label)));
    }));
    const end = ending(cell);
    body.push(tr({ class: "end" }, td({ class: "t" }, clock(cell.virtual_ms)), td({ colspan: columns + until.length, class: "wide" }, end)));
    const drawn = table({ class: "lanes" }, "time runs down; a lane for everybody", head, body);
    const stop = (row) => {
      drawn.querySelectorAll('tr[tabindex="0"]').forEach((other) => other.setAttribute("tabindex", "-1"));
      row.setAttribute("tabindex", "0");
    };
    drawn.addEventListener("keydown", (event) => {
      const row = event.target.closest("tr");
      if (!row || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
      let next = row;
      do next = event.key === "ArrowDown" ? next.nextElementSibling : next.previousElementSibling; while (next && !next.hasAttribute("tabindex"));
      if (next) { stop(next); next.focus(); event.preventDefault(); }
    });
    const first = drawn.querySelector("tbody tr[tabindex]");
    if (first) stop(first);
    const box = el("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "timeline of " + name }, drawn);
    const around = el("div", {}, el("h4", {}, "Timeline"), box);
    cued(box);
    return around;
  };
  let timer = null;
  const player = (cell) => {
    if (!cell.frames.length) return null;
    let at = 0;
    const screen = el("pre", { class: "screen", tabindex: "0", role: "region", "aria-label": "terminal" });
    const time = el("span", { class: "mono" });
    const range = el("input", { type: "range", min: "0", max: String(cell.frames.length - 1), value: "0", "aria-label": "screen" });
    const show = (next) => {
      at = next;
      screen.textContent = cell.frames[at].text;
      time.textContent = `${clock(cell.frames[at].t)} · ${at + 1} of ${cell.frames.length}`;
      range.value = String(at);
      range.setAttribute("aria-valuetext", time.textContent);
    };
    const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
    const play = el("button", { type: "button", class: "play", on: { click: () => {
      if (timer) return stop();
      if (at === cell.frames.length - 1) show(0);
      play.textContent = "Stop";
      timer = setInterval(() => { if (at + 1 < cell.frames.length) show(at + 1); else stop(); }, 600);
      return undefined;
    } } }, "Play");
    range.addEventListener("input", () => { stop(); show(Number(range.value)); });
    show(0);
    const save = cell.cast && el("button", { type: "button", class: "save", on: { click: () => {
      const file = URL.createObjectURL(new Blob([cell.cast], { type: "application/x-asciicast" }));
      el("a", { href: file, download: cell.id.replace(/[^\w.-]+/g, "_") + ".cast" }).click();
      setTimeout(() => URL.revokeObjectURL(file), 1000);
    } } }, "Save as asciicast");
    const player = cell.frames.length > 1 ? el("div", { class: "player" }, play, range, time) : el("p", { class: "player" }, "one screen, since ", time);
    return el("div", {}, el("h4", {}, "Terminal"), player, screen, save ? el("p", {}, save) : null);
  };
  const arm = (cell, title) => el("div", { class: "arm" },
    el("h3", {}, title),
    el("p", { class: "story verdict " + cell.outcome }, cell.story),
    cell.mismatches.length ? el("ul", { class: "bad" }, ...cell.mismatches.map((line) => el("li", {}, line))) : null,
    decisive(cell), asks(cell),
    el("p", { class: "dim" },
      `${ended(cell)} after ${clock(cell.virtual_ms)}` + (cell.proof ? "; proved by " + cell.proof : "") +
      `; last material progress at ${clock(cell.progress_ms)}` + (cell.broken.length ? `; breaks ${cell.broken.join(", ")}` : "")),
    lanes(cell, title), player(cell));
  const cell = async (id, stage) => {
    const section = byId("cell"), back = el("a", { href: lastList || "#" }, "← all cells");
    clearInterval(timer);
    timer = null;
    const title = el("h2", { id: "cell-title", tabindex: "-1" }, id);
    const find = (id) => entries.findIndex((entry) => entry.id === id && (stage === null || entry.stage === stage));
    const place = find(id);
    if (place < 0) return section.replaceChildren(title, el("p", {}, "There is no such cell in this report."), back);
    const main = await cellAt(place), other = main.control ? id.replace(/::control$/, "") : id + "::control";
    const beside = find(other);
    const second = beside < 0 ? null : await cellAt(beside);
    if (location.hash !== seen) return undefined;
    const quoted = "'" + id.replace(/'/g, "'\\''") + "'";
    const reading = document.documentElement.dataset.reading;
    const commands = ["show", "run --exact"].map((words) => `rehang ${words}${reading} --stage ${main.stage} ${quoted}`);
    const scale = el("button", { type: "button", id: "scale", "aria-pressed": String(scaled), on: { click: async () => { scaled = !scaled; await cell(id, stage); byId("scale").focus(); } } }, "gaps to scale");
    const hidden = [main, second].filter(Boolean).flatMap((each) => each.rows).filter((row) => row.wire).length;
    const wire = hidden ? el("button", { type: "button", id: "wires", "aria-pressed": String(wires), on: { click: async () => { wires = !wires; await cell(id, stage); byId("wires").focus(); } } }, `wire events (${hidden})`) : null;
    const [mine, others] = main.control ? ["this control arm", "the main arm"] : ["this cell", "its control arm"];
    const arms = el("div", { class: "arms" }, arm(main, mine), second && arm(second, others));
    /* what the other arm does is said at once, wherever there is room for it */
    const about = el("p", {}, main.title, el("br"), el("span", { class: "dim" }, called(main.mechanism) + (stages > 1 ? "; on " + main.stage : "") +
      (second ? `; ${others}: ${ended(second)} after ${clock(second.virtual_ms)}` : "")));
    const meant = meaning(main.mechanism);
    /* two arms stand side by side where all their lanes have room */
    arms.style.setProperty("--arm", Math.max(30, 8.5 * Math.max(main.lanes.length, second ? second.lanes.length : 0) + 8) + "rem");
    return section.replaceChildren(title, about, meant || "", el("div", { class: "bar-row" }, back, scale, wire || ""), arms,
      el("h3", {}, "Again, and the same"), ...commands.map((command) => el("pre", { class: "mono wrap" }, command)));
  };

  /* ---- where we are ---- */
  let lastList = "", seen = null;
  const name = document.title;
  const route = async () => {
    const hash = new URLSearchParams(location.hash.slice(1));
    const id = hash.get("cell"), from = seen;
    seen = location.hash;
    for (const part of ["unseen", "board", "list"]) if (byId(part)) byId(part).hidden = id !== null;
    byId("cell").hidden = id === null;
    document.title = id === null ? name : id + " · " + name;
    if (id !== null) {
      await cell(id, hash.get("stage"));
      const title = byId("cell-title");
      if (title) title.focus({ preventScroll: true });
      window.scrollTo(0, 0);
      document.documentElement.dataset.shown = location.hash;
      return;
    }
    byId("cell").replaceChildren();
    clearInterval(timer);
    timer = null;
    const before = lastList, other = before !== location.hash || from === null;
    lastList = location.hash;
    only = { strategy: hash.get("s"), mechanism: hash.get("m") };
    if (other && (hash.has("bad") || before === "#bad")) byId("bad").checked = hash.has("bad");
    if (other) page = 0;
    list();
    /* the focus goes back to where it came from */
    const all = (what, key) => [...document.querySelectorAll(what)].find((each) => key(each) === from);
    const opener = from && (all("#cells a", (a) => a.getAttribute("href")) || all("#heat button", (b) => b.dataset.hash));
    if (opener) opener.focus();
    else if (only.strategy !== null || hash.has("bad")) { byId("list-title").scrollIntoView(); byId("list-title").focus(); }
    document.documentElement.dataset.shown = location.hash;
  };
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  byId("words").addEventListener("input", () => { page = 0; list(); });
  byId("bad").addEventListener("change", () => { page = 0; list(); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.target.matches("input[type=search]")) return;
    if (location.hash.startsWith("#cell=")) location.hash = lastList;
    else if (location.hash !== "") location.hash = "";
  });
  names = await read("mechanisms");
  board(await read("score"));
  entries = await read("entries");
  stages = new Set(entries.map((entry) => entry.stage)).size;
  window.addEventListener("hashchange", route);
  await route();
  document.documentElement.dataset.ready = "";
})().catch((error) => {
  const said = document.createElement("p");
  said.className = "verdict failed";
  said.setAttribute("role", "alert");
  said.textContent = `This browser could not draw the report (${error}). It is made for Chrome 123, Firefox 125, Safari 17.5 and newer ones.`;
  document.getElementById("main").prepend(said);
  throw error;
});
