/** Creates the value at the first call and returns the same value afterwards. */
export function lazily<Value>(create: () => Value): () => Value {
  let created: { value: Value } | undefined;
  return () => {
    created ??= { value: create() };
    return created.value;
  };
}

/** An object whose methods load it at their first call, for an import that most calls do not need. All return promises. */
export const deferred = <Loaded extends object>(load: () => Promise<Loaded>): Loaded =>
  new Proxy({} as Loaded, {
    get: (_target, name) =>
      // A promise asks whatever it is given for this method.
      name === 'then'
        ? undefined
        : async (...given: unknown[]) => {
            const loaded = await load();
            const method = Reflect.get(loaded, name) as (...given: unknown[]) => unknown;
            return method.apply(loaded, given);
          },
  });
