"use strict";
{
  const SVG = "http://www.w3.org/2000/svg";
  const DASHES = ["", "7 5", "1.5 5", "10 4 2 4", "14 5", "6 4 1 4 1 4", "3 4"];
  const MARKERS = [
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z", "M-3.2-3.2h6.4v6.4h-6.4z", "M0-4.2L4 3H-4z", "M0-4.4L4.4 0 0 4.4-4.4 0z",
    "M-4-3H4L0 4.2z", "M-3.2-3.2L3.2 3.2M-3.2 3.2L3.2-3.2", "M-4.2 0H4.2M0-4.2V4.2", "M-2.2-3.8h4.4L4.4 0 2.2 3.8h-4.4L-4.4 0z",
  ];
  const COLOURS = MARKERS.length;
  const PRINTED = 680; // width of a chart on paper
  const ROWS = 8; // of a tooltip
  const PALETTE = [66, 1106]; // characters of a data URI that are the palette

  const attach = (node, attributes, children) => {
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  };
  const html = (tag, attributes = {}, ...children) => attach(document.createElement(tag), attributes, children);
  const svg = (tag, attributes = {}, ...children) => attach(document.createElementNS(SVG, tag), attributes, children);
  const button = (text, onclick, attributes = {}) => html("button", { type: "button", onclick, ...attributes }, text);

  const raised = (n) => String(n).replace(/[-0-9]/g, (sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? "⁻");
  const shown = (value, digits = 6) => {
    if (value === 0) return "0";
    const size = Math.floor(Math.log10(Math.abs(value)));
    let text = String(Number(value.toPrecision(digits))).replace(/^-?\d{5,}/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
    if (size < -4 || size >= 7) {
      const [mantissa, power] = value.toExponential(digits - 1).split("e");
      const factor = String(Number(mantissa));
      text = ({ 1: "", "-1": "-" }[factor] ?? `${factor}·`) + `10${raised(Number(power))}`;
    }
    return text.replace("-", "−");
  };

  const linearTicks = (low, high, count) => {
    const rough = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough * 0.999);
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(Number((i * step).toPrecision(12)));
    return ticks;
  };
  // Between two powers of ten: decades, or parts of one.
  const logTicks = (low, high, count) => {
    const stride = Math.max(1, Math.ceil((high - low) / count));
    const factors = high - low <= 2 ? [1, 2, 5] : [1];
    const ticks = [];
    for (let p = Math.floor(low / stride) * stride; p <= high; p += stride) for (const k of factors) ticks.push(Number(`${k}e${p}`));
    const inside = ticks.filter((t) => Math.log10(t) >= low && Math.log10(t) <= high);
    return inside.length > 1 ? inside : linearTicks(10 ** low, 10 ** high, count).filter((t) => t > 0);
  };
  const decade = (value) => {
    const power = Math.round(Math.log10(value));
    return power === 0 || power === 1 ? String(10 ** power) : `10${raised(power)}`;
  };

  // First index whose x is not below the value, in increasing x.
  const lowerBound = (xs, value) => {
    let a = 0, b = xs.length;
    while (a < b) { const c = (a + b) >> 1; if (xs[c] < value) a = c + 1; else b = c; }
    return a;
  };
  const nearest = (xs, value) => {
    const i = lowerBound(xs, value);
    return i > 0 && (i === xs.length || value - xs[i - 1] <= xs[i] - value) ? i - 1 : i;
  };
  const extent = (values) => {
    let low = Infinity, high = -Infinity;
    for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
    return [low, high];
  };

  const swatch = (series) =>
    svg("svg", { class: `swatch s${series.colour}`, viewBox: "0 0 30 12", "aria-hidden": "true" },
      svg("path", { class: "line", d: "M1 6H29", "stroke-dasharray": series.dash }),
      svg("path", { class: "marker", d: MARKERS[series.colour], transform: "translate(15 6)" }));

  class Chart {
    constructor(figure) {
      const spec = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
      Object.assign(this, { figure, spec, zoom: null, cursor: null, log: spec.y.log === true, printing: false });
      this.series = spec.series.map((s, i) => ({ ...s, colour: i % COLOURS, dash: DASHES[Math.floor(i / COLOURS) % DASHES.length] }));
      const [low, high] = extent(this.series.flatMap((s) => [s.x[0], s.x.at(-1)]));
      const pad = high > low ? 0.015 * (high - low) : 0.5;
      this.full = [low - pad, high + pad];
      this.build();
      this.draw();
      new ResizeObserver(() => { if (this.plot.clientWidth !== this.width && !this.printing) this.draw(); }).observe(this.plot);
    }

    build() {
      const title = this.figure.querySelector("h3");
      this.clip = `${this.figure.id}-clip`;
      this.tip = html("div", { class: "tip", hidden: "" });
      this.spoken = html("div", { class: "hidden", role: "status" });
      this.plot = html("div", {
        class: "plot", tabindex: "0", role: "group", "aria-roledescription": "chart", "aria-label":
          `${title.textContent}. Arrow keys move the cursor, plus and minus zoom, Escape resets.`,
        onkeydown: (e) => this.key(e), onpointerdown: (e) => this.press(e), onpointermove: (e) => this.move(e),
        onpointerup: (e) => this.release(e), onpointercancel: () => this.forget(), onpointerleave: () => { if (this.from == null) this.point(null); },
        ondblclick: () => this.setZoom(null), onblur: () => this.point(null),
      });
      this.note = html("p", { class: "note", role: "status" });
      this.tools = html("div", { class: "tools", role: "toolbar", "aria-label": `View of: ${title.textContent}` });
      if (this.spec.y.log !== null) {
        this.tools.append(button("Log scale", (e) => {
          this.log = !this.log;
          e.currentTarget.setAttribute("aria-pressed", this.log);
          this.draw();
        }, { "aria-pressed": this.log }));
      }
      this.tools.append(
        button("+", () => this.zoomBy(0.5), { "aria-label": "Zoom in" }),
        button("−", () => this.zoomBy(2), { "aria-label": "Zoom out" }),
        button("Reset", () => this.setZoom(null), { "aria-label": "Reset zoom" }));
      const place = this.figure.querySelector(".place");
      place.replaceChildren(this.tools, this.plot, ...this.legend(), this.note, this.spoken);
    }

    legend() {
      if (this.series.length < 2) return [];
      const list = html("ul", { class: "legend", role: "list" });
      for (const series of this.series) {
        series.button = button("", () => this.toggle([series], !series.on), { "aria-pressed": series.on, title: series.name });
        series.button.append(swatch(series), html("bdi", {}, series.name));
        for (const [event, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]])
          series.button.addEventListener(event, () => this.emphasise(on && series.on ? series : null));
        list.append(html("li", {}, series.button));
      }
      if (this.series.length < 4) return [list];
      return [list, html("div", { class: "legend-tools" },
        button("Show all", () => this.toggle(this.series, true)), button("Hide all", () => this.toggle(this.series, false)))];
    }

    toggle(some, on) {
      for (const series of some) {
        series.on = on;
        series.button.setAttribute("aria-pressed", on);
      }
      this.draw();
      if (some.length === 1) this.emphasise(on ? some[0] : null);
    }

    emphasise(series) {
      this.lines.classList.toggle("dim", series !== null);
      for (const s of this.series) s.node?.classList.toggle("strong", s === series);
    }

    usable(value) { return value !== null && (!this.log || value > 0); }

    up(value) { return this.log ? Math.log10(value) : value; }

    // Least and largest value of what is seen, or their powers of ten, with room around.
    range() {
      const [a, b] = this.zoom ?? this.full;
      const values = this.series.filter((s) => s.on).flatMap((s) => s.y.filter((v, i) => this.usable(v) && s.x[i] >= a && s.x[i] <= b));
      let [low, high] = extent(values.map((v) => this.up(v)));
      if (low > high) return this.log ? [-1, 0] : [0, 1];
      const floor = !this.log && low >= 0 && low < 0.4 * high;
      if (floor) low = 0;
      const room = high > low ? 0.05 * (high - low) : (this.log ? 0.3 : Math.abs(high) * 0.1) || 1;
      return [floor ? 0 : low - room, high + room];
    }

    draw() {
      this.width = this.printing ? PRINTED : this.plot.clientWidth || PRINTED;
      this.height = Math.round(Math.min(400, Math.max(250, this.width * 0.42)));
      const [a, b] = this.zoom ?? this.full, [low, high] = this.range();
      const yTicks = (this.log ? logTicks : linearTicks)(low, high, this.log ? 8 : 6);
      const written = this.log && high - low > 2 ? decade : shown;
      let xTicks = linearTicks(a, b, Math.max(3, Math.min(10, this.width / 90)));
      if (this.spec.x.integer) xTicks = xTicks.filter(Number.isInteger);
      this.left = 14 + 7 * Math.max(2, ...yTicks.map((t) => written(t).length));
      this.right = this.width - 14;
      this.top = 30;
      this.bottom = this.height - 42;
      this.px = (x) => this.left + ((x - a) / (b - a)) * (this.right - this.left);
      this.py = (y) => this.bottom - ((this.up(y) - low) / (high - low)) * (this.bottom - this.top);

      const { left, right, top, bottom } = this;
      const axes = svg("g", { class: "axes", "aria-hidden": "true" });
      for (const t of yTicks) {
        const y = this.py(t).toFixed(1);
        axes.append(svg("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }),
          svg("text", { class: "y-tick", x: left - 8, y, dy: "0.35em", "text-anchor": "end" }, written(t)));
      }
      for (const t of xTicks) {
        const x = this.px(t).toFixed(1);
        axes.append(svg("line", { class: "axis", x1: x, x2: x, y1: bottom, y2: bottom + 5 }),
          svg("text", { class: "x-tick", x, y: bottom + 19, "text-anchor": "middle" }, shown(t)));
      }
      axes.append(svg("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
        svg("text", { x: (left + right) / 2, y: this.height - 5, "text-anchor": "middle" }, this.spec.x.label),
        svg("text", { x: 4, y: 14 }, this.spec.y.label + (this.log ? ", logarithmic" : "")));

      const box = svg("clipPath", { id: this.clip }, svg("rect", { x: left, y: top - 6, width: right - left, height: bottom - top + 12 }));
      this.lines = svg("g", { class: "lines", "clip-path": `url(#${this.clip})` });
      for (const series of this.series) {
        series.node = series.on ? this.lines.appendChild(this.line(series)) : null;
      }
      // Where the cursor can stand.
      this.grid = Float64Array.from(new Set(this.series.filter((s) => s.on).flatMap((s) => s.x))).sort();
      this.cursorNode = svg("g", { class: "cursor", "aria-hidden": "true" });
      const drawing = svg("svg", { viewBox: `0 0 ${this.width} ${this.height}`, "aria-hidden": "true", focusable: "false" },
        box, axes, ...this.mark(a, b), this.lines, this.cursorNode);
      this.plot.replaceChildren(drawing, this.tip);
      this.say();
      this.point(this.cursor);
    }

    line(series) {
      const points = series.x.map((x, i) => (this.usable(series.y[i]) ? [this.px(x), this.py(series.y[i])] : null));
      let path = "", open = false, length = 0;
      points.forEach((p, i) => {
        if (p) path += `${open ? "L" : "M"}${p[0].toFixed(1)} ${p[1].toFixed(1)}${!open && !points[i + 1] ? "h0" : ""}`;
        if (p && open) length += Math.abs(p[1] - points[i - 1][1]);
        open = p !== null;
      });
      const node = svg("g", { class: `series s${series.colour}`, "data-name": series.name },
        // Dashes of a curve that is all noise would not be seen, and take seconds to draw.
        svg("path", { class: "line", d: path, "stroke-dasharray": length < 40 * this.height ? series.dash : "" }));
      const seen = points.filter((p) => p && p[0] >= this.left - 1 && p[0] <= this.right + 1);
      // On every point of a short curve; else at a few places, which differ from curve to curve.
      const stride = seen.length <= 30 ? 1 : Math.ceil(seen.length / 6);
      const offset = stride > 1 ? Math.floor((stride * ((this.series.indexOf(series) * 3) % 8 + 0.5)) / 8) : 0;
      for (let i = offset; i < seen.length; i += stride)
        node.append(svg("path", { class: "marker", d: MARKERS[series.colour], transform: `translate(${seen[i].map((v) => v.toFixed(1)).join(" ")})` }));
      return node;
    }

    mark(a, b) {
      const mark = this.spec.mark;
      if (!mark || mark.x < a || mark.x > b) return [];
      const x = this.px(mark.x), late = x > (this.left + this.right) / 2;
      return [svg("g", { class: "chosen-x" },
        svg("line", { x1: x, x2: x, y1: this.top - 4, y2: this.bottom }),
        svg("text", { x: x + (late ? -7 : 7), y: this.top + 6, "text-anchor": late ? "end" : "start" }, mark.label))];
    }

    // What the reader should know about what is not seen.
    say() {
      const on = this.series.filter((s) => s.on);
      const lost = this.log ? on.reduce((sum, s) => sum + s.y.filter((v) => v !== null && v <= 0).length, 0) : 0;
      this.note.textContent = !on.length ? "No curve is shown. The legend turns them on."
        : lost ? `${lost} value${lost > 1 ? "s" : ""} not above zero cannot be shown on a logarithmic axis.` : "";
    }

    // Show the values at x: near the pointer's height if there is a pointer, else in the legend's order.
    point(x, height = null, aloud = false) {
      this.cursor = x;
      this.cursorNode.replaceChildren();
      this.tip.hidden = true;
      if (x === null) return;
      let found = [];
      for (const series of this.series.filter((s) => s.on)) {
        const i = nearest(series.x, x);
        if (this.usable(series.y[i])) found.push({ series, x: series.x[i], y: series.y[i], px: this.px(series.x[i]), py: this.py(series.y[i]) });
      }
      const [a, b] = this.zoom ?? this.full;
      found = found.filter((f) => f.x >= a && f.x <= b);
      if (!found.length) return;
      const rest = found.length - ROWS;
      if (rest > 0) {
        if (height !== null) found.sort((p, q) => Math.abs(p.py - height) - Math.abs(q.py - height));
        found = found.slice(0, ROWS).sort((p, q) => this.series.indexOf(p.series) - this.series.indexOf(q.series));
      }
      // A long curve has points of its own: the nearest may stand beside the cursor.
      const value = (f) => (f.x === x ? "" : "≈ ") + shown(f.y);
      const at = this.px(x);
      this.cursorNode.append(svg("line", { x1: at, x2: at, y1: this.top, y2: this.bottom }),
        ...found.map((f) => svg("circle", { class: `s${f.series.colour}`, cx: f.px, cy: f.py, r: 4.5 })));
      const heading = `${this.spec.x.label} ${shown(x)}`;
      this.tip.replaceChildren(html("strong", {}, heading),
        ...found.map((f) => html("div", {}, swatch(f.series), html("bdi", {}, f.series.name), html("b", {}, value(f)))));
      if (rest > 0) this.tip.append(html("div", {}, `and ${rest} more`));
      this.tip.hidden = false;
      const ratio = this.plot.clientWidth / this.width;
      const beside = at * ratio + 14;
      const fits = beside + this.tip.offsetWidth <= this.plot.clientWidth;
      this.tip.style.left = `${fits ? beside : Math.max(0, at * ratio - 14 - this.tip.offsetWidth)}px`;
      this.tip.style.top = `${this.top * ratio}px`;
      if (aloud) this.spoken.textContent = `${heading}. ${found.map((f) => `${f.series.name}: ${value(f)}`).join("; ")}`;
    }

    setZoom(window) {
      const [a, b] = this.full;
      if (window) {
        const width = Math.max(window[1] - window[0], (b - a) / 1000);
        const start = Math.min(Math.max((window[0] + window[1] - width) / 2, a), b - width);
        window = width >= b - a ? null : [start, start + width];
      }
      this.zoom = window;
      this.draw();
    }

    zoomBy(factor) {
      const [a, b] = this.zoom ?? this.full;
      const centre = this.cursor !== null && this.cursor >= a && this.cursor <= b ? this.cursor : (a + b) / 2;
      this.setZoom([centre - (centre - a) * factor, centre + (b - centre) * factor]);
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
      if (event.key in steps) this.step(steps[event.key]);
      else if (event.key === "+" || event.key === "=") this.zoomBy(0.5);
      else if (event.key === "-") this.zoomBy(2);
      else if (event.key === "Escape") { this.cursor = null; this.setZoom(null); }
      else return;
      event.preventDefault();
    }

    step(by) {
      const grid = this.grid;
      if (!grid.length) return;
      const [a, b] = this.zoom ?? this.full;
      const here = this.cursor === null ? lowerBound(grid, a) - (by > 0 ? 1 : 0) : nearest(grid, this.cursor);
      const x = grid[Math.min(grid.length - 1, Math.max(0, here + by))];
      if (x < a || x > b) this.setZoom([x - (b - a) / 2, x + (b - a) / 2]);
      this.point(x, null, true);
    }

    place(event) {
      const box = this.plot.getBoundingClientRect(), ratio = this.width / box.width;
      const [a, b] = this.zoom ?? this.full;
      const px = Math.min(this.right, Math.max(this.left, (event.clientX - box.left) * ratio));
      return { px, x: a + ((px - this.left) / (this.right - this.left)) * (b - a), height: (event.clientY - box.top) * ratio };
    }

    press(event) {
      if (event.button !== 0) return;
      this.from = this.place(event);
      this.plot.setPointerCapture(event.pointerId);
    }

    move(event) {
      const here = this.place(event);
      if (this.from != null && Math.abs(here.px - this.from.px) > 5) {
        this.band ??= this.plot.querySelector("svg").appendChild(svg("rect", { class: "selection", y: this.top, height: this.bottom - this.top }));
        this.band.setAttribute("x", Math.min(here.px, this.from.px));
        this.band.setAttribute("width", Math.abs(here.px - this.from.px));
      }
      const [a, b] = this.zoom ?? this.full;
      const grid = this.grid.slice(lowerBound(this.grid, a), lowerBound(this.grid, b));
      if (grid.length) this.point(grid[nearest(grid, here.x)], here.height);
    }

    release(event) {
      const here = this.place(event), from = this.from, dragged = this.band != null;
      this.forget();
      if (dragged && Math.abs(here.px - from.px) > 5) this.setZoom([here.x, from.x].sort((p, q) => p - q));
      else this.move(event);
    }

    forget() {
      this.band?.remove();
      this.from = this.band = null;
    }

    print(printing) {
      this.printing = printing;
      this.draw();
    }
  }

  // Heads become buttons; a second click turns the order round; rows without a value come last.
  const makeSortable = (table) => {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    heads.forEach((head, column) => {
      const numbers = head.classList.contains("n");
      const sort = () => {
        const down = head.hasAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : numbers;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const value = (row) => row.cells[column]?.dataset.sort;
        const compare = (p, q) => {
          const [a, b] = [value(p), value(q)];
          if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
          return (down ? -1 : 1) * (numbers ? a - b : a.localeCompare(b, "en", { numeric: true }));
        };
        body.append(...[...body.rows].sort(compare));
      };
      const control = button("", sort);
      control.append(...head.childNodes);
      head.append(control);
    });
  };

  const pixelsOf = (image) => {
    const canvas = html("canvas", { width: image.naturalWidth, height: image.naturalHeight });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, canvas.width, canvas.height);
  };

  // What an image says under the pointer: a value to within a 254th of the scale, or a name. It is read off the colours.
  class Reader {
    constructor(figure) {
      this.figure = figure;
      this.image = figure.querySelector(".frame img");
      this.readout = figure.querySelector(".readout");
      const names = [...figure.querySelectorAll(".categories [data-colour]")];
      this.names = names.map((item) => [item.dataset.colour, item.querySelector("bdi").textContent]);
      this.image.addEventListener("pointermove", (event) => this.read(event));
      this.image.addEventListener("pointerleave", () => { this.readout.textContent = ""; });
      this.image.addEventListener("load", () => { this.pixels = null; });
    }

    read(event) {
      this.pixels ??= pixelsOf(this.image);
      const box = this.image.getBoundingClientRect(), { width, height, data } = this.pixels;
      const x = Math.min(0.9999, Math.max(0, (event.clientX - box.left) / box.width));
      const y = Math.min(0.9999, Math.max(0, (event.clientY - box.top) / box.height));
      const start = 4 * (Math.floor(y * height) * width + Math.floor(x * width));
      const { lines, samples } = this.figure.dataset;
      const place = `line ${Math.floor(y * lines)}, sample ${Math.floor(x * samples)}`;
      const colour = data.slice(start, start + 4);
      this.readout.textContent = `${place}: ${!colour[3] ? "no data" : this.names.length ? this.name(colour) : this.value(colour)}`;
    }

    name(colour) {
      const written = [...colour.slice(0, 3)].map((part) => part.toString(16).padStart(2, "0")).join("");
      return this.names.find(([key]) => key === written)?.[1] ?? "";
    }

    value(colour) {
      this.palette ??= pixelsOf(this.figure.querySelector(".scale img")).data;
      let level = 0, least = Infinity;
      for (let i = 0; i < this.palette.length; i += 4) {
        const distance = [0, 1, 2].reduce((sum, k) => sum + Math.abs(this.palette[i + k] - colour[k]), 0);
        if (distance < least) [level, least] = [i / 4, distance];
      }
      const [low, high] = [Number(this.figure.dataset.low), Number(this.figure.dataset.high)];
      return `about ${shown(low + ((high - low) * level) / (this.palette.length / 4 - 1), 3)}`;
    }
  }

  class Gallery {
    constructor(node) {
      this.node = node;
      this.figure = node.querySelector(".large");
      this.large = this.figure.querySelector(".frame img");
      this.thumbs = [...node.querySelectorAll(".thumbs button")];
      this.marks = [...node.querySelectorAll(".marks g")];
      const { low, high, ends } = this.figure.dataset;
      this.common = this.thumbs[0].dataset.palette ? { low, high, ends } : null;
      this.thumbs.forEach((thumb, i) => {
        thumb.addEventListener("click", () => this.choose(i));
        thumb.addEventListener("keydown", (event) => this.key(event, i));
      });
      this.marks.forEach((mark, i) => mark.addEventListener("click", () => this.choose(i)));
      if (this.common && this.thumbs.length > 1) {
        this.own = button("Own scale", () => this.exchange(), { "aria-pressed": "false" });
        this.figure.querySelector(".title").append(html("span", { class: "tools" }, this.own));
      }
      this.choose(0);
    }

    choose(chosen) {
      this.chosen = chosen;
      const thumb = this.thumbs[chosen];
      this.thumbs.forEach((other, i) => other.setAttribute("aria-pressed", i === chosen));
      this.marks.forEach((mark, i) => mark.classList.toggle("current", i === chosen));
      const label = thumb.textContent;
      this.large.src = thumb.querySelector("img").src;
      this.large.alt = `${this.node.dataset.what} of anchor ${label}`;
      this.node.querySelector(".chosen bdi").textContent = label;
      const isCommon = this.common && this.own?.getAttribute("aria-pressed") !== "true";
      const { low, high, ends } = isCommon ? this.common : thumb.dataset;
      Object.assign(this.figure.dataset, { low, high });
      const [least, most] = ends.split("|");
      this.figure.querySelector(".scale .low").textContent = least;
      this.figure.querySelector(".scale .high").textContent = most;
    }

    // One scale for all maps, or one for each: a palette takes the same characters of every image, see _png.py.
    exchange() {
      this.own.setAttribute("aria-pressed", this.own.getAttribute("aria-pressed") !== "true");
      for (const thumb of this.thumbs) {
        const image = thumb.querySelector("img"), other = thumb.dataset.palette;
        thumb.dataset.palette = image.src.slice(PALETTE[0], PALETTE[1]);
        image.src = image.src.slice(0, PALETTE[0]) + other + image.src.slice(PALETTE[1]);
      }
      this.choose(this.chosen);
    }

    key(event, i) {
      const across = this.thumbs.filter((thumb) => thumb.offsetTop === this.thumbs[0].offsetTop).length;
      const to = { ArrowLeft: i - 1, ArrowRight: i + 1, ArrowUp: i - across, ArrowDown: i + across, Home: 0, End: this.thumbs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      if (!this.thumbs[to]) return;
      this.thumbs[to].focus();
      this.choose(to);
    }
  }

  for (const scene of document.querySelectorAll(".view.scene")) {
    const marks = scene.querySelector(".marks");
    const toggle = button("Marks", () => {
      toggle.setAttribute("aria-pressed", !marks.classList.toggle("off"));
    }, { "aria-pressed": "true" });
    scene.querySelector(".title").append(html("span", { class: "tools" }, toggle));
  }
  for (const code of document.querySelectorAll("#command")) {
    const copy = button("Copy the command", async () => {
      getSelection().selectAllChildren(code);
      try {
        await navigator.clipboard.writeText(code.textContent);
        copy.textContent = "Copied";
      } catch {
        copy.textContent = "Selected: copy with the keyboard";
      }
    }, { class: "copy" });
    code.after(copy);
  }
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  document.querySelectorAll(".gallery").forEach((node) => new Gallery(node));
  document.querySelectorAll(".view:has(.readout)").forEach((figure) => new Reader(figure));
  const charts = [...document.querySelectorAll("figure.chart")].map((figure) => new Chart(figure));
  if (charts.length) {
    document.querySelector("nav").after(html("p", { class: "help" },
      "Charts show exact values under the pointer. Drag across one to zoom, double-click to see all of it. " +
      "By keyboard: Tab to a chart; arrow keys move the cursor, + and − zoom, Escape resets."));
  }
  addEventListener("beforeprint", () => charts.forEach((chart) => chart.print(true)));
  addEventListener("afterprint", () => charts.forEach((chart) => chart.print(false)));
}
