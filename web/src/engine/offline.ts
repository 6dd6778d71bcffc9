// The service worker of a page without a server: keeps its files, so that it opens without a network. The page
// itself comes from the network where there is one: the names of all other files change with what is in them.
declare const self: {
  addEventListener(type: string, listen: (event: OfflineEvent) => void): void;
  location: Location;
};
interface OfflineEvent extends Event {
  request: globalThis.Request;
  waitUntil(work: Promise<unknown>): void;
  respondWith(answer: Promise<Response>): void;
}

/** Its own address has the version and the files: "offline.js?version&file&file". */
const [version = "", ...files] = self.location.search.slice(1).split("&").map(decodeURIComponent);
/** Of this page alone: others of its origin have their own. */
const own = `vecchess ${self.location.pathname.replace(/[^/]*$/, "")} `;
const kept = () => caches.open(own + version);

self.addEventListener("install", (event) => {
  event.waitUntil(kept().then((cache) => cache.addAll(files)));
});

self.addEventListener("activate", (event) => {
  const isOld = (name: string) => name.startsWith(own) && name !== own + version;
  const drop = (names: string[]) => Promise.all(names.filter(isOld).map((name) => caches.delete(name)));
  event.waitUntil(caches.keys().then(drop));
});

self.addEventListener("fetch", (event) => {
  const found = kept().then((cache) => cache.match(event.request, { ignoreSearch: true }));
  const asked = () => fetch(event.request);
  event.respondWith(
    event.request.mode === "navigate"
      ? asked().catch((error) => found.then((file) => file ?? Promise.reject(error)))
      : found.then((file) => file ?? asked()),
  );
});

export {};
