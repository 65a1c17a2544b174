/** The results of work that runs all at once, each as it ends. Throws the first failure; work reports its own. */
export async function* asTheyEnd<T>(work: readonly Promise<T>[]): AsyncGenerator<T> {
  const ended: (T | undefined)[] = [];
  let failed: { readonly error: unknown } | undefined;
  let wake = () => {};
  for (const one of work) {
    one.then(
      (result) => {
        ended.push(result);
        wake();
      },
      (error: unknown) => {
        failed ??= { error };
        wake();
      },
    );
  }
  for (let taken = 0; taken < work.length; taken += 1) {
    while (taken >= ended.length && !failed) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (failed) throw failed.error;
    yield ended[taken] as T;
    // What was handed over is not kept until the last one ends.
    ended[taken] = undefined;
  }
}
