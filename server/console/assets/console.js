"use strict";
// A page of the console is whole without this script. The script keeps it up to date.
(() => {
  const silence = 1600; // ms without an answer after which the page says that it is old
  const link = document.getElementById("link");
  const $$ = (selector, root = document) => root.querySelectorAll(selector);
  let ahead = Number(document.body.dataset.now) - Date.now(); // of the page's time
  const now = () => Date.now() + ahead;

  // span is the length of a time in ms, as words.go writes it.
  function span(ms) {
    const s = Math.floor(Math.max(0, ms) / 1000), two = (n) => String(n).padStart(2, "0");
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
    if (s < 48 * 3600) return `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
    return `${Math.floor(s / 86400)} days`;
  }
  const clock = (ms) => `${new Date(ms).toISOString().slice(11, 19)} UTC`;
  function write(node, text) { if (node.textContent !== text) node.textContent = text; }

  // count writes the times that are left, or that have passed.
  function count(root) {
    for (const node of $$("[data-left]", root)) {
      const left = Number(node.dataset.left);
      if (left) write(node, left > now() ? `${span(left - now())} left` : "over");
    }
    for (const node of $$("[data-since]", root)) write(node, `${span(now() - Number(node.dataset.since))} ago`);
  }

  // morph makes one element equal to another and leaves alone what is equal, so that focus and selection stay.
  function morph(have, want) {
    if (have.isEqualNode(want)) return;
    if (have.nodeType !== want.nodeType || have.nodeName !== want.nodeName || (have.id || "") !== (want.id || "")) {
      have.replaceWith(want);
      return;
    }
    if (have.nodeType !== Node.ELEMENT_NODE) {
      have.nodeValue = want.nodeValue;
      return;
    }
    for (const { name } of [...have.attributes]) {
      if (!want.hasAttribute(name) && !(name === "open" && have.nodeName === "DETAILS")) have.removeAttribute(name);
    }
    for (const { name, value } of want.attributes) if (have.getAttribute(name) !== value) have.setAttribute(name, value);
    const old = [...have.childNodes], fresh = [...want.childNodes];
    fresh.forEach((child, i) => {
      const was = child.id ? old.find((o) => o.id === child.id) : old[i];
      const place = have.childNodes[i];
      if (was && was.parentNode === have && !(was.id && !child.id)) {
        if (place !== was) have.insertBefore(was, place || null);
        morph(was, child);
      } else {
        have.insertBefore(child, place || null);
      }
    });
    while (have.childNodes.length > fresh.length) have.lastChild.remove();
  }

  // prepare makes the buttons of new elements work.
  function prepare(root) {
    for (const button of $$(".copy", root)) button.hidden = false;
    count(root);
  }

  // swap takes the live elements of another answer of this page. While that answer has a problem, the other elements stay.
  function swap(page) {
    const fresh = [...$$("[data-live]", page)], problem = page.getElementById("problem");
    if (!page.body.dataset.again || !problem && ($$("[data-live]").length !== fresh.length || fresh.some(({ id }) => !document.getElementById(id)))) {
      location.reload(); // a right has changed, or the page had nothing to show when it was loaded
      return;
    }
    for (const want of fresh) {
      const have = document.getElementById(want.id);
      if (!have) continue;
      prepare(want);
      morph(have, want);
    }
    ahead = Number(page.body.dataset.now) - Date.now();
    trouble = problem ? problem.querySelector("p").textContent : "";
  }

  function say(text) {
    link.hidden = !text;
    write(link, text);
  }

  const { again, every } = document.body.dataset;
  let heard = Date.now(), heardAt = now(), trouble = "", refused = "", shown = 0, asking = false;

  // refresh requests the page again until nobody sees it.
  async function refresh() {
    if (!again || asking) return;
    for (asking = true; !document.hidden;) {
      let pause = Number(every);
      try {
        const answer = await fetch(again, { signal: AbortSignal.timeout(5000) });
        const text = await answer.text();
        refused = answer.ok ? "" : text.trim();
        if (answer.ok) swap(new DOMParser().parseFromString(text, "text/html"));
        else pause = 2000;
        heard = Date.now();
        if (answer.ok) document.body.dataset.heard = heardAt = now();
      } catch { /* it is not reachable */ }
      show();
      await new Promise((done) => { setTimeout(done, pause); });
    }
    asking = false;
  }

  // Nobody sees a page in a hidden tab.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    shown = Date.now();
    refresh();
    show();
  });

  // show says whether the page is current. Facts that may be old are dimmed.
  function show() {
    const cut = again && Date.now() - heard >= silence;
    if (refused) say(`This page is as of ${clock(heardAt)}: ${refused}`);
    else if (cut && Date.now() - shown < silence) say(""); // the first request is on its way
    else if (cut) say(`Disconnected since ${clock(heardAt)}. What you see is as of then. Trying again …`);
    else say(trouble);
    document.body.classList.toggle("old", Boolean(refused || cut || trouble));
  }

  async function copy(button) {
    const text = button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch { // only secure pages have a clipboard
      const code = button.parentNode.querySelector("code");
      getSelection().selectAllChildren(code);
      if (!document.execCommand("copy")) return;
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest(".copy");
    if (button) copy(button);
  });
  // A page from the browser's history is old.
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  prepare(document);
  refresh();
  setInterval(() => { count(document); show(); }, 250);
})();
