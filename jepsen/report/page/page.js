"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const plots = Array.from(document.querySelectorAll("svg.plot"));
  const whole = document.getElementById("whole");
  const readout = document.getElementById("readout");
  const gutter = 150, plotWidth = 1000;
  let from = 0, to = data.length; // visible range of time, in seconds
  let begun = null; // start of a selection in seconds; null if there is none

  function two(n) { return String(n).padStart(2, "0"); }

  function tickText(at, step) {
    const s = Math.floor(at + 1e-6);
    if (1 > step) return at.toFixed(1) + " s";
    if (60 > s) return s + " s";
    if (3600 > s) return Math.floor(s / 60) + ":" + two(s % 60);
    return Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
  }

  // place returns the x coordinate of a time of the run.
  function place(at) { return plotWidth * (at - from) / (to - from); }

  function show(a, b) {
    from = a;
    to = b;
    whole.hidden = from === 0 ? to === data.length : false;
    const step = data.steps.find(function (s) { return data.mostTicks > (to - from) / s; }) || data.steps[data.steps.length - 1];
    const scale = plotWidth / data.length;
    for (const plot of plots) {
      for (const pane of plot.querySelectorAll(".pane")) {
        pane.setAttribute("viewBox", [from * scale, 0, (to - from) * scale, pane.getAttribute("height")].join(" "));
      }
      const axis = plot.querySelector(".axis");
      while (data.mostTicks > axis.children.length) axis.append(axis.children[0].cloneNode(true));
      for (const text of plot.querySelectorAll(".moving")) {
        const x = place(text.dataset.x / scale);
        text.setAttribute("visibility", x >= 0 ? "visible" : "hidden");
        text.setAttribute("transform", "translate(" + x + " 0)");
      }
      let at = Math.ceil(from / step - 1e-9) * step;
      for (const tick of axis.children) {
        const seen = to > at;
        tick.setAttribute("visibility", seen ? "visible" : "hidden");
        if (seen) {
          tick.setAttribute("transform", "translate(" + place(at) + " 0)");
          tick.lastElementChild.textContent = tickText(at, step);
        }
        at += step;
      }
    }
  }

  // moment returns the time of the run at the pointer.
  function moment(event) {
    const box = event.currentTarget.getBoundingClientRect();
    const x = (event.clientX - box.left) * event.currentTarget.viewBox.baseVal.width / box.width - gutter;
    return from + (to - from) * Math.min(Math.max(x / plotWidth, 0), 1);
  }

  function say(at) {
    const words = [at.toFixed(2) + " s", new Date(data.begun + 1000 * at).toISOString().slice(11, 23) + " UTC"];
    const row = data.buckets[Math.floor(at / data.width)] || [];
    const n = data.workloads.length;
    if (row.length) {
      for (let i = 0; n > i; i++) words.push(data.workloads[i] + " " + row[i] + "/s");
      words.push("not done " + row[n] + "/s", "unknown " + row[n + 1] + "/s");
      words.push("50 % within " + row[n + 2] + " ms, 99 % within " + row[n + 3] + " ms, longest " + row[n + 4] + " ms");
    }
    for (const f of data.faults) if (at >= f.from) if (Math.max(f.to, f.from + 0.05) > at) words.push(f.name);
    readout.textContent = words.join(" · ");
    readout.hidden = false;
  }

  function point(event) {
    const at = moment(event);
    const x = gutter + place(at);
    for (const plot of plots) {
      const cursor = plot.querySelector(".cursor");
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      cursor.setAttribute("visibility", "visible");
      const chosen = plot.querySelector(".chosen");
      const edge = begun === null ? x : gutter + place(begun);
      chosen.setAttribute("x", Math.min(x, edge));
      chosen.setAttribute("width", Math.abs(x - edge));
    }
    say(at);
  }

  function leave() {
    for (const plot of plots) plot.querySelector(".cursor").setAttribute("visibility", "hidden");
    readout.hidden = true;
  }

  function choose(event) {
    if (begun === null) return;
    const at = moment(event), a = Math.min(at, begun), b = Math.max(at, begun);
    begun = null;
    if ((b - a) / (to - from) > 0.005) show(a, b);
    point(event);
  }

  for (const plot of plots) {
    plot.addEventListener("pointerdown", function (event) {
      begun = moment(event);
      plot.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    plot.addEventListener("pointermove", point);
    plot.addEventListener("pointerup", choose);
    plot.addEventListener("pointercancel", function () { begun = null; });
    plot.addEventListener("pointerleave", leave);
    plot.addEventListener("dblclick", function () { show(0, data.length); });
  }
  whole.addEventListener("click", function () { show(0, data.length); });
})();
