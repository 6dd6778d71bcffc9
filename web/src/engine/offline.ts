// The service worker of a page without a server: keeps its files, so that it opens without a network.
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

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(version).then((cache) => cache.addAll(files)));
});

self.addEventListener("activate", (event) => {
  const drop = (names: string[]) => Promise.all(names.filter((name) => name !== version).map((name) => caches.delete(name)));
  event.waitUntil(caches.keys().then(drop));
});

self.addEventListener("fetch", (event) => {
  event.respondWith(caches.match(event.request, { ignoreSearch: true }).then((kept) => kept ?? fetch(event.request)));
});

export {};
