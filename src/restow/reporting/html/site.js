"use strict";
// Adds to the pages of restow serve, which are complete without it: charts, news of a newer plan, and dragging.
(() => {
  const byId = (id) => document.getElementById(id);

  // Charts: all samples once, then one after the other. The colours are those of the page, which follow the system's.
  const KEYS = { fullest: ["cpu", "memory"], spread: ["cpuSpread", "memorySpread"], waiting: ["pending", "moving"] };
  const NAMES = { cpu: "CPU", memory: "memory", cpuSpread: "CPU", memorySpread: "memory", pending: "without a node", moving: "under way" };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const plots = [...document.querySelectorAll(".plot")];
  const charts = new Map();
  let samples = null;

  const shown = (value, isShare) => (value === null ? "-" : isShare ? `${Math.round(value * 100)} %` : `${+value.toFixed(2)}`);
  const data = (key) => [samples.time, ...KEYS[key].map((each) => samples[each])];
  const options = (plot) => {
    const isShare = plot.dataset.share !== undefined;
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { stroke: colour("--rule"), width: 1 } };
    return {
      width: plot.clientWidth,
      height: plot.clientHeight,
      legend: { show: false },
      cursor: { y: false },
      scales: { y: { range: (_, low, high) => [0, isShare ? Math.max(1, high) : high > 0 ? high * 1.15 : 1] } },
      axes: [axis, { ...axis, size: 56, values: (_, ticks) => ticks.map((each) => shown(each, isShare)) }],
      series: [
        {},
        ...KEYS[plot.dataset.chart].map((key, place) => ({
          label: NAMES[key],
          stroke: colour(place ? "--line" : "--load"),
          width: 1.75,
          dash: place ? [6, 3] : undefined,
          points: { show: false },
        })),
      ],
    };
  };
  const describe = (plot) => {
    const isShare = plot.dataset.share !== undefined;
    const now = KEYS[plot.dataset.chart].map((key) => `${NAMES[key]} ${shown(samples[key].at(-1) ?? null, isShare)}`).join(", ");
    const caption = plot.previousElementSibling;
    caption.dataset.title ??= caption.textContent;
    caption.textContent = `${caption.dataset.title}: ${now}`;
    plot.setAttribute("aria-label", caption.textContent);
  };
  const draw = () => {
    // A dump has one moment, and no course.
    if (!samples || samples.time.length < 2) return;
    byId("time").hidden = false;
    for (const plot of plots) {
      const chart = charts.get(plot);
      if (chart) chart.setData(data(plot.dataset.chart));
      else charts.set(plot, new uPlot(options(plot), data(plot.dataset.chart), plot));
      describe(plot);
    }
  };
  const again = () => {
    for (const chart of charts.values()) chart.destroy();
    charts.clear();
    draw();
  };
  const load = async () => {
    samples = await (await fetch("/samples.json")).json();
    draw();
  };
  if (plots.length) {
    load();
    addEventListener("resize", again);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    byId("stream").addEventListener("sample", (event) => {
      if (!samples) return;
      const sample = JSON.parse(event.detail.data);
      // After a pause the stream begins with what is known already.
      if (sample.time <= (samples.time.at(-1) ?? 0)) return;
      for (const key of Object.keys(samples)) samples[key].push(sample[key]);
      draw();
    });
  }

  // A newer plan is offered, not forced on who reads this one.
  const newer = byId("newer");
  byId("plan-news")?.addEventListener("plan", (event) => {
    if (Number(event.detail.data) > Number(newer.dataset.number)) newer.hidden = false;
  });

  // A supposition: nodes are dragged into fields; a plan takes a moment.
  const list = document.querySelector(".dragging");
  if (list) list.hidden = false;
  const receive = (target, take) => {
    target.addEventListener("dragover", (event) => {
      event.preventDefault();
      target.classList.add("over");
    });
    target.addEventListener("dragleave", () => target.classList.remove("over"));
    target.addEventListener("drop", (event) => {
      event.preventDefault();
      target.classList.remove("over");
      take(event.dataTransfer);
    });
  };
  list?.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", event.target.dataset.node));
  for (const target of document.querySelectorAll("label.target")) {
    receive(target, (transfer) => {
      const [input, node] = [target.querySelector("input"), transfer.getData("text/plain")];
      const known = input.value.split(",").map((each) => each.trim()).filter(Boolean);
      const entry = target.dataset.field === "more" ? `1 ${node}` : node;
      if (node && !known.includes(entry)) input.value = [...known, entry].join(", ");
    });
  }
  for (const form of document.forms) {
    form.addEventListener("submit", () => {
      for (const button of form.querySelectorAll("button")) button.disabled = true;
      const output = form.querySelector("output");
      if (output) output.textContent = "Planning…";
    });
  }
  addEventListener("pageshow", () => {
    for (const button of document.querySelectorAll("form button")) button.disabled = false;
  });
  const drop = byId("drop");
  if (drop) {
    receive(drop, (transfer) => {
      if (!transfer.files.length) return;
      drop.querySelector("input").files = transfer.files;
      drop.requestSubmit();
    });
  }
})();
