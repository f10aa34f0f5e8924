"use strict";
const $ = (id) => document.getElementById(id);
const read = (element) => JSON.parse(element.textContent);

// Tables: a click on a header sorts by it, another click turns the order round.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => row.cells[column].dataset.value;
      const order = (a, b) => {
        if (value(a) === "" || value(b) === "") return (value(a) === "") - (value(b) === "");
        return (value(a) - value(b)) * (up ? 1 : -1);
      };
      body.append(...[...body.rows].sort(order));
    });
  });
}

// Learning curves: methods can be switched off.
for (const button of document.querySelectorAll("[data-toggle]")) {
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", on);
    for (const mark of document.querySelectorAll(`[data-method="${button.dataset.toggle}"]`)) {
      mark.classList.toggle("off", !on);
    }
  });
}

// Charts over epochs: the values under the pointer are written below.
for (const figure of document.querySelectorAll("figure.panel")) {
  const data = figure.querySelector("script");
  if (!data) continue;
  const { x, series } = read(data);
  const chart = figure.querySelector("svg.chart");
  const said = figure.querySelector(".readout");
  const [left, right] = [46, 350]; // of chart.py
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("class", "cursor");
  chart.append(line);
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
    const share = Math.min(1, Math.max(0, (place - left) / (right - left)));
    const epoch = Math.round(x[0] + share * (x[1] - x[0]));
    const at = left + ((epoch - x[0]) / (x[1] - x[0])) * (right - left);
    line.setAttribute("d", `M${at} 24V210`);
    const values = series
      .filter((one) => !document.querySelector(`[data-toggle="${one.slot}"][aria-pressed=false]`) || !chart.querySelector("[data-method]"))
      .map((one) => [one, one.epochs.indexOf(epoch)])
      .filter(([, k]) => k >= 0)
      .map(([one, k]) => `${one.name} ${one.mean[k]}${one.deviation[k] ? ` ± ${one.deviation[k]}` : ""}`);
    said.textContent = `epoch ${epoch}: ${values.join(", ")}`;
  });
  chart.addEventListener("pointerleave", () => {
    line.removeAttribute("d");
    said.textContent = "";
  });
}

