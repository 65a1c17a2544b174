/**
 * Signals that follow one: what waits on a child leaves no listener on the parent, where taking one off costs as much
 * as there are. `close` ends them all and lets the parent go.
 */
export function childSignals(parent: AbortSignal) {
  const children = new Set<AbortController>();
  const end = () => {
    for (const child of children) child.abort(parent.reason);
  };
  parent.addEventListener('abort', end, { once: true });
  return {
    open() {
      const child = new AbortController();
      children.add(child);
      if (parent.aborted) child.abort(parent.reason);
      return { signal: child.signal, close: () => void children.delete(child) };
    },
    /** Whoever is left has nobody to work for. */
    close() {
      parent.removeEventListener('abort', end);
      for (const child of children) child.abort();
      children.clear();
    },
  };
}
