// Where one is: `#/page/id?filters`. What is typed and chosen stands in the address, so that going back works.

export function current() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  const [page = "", id = ""] = path.replace(/^\//, "").split("/").map(decodeURIComponent);
  return { page: page || "memories", id, query: new URLSearchParams(query) };
}

export function address(page, id = "", query = new URLSearchParams()) {
  const path = page === "memories" && !id ? "/" : `/${page}${id ? `/${encodeURIComponent(id)}` : ""}`;
  const text = query.toString();
  return `#${path}${text ? `?${text}` : ""}`;
}

let unsaved = () => false;
let last = location.hash;
export const guard = (check) => { unsaved = check; };
export const mayLeave = () => !unsaved() || confirm("Leave without saving what you have changed?");

export function go(to, { replace = false } = {}) {
  if (to === location.hash) return;
  if (replace) {
    history.replaceState(null, "", to);
    last = to;
    dispatchEvent(new Event("route"));
  } else {
    location.hash = to;
  }
}

export function follow(run) {
  addEventListener("hashchange", () => {
    if (location.hash === last) return;
    if (!mayLeave()) {
      history.replaceState(null, "", last || "#/");
      return;
    }
    unsaved = () => false;
    last = location.hash;
    run();
  });
  addEventListener("route", run);
  addEventListener("beforeunload", (event) => { if (unsaved()) event.preventDefault(); });
}