// The graph.
if ($("picture-data")) {
  const graph = read($("picture-data"));
  const unpack = (text, Kind) => new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const places = unpack(graph.places, Uint16Array);
  const ends = unpack(graph.ends, Uint16Array);
  const ids = unpack(graph.ids, Uint32Array);
  const degree = unpack(graph.degree, Uint32Array);
  const label = unpack(graph.class, Int16Array);
  const part = unpack(graph.part, Uint8Array);
  const frames = graph.methods.map((method) => unpack(method.frames, Uint8Array));
  const PARTS = graph.parts;
  const canvas = $("picture-canvas");
  const [select, colouring, slider] = [$("picture-method"), $("picture-colour"), $("picture-epoch")];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let nearest = -1;

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const rgb = (name) => [1, 3, 5].map((k) => parseInt(css(name).slice(k, k + 2), 16));
  const mix = (a, b, t) => `rgb(${a.map((value, k) => Math.round(value + t * (b[k] - value))).join()})`;
  const byte = (i) => frames[select.value][slider.value * graph.nodes + i];
  const weight = (b) => 2 ** (((b - 127) / 127) * (b < 127 ? graph.low : graph.high));
  const isTraining = (i) => part[i] === 0 && label[i] >= 0;
  const text = (w) => (w < 0.1 || w >= 100 ? w.toPrecision(2) : w.toFixed(Math.abs(w - 1) < 0.1 ? 3 : 2));

  function ramp() {
    const [low, middle, high] = [rgb("--low"), rgb("--middle"), rgb("--high")];
    return Array.from({ length: 255 }, (_, b) =>
      b < 127 ? mix(low, middle, b / 127) : mix(middle, high, (b - 127) / 127));
  }

  function place(i) {
    const size = Math.min(canvas.width, canvas.height) * 0.94;
    // A wide canvas stretches the picture a little: more room, the same neighbours.
    const across = Math.min(canvas.width * 0.94, size * 1.35);
    return [
      canvas.width / 2 + (places[2 * i] / 65535 - 0.5) * across,
      canvas.height / 2 + (places[2 * i + 1] / 65535 - 0.5) * size,
    ];
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    const box = canvas.getBoundingClientRect();
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
    const pen = canvas.getContext("2d");
    pen.globalAlpha = Math.min(0.6, 1800 / graph.drawn_edges);
    pen.strokeStyle = css("--edge");
    pen.lineWidth = 0.7 * ratio;
    pen.beginPath();
    for (let e = 0; e < ends.length; e += 2) {
      pen.moveTo(...place(ends[e]));
      pen.lineTo(...place(ends[e + 1]));
    }
    pen.stroke();
    pen.globalAlpha = 1;

    const shades = colouring.value === "weight" ? ramp() : [0, 1, 2, 3, 4, 5, 6].map((k) => css(`--c${k}`));
    const shade = (i) => {
      if (colouring.value === "weight") return shades[byte(i)];
      const group = colouring.value === "class" ? label[i] : part[i];
      return group < 0 || group >= 7 ? css("--middle") : shades[group];
    };
    const order = [...ids.keys()];
    // What stands out comes last, on top.
    if (colouring.value === "weight") order.sort((a, b) => Math.abs(byte(a) - 127) - Math.abs(byte(b) - 127));
    const scale = ratio * Math.min(1, Math.max(0.45, 26 / Math.sqrt(graph.nodes))) * (box.width < 500 ? 0.8 : 1.15);
    for (const i of order) {
      const [x, y] = place(i);
      pen.beginPath();
      pen.arc(x, y, (isTraining(i) ? 4.6 : 3) * scale, 0, 7);
      pen.fillStyle = shade(i);
      pen.fill();
      if (isTraining(i) || i === nearest) {
        pen.lineWidth = (i === nearest ? 2.4 : 0.7) * ratio;
        pen.strokeStyle = css("--rim");
        pen.stroke();
      }
    }
  }

  function key() {
    const holder = $("picture-key");
    holder.replaceChildren();
    const add = (tag, content, set = () => {}) => {
      const element = document.createElement(tag);
      element.textContent = content;
      set(element);
      holder.append(element);
      return element;
    };
    if (colouring.value === "weight") {
      add("span", `weight ${text(weight(0))}`);
      add("span", "", (element) => {
        element.className = "ramp";
        element.style.background = "linear-gradient(90deg, var(--low), var(--middle), var(--high))";
      });
      add("span", `${text(weight(254))}, 1 in the middle`);
      return;
    }
    const names = colouring.value === "class" ? graph.labels : PARTS;
    names.slice(0, 7).forEach((name, k) => {
      const item = add("span", name);
      const swatch = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.background = `var(--c${k})`;
      item.prepend(swatch);
    });
    if (names.length > 7) add("span", `${names.length - 7} others in grey`);
  }

  function say() {
    const epochs = graph.methods[select.value].epochs;
    $("picture-shown").textContent = `${epochs[slider.value]} of ${epochs.at(-1)}`;
    slider.setAttribute("aria-valuetext", `epoch ${epochs[slider.value]}`);
    if (nearest < 0) return;
    const where = PARTS[part[nearest]] || "no part";
    const name = label[nearest] < 0 ? "no label" : graph.labels[label[nearest]];
    $("picture-node").textContent =
      `node ${ids[nearest]}: ${name}, ${where}, degree ${degree[nearest]}, weight ${text(weight(byte(nearest)))}`;
  }

  function show() {
    slider.max = graph.methods[select.value].epochs.length - 1;
    draw();
    key();
    say();
  }

  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const ratio = canvas.width / box.width;
    const [x, y] = [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
    let best = Infinity;
    let found = -1;
    for (let i = 0; i < graph.nodes; i++) {
      const [a, b] = place(i);
      const distance = (a - x) ** 2 + (b - y) ** 2;
      if (distance < best) [best, found] = [distance, i];
    }
    if (found === nearest) return;
    nearest = found;
    draw();
    say();
  });
  // The keyboard reads nodes off one by one.
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    nearest = (nearest + step + graph.nodes) % graph.nodes;
    draw();
    say();
  });
  let timer = 0;
  $("picture-play").addEventListener("click", () => {
    const stop = () => {
      clearInterval(timer);
      timer = 0;
      $("picture-play").textContent = "Play";
    };
    if (timer) return stop();
    if (slider.value === slider.max) slider.value = 0;
    $("picture-play").textContent = "Pause";
    timer = setInterval(() => {
      slider.value = +slider.value + 1;
      show();
      if (slider.value === slider.max) stop();
    }, 120);
  });
  for (const control of [select, colouring, slider]) control.addEventListener("input", show);
  dark.addEventListener("change", show);
  window.addEventListener("resize", draw);
  slider.max = graph.methods[0].epochs.length - 1;
  slider.value = slider.max;
  show();
}
