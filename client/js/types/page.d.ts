/**
 * Signs that the network or the page is back, and that it goes away. Does
 * nothing where there is no page.
 * @module
 */
/**
 * @param {{wake: () => void, hide: () => void}} on
 * @returns {() => void} stops watching
 */
export function watchPage({ wake, hide }: {
    wake: () => void;
    hide: () => void;
}): () => void;
