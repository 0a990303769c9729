"use strict";
(() => {
  const page = document.getElementById("page");

  const filter = () => {
    const input = document.getElementById("filter");
    if (!input) return;
    input.closest(".filter").hidden = false;
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of document.querySelectorAll("table.events tbody tr")) {
      const text = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    document.getElementById("found").textContent = words.length ? `${shown} lines` : "";
  };
  document.addEventListener("input", (event) => {
    if (event.target.id === "filter") filter();
  });
  filter();

  // A mouse shows what a mark of a drawing is when it rests there. A tap does so too, near the mark as well, and the keys
  // n and p in the timeline. The line stands below the page, where drawing it again leaves it alone.
  const tellMarks = () => {
    const near = 12;
    const line = document.createElement("p");
    line.id = "mark";
    line.setAttribute("role", "status");
    page.after(line);
    const titled = (drawing) => [...drawing.querySelectorAll("title")].map((one) => one.parentElement);
    const tell = (mark) => {
      const host = mark?.closest(".band")?.querySelector(".label b").textContent;
      line.textContent = mark ? (host ? `${host}: ` : "") + mark.querySelector("title").textContent : "";
      document.querySelector(".told")?.classList.remove("told");
      mark?.classList.add("told");
    };
    const distance = (mark, x, y) => {
      const box = mark.getBoundingClientRect();
      return Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
    };
    document.addEventListener("click", ({ target, clientX, clientY }) => {
      const drawing = target.closest("main svg");
      if (!drawing) return tell(null);
      // Of two that are as near the later one lies above: it is smaller, or matters more.
      const [mark] = titled(drawing)
        .map((one) => [one, distance(one, clientX, clientY)])
        .reduce((best, one) => (one[1] <= best[1] ? one : best), [null, near]);
      tell(mark);
    });
    let at = -1;
    document.addEventListener("keydown", (event) => {
      const step = { n: 1, p: -1 }[event.key];
      if (event.target.id !== "timeline-hosts" || !step || event.ctrlKey || event.metaKey || event.altKey) return;
      const marks = titled(event.target);
      if (!marks.length) return;
      at = Math.min(Math.max(at + step, 0), marks.length - 1);
      tell(marks[at]);
      marks[at].scrollIntoView({ block: "nearest", inline: "nearest" });
    });
  };
  tellMarks();

  const every = Number(page.dataset.every || 0) * 1000;
  if (!every) return;

  let pointed = 0;
  document.addEventListener("pointermove", () => { pointed = Date.now(); }, { passive: true });
  // A new drawing would take away what the reader selects or a tooltip says. A pointer may be left lying.
  const inUse = (part) => {
    const selection = document.getSelection();
    if (!selection.isCollapsed && selection.containsNode(part, true)) return true;
    return Date.now() - pointed < 20000 && part.querySelector("svg :has(> title):hover") !== null;
  };

  // A part that has not changed is left alone; of one that has, what the reader opened, scrolled and typed stays. A part
  // in use waits.
  const waiting = new Map();
  const put = (old, html) => {
    const fresh = old.pageSource !== html;
    const held = fresh && inUse(old);
    old.toggleAttribute("data-held", held);
    if (held) waiting.set(old, html);
    else waiting.delete(old);
    if (held || !fresh) return;
    const open = new Map([...old.querySelectorAll("details[id]")].map((one) => [one.id, one.open]));
    const scrolled = ".scroll, .timeline, pre";
    const places = [...old.querySelectorAll(scrolled)].map((one) => [one.scrollLeft, one.scrollTop]);
    const zoom = old.querySelector("input[name=zoom]:checked");
    const typed = old.querySelector("#filter")?.value;
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    old.innerHTML = html;
    old.pageSource = html;
    for (const [id, was] of open) {
      const one = document.getElementById(id);
      if (one) one.open = was;
    }
    [...old.querySelectorAll(scrolled)].forEach((one, at) => {
      if (places[at]) [one.scrollLeft, one.scrollTop] = places[at];
    });
    if (zoom) {
      const same = document.getElementById(zoom.id);
      if (same) same.checked = true;
    }
    if (typed !== undefined) {
      document.getElementById("filter").value = typed;
      filter();
    }
    if (focused?.id) document.getElementById(focused.id)?.focus({ preventScroll: true });
  };
  const replace = (fresh) => {
    for (const part of fresh.querySelectorAll("[data-part]")) {
      const old = page.querySelector(`[data-part="${part.dataset.part}"]`);
      if (!old) continue;
      for (const name of ["seq", "ended"]) if (part.dataset[name] !== undefined) old.dataset[name] = part.dataset[name];
      put(old, part.innerHTML);
    }
  };

  let failures = 0;
  const note = (text) => {
    let line = document.getElementById("connection");
    if (!line) {
      line = document.createElement("p");
      line.id = "connection";
      line.setAttribute("role", "status");
      page.before(line);
    }
    line.textContent = text;
    line.hidden = !text;
  };
  // While no application master serves the page, YARN's proxy answers with errors, other pages, or ways to elsewhere. This
  // page stays through all of that, and never goes where YARN leads then: the next attempt answers at the same address.
  const ask = async (seen) => {
    const answer = await fetch(`${page.dataset.body}?after=${encodeURIComponent(seen)}`, {
      cache: "no-store",
      redirect: "manual",
      signal: AbortSignal.timeout(30000),
    });
    const text = await answer.text();
    if (!answer.ok || !/^<!--(same|page)-->/.test(text)) throw new Error("not the page");
    return text;
  };
  const draw = (change) => {
    try {
      change();
    } catch (error) {
      note(`This page stands still, because its script failed: ${error}. Reload it.`);
      throw error;
    }
  };
  const show = (text) => {
    failures = 0;
    note("");
    if (!text.startsWith("<!--page-->")) return;
    const fresh = document.createElement("template");
    fresh.innerHTML = text;
    draw(() => replace(fresh.content));
  };
  // After so many failures in a row it asks less often; after an hour of them it asks no more.
  const some = 60;
  const most = some + 3600000 / (5 * every);
  const look = async () => {
    const top = page.querySelector("[data-part=top]");
    draw(() => waiting.forEach((html, part) => put(part, html)));
    const ended = top.dataset.ended === "1";
    if (ended && !waiting.size) return;
    if (!ended && !document.hidden) {
      const text = await ask(top.dataset.seq).catch(() => null);
      if (text !== null) {
        show(text);
      } else {
        failures += 1;
        if (failures > most) {
          note("Nobody has answered at YARN's proxy for an hour: this page asks no more. Reload it to ask again.");
          return;
        }
        if (failures > 2) {
          note("Nobody answers at YARN's proxy: a new attempt may be starting, or the application has ended. " +
            "This page goes on with the next attempt by itself; after the end, reload it to see where YARN leads.");
        }
      }
    }
    setTimeout(look, failures > some ? 5 * every : every);
  };
  setTimeout(look, every);
})();
