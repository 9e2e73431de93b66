/* What a page must hold to: evaluated in it; gives the complaints, a line each. */
(() => {
  const complaints = [], SLACK = 1.5;
  const say = (what, element, more) => {
    const id = element.id ? "#" + element.id : element.className ? "." + String(element.className).replace(/ /g, ".") : "";
    complaints.push(`${what}: <${element.tagName.toLowerCase()}${id}> ${JSON.stringify((element.textContent || "").trim().slice(0, 50))} ${more}`);
  };
  const root = document.scrollingElement;
  if (root.scrollWidth > innerWidth + 1) complaints.push(`the page is ${root.scrollWidth} wide in a window of ${innerWidth}`);

  /* what of a box is seen, behind all that clips it */
  const seen = (box, element) => {
    let { left, top, right, bottom } = box;
    for (let over = element; over && over !== document.body; over = over.parentElement) {
      const style = getComputedStyle(over);
      if (style.overflowX === "visible" && style.overflowY === "visible") continue;
      const clip = over.getBoundingClientRect();
      left = Math.max(left, clip.left); right = Math.min(right, clip.right);
      top = Math.max(top, clip.top); bottom = Math.min(bottom, clip.bottom);
    }
    return right - left > 0.5 && bottom - top > 0.5 && right > 0 ? { left, top, right, bottom } : null;
  };
  const scrolls = (element) => element && (/auto|scroll/.test(getComputedStyle(element).overflowX) ? element : scrolls(element.parentElement));

  /* colours as the browser paints them, one over the other */
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const painted = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = (rgb) => {
    const [r, g, b] = [...rgb].slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const known = new Map();
  const contrast = (element) => {
    const behind = [];
    for (let over = element; over; over = over.parentElement) behind.unshift(getComputedStyle(over).backgroundColor);
    const front = getComputedStyle(element).color, key = behind.join() + front;
    if (!known.has(key)) {
      const [a, b] = [light(painted(behind)), light(painted([...behind, front]))];
      known.set(key, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
    }
    return known.get(key);
  };

  const within = document.querySelector(window.rehangWithin || "body");
  const labels = [];
  const texts = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode, element = text.parentElement;
    if (!text.data.trim() || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
    if (!element.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const boxes = [...range.getClientRects()].map((box) => seen(box, element)).filter(Boolean);
    if (!boxes.length) continue;
    const size = parseFloat(getComputedStyle(element).fontSize);
    if (size < (matchMedia("print").matches ? 9 : 11)) say("small", element, size + "px");
    const ratio = contrast(element);
    if (ratio < 4.5) say("contrast", element, ratio.toFixed(2));
    /* inside its frame: the nearest cell, button, field or block */
    const frame = element.closest("td, th, button, p, li, pre, h1, h2, h3, label, caption, span, a");
    const folded = element.closest(".fold, pre.screen");
    const bounds = (frame || element).closest("td, th, button, p, li, pre, h1, h2, h3, label, caption") || frame || element;
    const outer = bounds.getBoundingClientRect();
    if (!folded) for (const box of range.getClientRects()) {
      if (box.left < outer.left - SLACK || box.right > outer.right + SLACK || box.top < outer.top - 4 || box.bottom > outer.bottom + 4) {
        say("out of its frame", element, `${[box.left, box.top, box.right, box.bottom].map(Math.round)} in ${[outer.left, outer.top, outer.right, outer.bottom].map(Math.round)}`);
        break;
      }
      if (!scrolls(element) && (box.right > innerWidth + SLACK || box.left < -SLACK)) { say("cut by the window", element, Math.round(box.right)); break; }
    }
    boxes.forEach((box) => labels.push({ box, element, text }));
  }
  /* a head that sticks covers what is scrolled below it, and is meant to */
  const sticks = (element) => element.closest("th, thead td") !== null && getComputedStyle(element.closest("th, thead td")).position === "sticky";
  labels.sort((a, b) => a.box.top - b.box.top);
  labels.forEach((one, at) => {
    for (let next = at + 1; next < labels.length && labels[next].box.top < one.box.bottom - SLACK; next++) {
      const other = labels[next];
      if (other.text === one.text || (sticks(one.element) !== sticks(other.element) && scrolls(one.element))) continue;
      const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      const high = Math.min(one.box.bottom, other.box.bottom) - other.box.top;
      if (wide > SLACK && high > SLACK + 2) say("overlaps", one.element, `with ${JSON.stringify(other.text.data.trim().slice(0, 40))} by ${wide.toFixed(1)} × ${high.toFixed(1)}`);
    }
  });
  /* what is used has a name and can be seen when it has the focus */
  within.querySelectorAll("button, a[href], input").forEach((element) => {
    if (!element.checkVisibility()) return;
    const named = element.getAttribute("aria-label") || element.textContent.trim() || (element.labels && element.labels.length);
    if (!named) say("no name", element, "");
  });
  if (document.activeElement !== document.body && document.activeElement.matches("button, a, input, tr")) {
    const style = getComputedStyle(document.activeElement);
    if (document.activeElement.matches(":focus-visible") && (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1)) say("focus is not seen", document.activeElement, "");
  }
  /* what a screen reader goes by: headings without a gap, heads of tables, names of tables, texts for pictures */
  let level = 0;
  within.querySelectorAll("h1, h2, h3, h4, h5, h6").forEach((heading) => {
    if (!heading.checkVisibility()) return;
    const next = Number(heading.tagName[1]);
    if (next > level + 1) say("a heading's level is left out", heading, `${level} to ${next}`);
    level = next;
  });
  within.querySelectorAll("table").forEach((each) => {
    if (!each.querySelector("th")) say("a table without heads", each, "");
    const named = each.caption || each.getAttribute("aria-labelledby");
    if (!named && within === document.body) say("a table without a name", each, "");
  });
  within.querySelectorAll("img").forEach((image) => { if (!image.alt) say("a picture without a text", image, image.src); });
  return { complaints: [...new Set(complaints)], labels: labels.length };
})()
