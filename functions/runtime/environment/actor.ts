let known: string | undefined;

/** Says who changes things from now on: an operator's command knows, before it changes anything. */
export function actAs(actor: string): void {
  known = actor;
}

/** @throws Error when nobody has said who it is: no change of an operator is nobody's */
export function actor(): string {
  if (known === undefined) throw new Error('It is not known who makes this change');
  return known;
}
