/**
 * Signs that the network or the page is back, and that it goes away. Does
 * nothing where there is no page.
 * @module
 */

/**
 * @param {{wake: () => void, hide: () => void}} on
 * @returns {() => void} stops watching
 */
export function watchPage({ wake, hide }) {
  const { document } = globalThis;
  /** @type {[EventTarget | undefined, string, () => void][]} */
  const all = [
    [globalThis.window ?? globalThis, 'online', wake],
    [globalThis.window ?? globalThis, 'pageshow', wake],
    [globalThis.window ?? globalThis, 'pagehide', hide],
    [document, 'visibilitychange', () => (document.visibilityState === 'visible' ? wake() : hide())],
    [document, 'resume', wake], // the page was frozen
  ];
  const watched = all.filter(([target]) => typeof target?.addEventListener === 'function');
  for (const [target, event, listener] of watched) target?.addEventListener(event, listener);
  return () => {
    for (const [target, event, listener] of watched) target?.removeEventListener(event, listener);
  };
}
